"""A study of one's own: its claims hold or do not hold, and no paper is named anywhere."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from delaylab_study.report.html import write_report
from delaylab_study.report.show import as_json
from delaylab_study.verbs.datasets import show
from tests import synthetic
from tests.pages import visible
from tests.plain import plain as as_script
from tests.synthetic import Condition, lognormal

LOADED = {"of": "rtt.app", "group": {"load": "network"}, "against": {"load": "rest"}}
OWN: list[dict[str, Any]] = [
    {"claim": "adds-much", **LOADED, "median": {"at-least": "+1ms"}},
    {"claim": "adds-little", **LOADED, "median": {"at-most": "+10us"}},
    {
        "claim": "disk-adds-little",
        **LOADED,
        "group": {"load": "disk"},
        "median": {"at-most": "1us"},
    },
]
OF_A_PAPER = re.compile(
    r"paper|whiteaker|pentium|reproduc|contradict|replicat|publish|vserver|vanilla linux|◆", re.I
)
PAPERS_CLAIM = "network-adds-most"


@pytest.fixture(scope="module")
def conditions() -> list[Condition]:
    slow = {("request", "sender.uplink"): lognormal(5000)}
    return [
        Condition(kind, load, at_rest=10, seed=seed, delays=slow if load == "network" else {})
        for kind in ("native", "shared")
        for seed, load in enumerate(("rest", "network"))
    ]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, conditions: list[Condition]) -> Path:
    return synthetic.write(tmp_path_factory.mktemp("own"), conditions, own_claims=OWN)


@pytest.fixture(scope="module")
def page(place: Path) -> str:
    text = write_report(place).read_text(encoding="utf-8")
    return text[text.index("<main>") :]


def terminal(place: Path) -> str:
    out = io.StringIO()
    show(Console(file=out, width=120), place)
    return out.getvalue()


def claims_of(told: Any) -> list[dict[str, Any]]:
    return list(told["claims"])


def test_own_claims_hold_do_not_hold_or_are_not_testable(place: Path) -> None:
    claims = claims_of(as_script(as_json(place)))
    verdicts = ["holds", "does not hold", "not testable here"]
    assert [claim["verdict"] for claim in claims] == verdicts
    assert [claim["paper"] for claim in claims] == [None, None, None]


def test_the_page_names_no_paper(page: str) -> None:
    assert "<h2>Claims of this study</h2>" in page
    assert '<span class="badge">does not hold</span>' in page
    assert "<h2>Delay by layer</h2>" in page
    without_styles = re.sub(r'class="[^"]*"', "", visible(page))
    assert OF_A_PAPER.findall(without_styles) == []


def test_the_terminal_names_no_paper(place: Path) -> None:
    text = terminal(place)
    assert "Claims of this study" in text
    assert "✓ holds" in text
    assert "✗ does not hold" in text
    assert OF_A_PAPER.findall(text) == []


def test_no_value_in_the_json_names_a_paper(place: Path) -> None:
    found = as_script(as_json(place))
    assert claims_of(found)
    assert OF_A_PAPER.findall(" ".join(_texts(found))) == []


def test_no_chart_names_a_paper(place: Path, page: str) -> None:
    charts = sorted((place / "charts").glob("*.svg"))
    assert [path.stem for path in charts if path.stem.startswith("rtt-per-load")]
    for chart in charts:
        assert OF_A_PAPER.findall(re.sub(r'class="[^"]*"', "", chart.read_text())) == [], chart


def test_claims_of_a_paper_and_own_ones_stand_apart(
    tmp_path: Path, conditions: list[Condition]
) -> None:
    place = synthetic.write(tmp_path, conditions, [PAPERS_CLAIM], own_claims=OWN[:1])
    page = write_report(place).read_text(encoding="utf-8")
    heads = re.findall(r"<h2>(Claims.*?)</h2>", page)
    assert heads == ["Claims of Whiteaker et al. (2011)", "Claims of this study"]
    text = terminal(place)
    assert text.index("Claims of Whiteaker et al. (2011)") < text.index("Claims of this study")
    first, second = claims_of(as_script(as_json(place)))
    assert (first["id"], first["paper"]) == (PAPERS_CLAIM, "whiteaker2011")
    assert (second["id"], second["paper"], second["verdict"]) == ("adds-much", None, "holds")


def _texts(found: Any) -> list[str]:
    """The texts among the values of a JSON value, at any depth."""
    if isinstance(found, dict):
        return [text for value in found.values() for text in _texts(value)]
    if isinstance(found, list):
        return [text for value in found for text in _texts(value)]
    return [found] if isinstance(found, str) else []
