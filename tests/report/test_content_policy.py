"""Every page states what it may load and run: nothing but what is in it."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from delaylab.cli import whole
from delaylab.drawing.content_policy import policy_tag
from delaylab_study.report import templating
from delaylab_study.report.style import TEMPLATES

LAB = "lab: drawn\nnodes: {a: {}, b: {}}\nlinks: [{between: [a, b]}]\n"
PAGES = sorted(path for path in TEMPLATES.glob("*.j2") if "<!doctype" in path.read_text())
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]+)">')


def test_a_picture_runs_its_own_script_alone(tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(LAB)
    target = tmp_path / "page.html"
    ran = CliRunner().invoke(whole(), ["graph", str(tmp_path / "lab.yaml"), "--html", str(target)])
    assert ran.exit_code == 0
    page = target.read_text()
    (policy,) = POLICY.findall(page)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy.partition("script-src")[2]


def test_a_page_of_a_report_runs_its_own_script_alone() -> None:
    page = templating.page("any", [])
    head = page.partition("<title>")[0]
    (policy,) = POLICY.findall(head)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert policy_tag(f"<script>{script}</script>") in head
    assert not re.search(r"https?:|fetch|import|innerHTML|eval", script)
    assert PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_template_of_a_page_has_the_policy_first(page: Path) -> None:
    text = page.read_text()
    assert "{{ content_policy }}" in text.partition("<title>")[0]
    assert "<script" not in text
