"""A first reader's questions: which paper, RTT of which points, an effect of which quantity."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from delaylab_study.papers.loading import claims, load
from delaylab_study.papers.paper import Paper
from delaylab_study.papers.registry import installed
from delaylab_study.report.html import write_report
from delaylab_study.report.show import as_json
from delaylab_study.verbs.datasets import show
from tests import synthetic
from tests.plain import plain as as_script
from tests.synthetic import Condition, queue

# Width of a phone's screen in CSS px, without the page's own margins.
PHONE = 400 - 2 * (10 + 12)
# Width of a column that has room for several words in a line, in letters.
SEVERAL_WORDS = 20
SLOW = {("request", "sender.uplink"): queue(5000)}
OF = "median of user RTT less wire RTT: network load − the largest other"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    conditions = [
        Condition("native", "rest"),
        Condition("native", "network", delays=SLOW),
        Condition("lxc", "rest", seed=1),
    ]
    return synthetic.write(
        tmp_path_factory.mktemp("run"), conditions, ["network-adds-most"], "whiteaker2011"
    )


@pytest.fixture(scope="module")
def page(place: Path) -> str:
    return write_report(place).read_text(encoding="utf-8")


UNKNOWN = "xen-large-networks"
"""The paper whose title page is missing in the copy that there is."""


def test_a_paper_without_its_title_page_says_so() -> None:
    paper = load(installed()[UNKNOWN])
    assert "title page is missing" in paper.citation


@pytest.mark.parametrize("name", sorted(installed().keys() - {UNKNOWN}))
def test_every_paper_of_ours_says_which_publication_it_is(name: str) -> None:
    paper = load(installed()[name])
    assert paper.authors
    assert paper.title
    assert str(paper.year) == name[-4:]
    assert re.fullmatch(r"\D+ et al\. \(\d{4}\)", paper.short)


def test_a_citation_has_what_is_given() -> None:
    assert Paper("mine").citation == "mine"
    assert Paper("mine").short == "mine"
    two = Paper("x", authors="A. B. Doe and C. Roe", title="On it", year=1999)
    assert two.citation == "A. B. Doe and C. Roe, “On it”, 1999"
    assert two.short == "Doe et al. (1999)"
    assert Paper("x", authors="A. Doe", year=1999).short == "Doe (1999)"


def test_the_page_names_the_paper_and_never_says_the_paper(page: str) -> None:
    heads = re.findall(r"<h2>(.*?)</h2>", page)
    assert "Claims of Whiteaker et al. (2011)" in heads
    assert "Figures after Whiteaker et al. (2011), of this machine" in heads
    assert "Table of Whiteaker et al. (2011), and this machine" in heads
    assert "“Explaining Packet Delays under Virtualization”, 2011" in page
    assert "It repeats J. Whiteaker, F. Schneider and R. Teixeira" in page
    assert not [line for line in re.findall(r"<h[123]>.*?</h", page) if "the paper" in line.lower()]
    assert "of the paper" not in page


def test_a_table_without_a_papers_numbers_does_not_claim_to_have_them(tmp_path: Path) -> None:
    directory = synthetic.write(tmp_path, [Condition("lxc")], source="whiteaker2011")
    page = write_report(directory).read_text(encoding="utf-8")
    assert "<h2>Delay by layer</h2>" in page
    assert "1.8 GHz Pentium 4" not in page


def test_titles_of_rtts_less_the_wires_say_so(page: str) -> None:
    titles = re.findall(r"<figure><h3>(.*?)</h3>", page)
    assert "User and kernel RTT less wire RTT, under network load" in titles
    assert "User RTT less wire RTT, by load" in titles
    assert page.count(">RTT less wire RTT (log)<") >= 2


def test_every_form_of_the_report_says_what_an_effect_is_of(place: Path, page: str) -> None:
    assert f"<p>{OF}: above 0 in every scenario</p>" in page
    (claim,) = as_script(as_json(place))["claims"]
    assert claim["effect_of"].startswith(OF)
    out = io.StringIO()
    show(Console(file=out, width=200), place)
    assert f"effect: {OF}" in out.getvalue()


def test_every_claim_of_ours_says_what_its_effect_is_of() -> None:
    criteria = [each for _, claim in claims().values() for each in claim.criteria]
    assert criteria
    assert all(each.quantity and each.needs for each in criteria)


def test_the_user_rtt_is_on_a_phones_screen(place: Path) -> None:
    """At the smallest width at which the drawing is shown, without scrolling to the right."""
    svg = (place / "charts" / "way-1-native.svg").read_text()
    width = float(re.findall(r'viewBox="0 0 (\d+)', svg)[0])
    shown = float(re.findall(r"min-width:(\d+)px", svg)[0])
    (x,) = re.findall(r'<text x="([\d.]+)"[^>]*>user RTT<', svg)
    assert (float(x) + 45) * shown / width < PHONE


def test_no_column_of_words_is_as_narrow_as_one_word(page: str) -> None:
    cells = re.findall(r'<td[^>]*class="text"[^>]*>(.{0,5})', page)
    assert len(cells) > 50
    assert {cell for cell in cells if cell != "<div>"} == set()
    rules = re.findall(r"([^{}\n]*td\.text > div) \{([^}]*)\}", page)
    (usual, *others) = (dict(re.findall(r"([\w-]+): ([^;]+);", rule)) for _, rule in rules)
    assert usual["width"] == "max-content"
    assert not any("width" in other for other in others)
    widest = [int(each["max-width"].removesuffix("ch")) for each in (usual, *others)]
    assert min(widest) >= SEVERAL_WORDS
