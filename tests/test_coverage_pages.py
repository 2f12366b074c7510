"""docs/coverage says of each paper what is here, and of each claim what its verdict is worth."""

from __future__ import annotations

import re

import pytest
from tools import coverage_pages as coverage

from delaylab_study.papers.loading import claims

PAPERS = coverage.by_paper()
FIGURES = {
    "dantas2015": 3,
    "oliveira2022": 17,
    "vem2006": 21,
    "whiteaker2011": 5,
    "xen-large-networks": 20,
}
"""The number of figures of each paper."""
TABLES = {
    "dantas2015": {"table I", "table II"},
    "oliveira2022": {f"table {number}" for number in range(1, 7)},
    "vem2006": set[str](),
    "whiteaker2011": {"table 1"},
    "xen-large-networks": set[str](),
}


def written(paper: str) -> set[str]:
    """Return the places of the rows of a paper's page that are written by hand."""
    rows = coverage.rows(coverage.page_of(paper).read_text())
    return {place for cell, _ in rows for place in coverage.places(cell)}


def test_the_parts_are_made_from_the_claims_and_their_findings() -> None:
    for page, text in coverage.made().items():
        begun = page.read_text().partition(coverage.BEGIN)[2]
        assert begun.startswith(text + coverage.END), f"run `make docs`: {page} is stale"


@pytest.mark.parametrize("paper", PAPERS)
def test_each_place_of_a_claim_is_in_a_row_of_its_papers_page(paper: str) -> None:
    for claim in PAPERS[paper]:
        missing = set(coverage.places(claim.source.text)) - written(paper)
        assert not missing, f"{claim.id}: no row of docs/coverage/{paper}.md is about {missing}"


@pytest.mark.parametrize("paper", PAPERS)
def test_each_figure_and_each_table_of_a_paper_is_in_a_row(paper: str) -> None:
    figures = {f"figure {number}" for number in range(1, FIGURES[paper] + 1)}
    assert figures | TABLES[paper] <= written(paper)


@pytest.mark.parametrize("paper", PAPERS)
def test_each_row_says_what_is_here(paper: str) -> None:
    for cell, state in coverage.rows(coverage.page_of(paper).read_text()):
        assert state in coverage.STATES, f"{cell}: {state}"


def test_each_claim_and_no_other_has_a_line_on_its_worth() -> None:
    assert coverage.worths().keys() == claims().keys()
    for claim, line in coverage.worths().items():
        assert line.startswith(coverage.WORTHS), claim
        assert line.endswith("."), claim


@pytest.mark.parametrize("paper", PAPERS)
def test_a_page_names_each_claim_of_its_paper_and_no_other(paper: str) -> None:
    named = re.findall(r"\.\./claims\.md#([\w-]+)", coverage.page_of(paper).read_text())
    assert set(named) == {each.id for each in PAPERS[paper]}


def test_places_are_written_out() -> None:
    assert coverage.places("section IV B, figures 9 and 10") == ["IV B", "figure 9", "figure 10"]
    assert coverage.places("2.3, figures 10 to 12") == [
        "2.3",
        *(f"figure {n}" for n in (10, 11, 12)),
    ]
    assert coverage.places("section IV A, table II") == ["IV A", "table II"]


def test_no_claim_decides_nothing_about_its_sentence() -> None:
    """Such a claim is mended or given up: its verdict would say nothing about the paper."""
    nothing = coverage.WORTHS[-1]
    found = [name for name, line in coverage.worths().items() if line.startswith(nothing)]
    assert found == []
