"""The docs are a site: it builds without a warning, and loads nothing from another host."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pytest
from tools.site_links import on_page_markdown

from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parent.parent
LOADS = {"src", "srcset", "data", "poster"}
"""Attributes whose address a browser fetches by itself; so is the `href` of a `link`."""
FAR = re.compile(r"(https?:)?//", re.IGNORECASE)


class Loads(HTMLParser):
    """Collects the addresses that a page loads, and the text of its style sheets and scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in LOADS or (tag == "link" and name == "href"):
                self.found.append(value or "")
            elif name == "style":
                self.found += addresses(value or "")

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "style":
            self.found += addresses(data)


def addresses(css: str) -> list[str]:
    """Return what a style sheet loads."""
    imported = re.findall(r"@import\s+[\"']([^\"']+)", css)
    return imported + re.findall(r"url\(\s*[\"']?([^\"')]+)", css)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build = ["mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    argv = [sys.executable, "-m", *build]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        argv, cwd=ROOT, env=quiet, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_every_document_is_a_page(site: Path) -> None:
    sources = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")}
    pages = {path.relative_to(site) for path in site.rglob("*.html")}
    wanted = {
        path.with_name("index.html") if path.name == "README.md" else path.with_suffix(".html")
        for path in sources
    }
    assert pages == wanted | {Path("404.html")}


def test_nothing_is_loaded_from_another_host(site: Path) -> None:
    loads = 0
    for page in site.rglob("*.html"):
        found = Loads(page.read_text()).found
        loads += len(found)
        assert [each for each in found if FAR.match(each.strip())] == [], page.name
    assert loads > 100
    for sheet in site.rglob("*.css"):
        found = addresses(sheet.read_text())
        assert [each for each in found if FAR.match(each)] == [], sheet.name


def test_an_address_of_another_host_would_be_seen() -> None:
    page = """<link rel="stylesheet" href="https://far.example/a.css">
    <script src="//far.example/b.js"></script><a href="https://far.example/c">only a link</a>
    <style>@import 'https://far.example/d.css'; p {background: url(https://far.example/e.png)}</style>
    """
    assert len([each for each in Loads(page).found if FAR.match(each)]) == 4


def test_no_page_has_what_the_theme_fetches_a_program_for(site: Path) -> None:
    """The theme's script draws `mermaid` and plays GLightbox by programs from elsewhere."""
    for page in site.rglob("*.html"):
        assert not re.search(r'class="[^"]*\b(mermaid|glightbox)\b', page.read_text()), page.name


def test_a_link_out_of_docs_is_text_on_the_site() -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="kinds/uml.md"))
    text = "[readme](../../README.md) [method](../method.md#clocks) ![picture](../images/a.png)"
    shown = on_page_markdown(text, page=page)
    assert shown == text.replace("[readme](../../README.md)", "readme")


def test_every_page_is_in_the_navigation() -> None:
    listed = set(re.findall(r"\S+\.md$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    docs = ROOT / "docs"
    assert {str(page.relative_to(docs)) for page in docs.glob("**/*.md")} == listed
