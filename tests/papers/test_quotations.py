"""Quotations of the papers, compared with the papers' texts, or by hash.

The texts are not part of the repository. `tools/quotations.py` compares, and alone writes the list
of hashes; so a quotation that was changed without its paper at hand fails here.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tools import quotations
from tools.quotations import LIST, TEXTS, Quotation, differs, listed, main, papers, wrong

from delaylab_study.papers.paper import Paper

TEXT = """\
## II. DESIGN

Routers are evenly loaded, as *far* as we know, and keep their order.

## IV. RESULTS

### B. Delays

The para-
virtualized driver adds 20 ms, which is “much” and is ﬁne. Its cost is $O(L * N)$ . In

Test	delay
none	20

Fig. 3. Delays of routers.

the second test it adds \u2248 30 ms.

### C. Losses

Nothing is lost.
"""
COLUMNS = """\
We see that unfairness across other things that we
different machines is aimost equal wrote before, and much later
in 33% of all cases. Then came no more of it than
"""


def quoted(words: str, section: str = "IV B", paper: str = "other") -> Quotation:
    return Quotation(paper, "it", words, section)


@pytest.mark.parametrize("paper", papers(), ids=lambda paper: str(paper.name))
def test_a_quotation_is_what_its_paper_says(paper: Paper) -> None:
    """Compare with the list, always, and with the paper's text where that is at hand."""
    kept = [line for line in LIST.read_text().splitlines() if f"  {paper.name}  " in line]
    changed = "a quotation changed: run `python -m tools.quotations` with the papers at hand"
    assert [each.line for each in quotations.quotations(paper)] == kept, changed
    if (TEXTS / f"{paper.name}.txt").is_file():
        assert wrong(paper, TEXTS) == []


def test_the_list_has_all_papers_and_nothing_else() -> None:
    assert LIST.read_text() == listed()
    names = {path.name for path in (quotations.ROOT / "src" / "delaylab_papers").glob("[a-z]*/")}
    assert {each.name.replace("-", "_") for each in papers()} == names


def test_every_claim_quotes_a_sentence_of_a_section() -> None:
    for paper in papers():
        for claim in paper.claims:
            assert claim.source.sentence, claim.id
            assert claim.source.section.startswith("section "), claim.id


@pytest.mark.parametrize(
    "words",
    [
        'The para-virtualized driver adds 20 ms, which is "much" and is fine.',
        "The paravirtualized driver adds 20 ms …",
        "… adds 20 ms, … and is fine. Its cost is O(L * N).",
        "In the second test it adds ≈ 30 ms.",
        "… driver … it adds ≈ 30 ms.",
    ],
)
def test_what_differs_only_in_print_or_marks_its_cuts_is_exact(words: str) -> None:
    assert differs(quoted(words), TEXT) == ""


@pytest.mark.parametrize(
    ("words", "section", "what"),
    [
        ("The para-virtualized driver adds 30 ms …", "IV B", "does not say"),
        ("the para-virtualized driver adds 20 ms …", "IV B", "this place: the para"),
        ("The para-virtualized driver adds 20 ms and is fine.", "IV B", "does not say"),
        ("The para-virtualized driver adds 2 …", "IV B", "does not say"),
        ("… it adds ≈ 30 ms. … adds 20 ms …", "IV B", "not at this place: adds 20 ms"),
        ("adds 20 ms, which is …", "IV B", "begins within a sentence"),
        ("The para-virtualized driver adds 20 ms", "IV B", "ends within a sentence"),
        ("Nothing is lost.", "IV B", "section IV B does not say"),
        ("Nothing is lost.", "V A", "no section V A"),
        ("…", "IV C", "quotes nothing"),
        ("", "IV C", "quotes nothing"),
    ],
)
def test_what_differs_otherwise_is_named(words: str, section: str, what: str) -> None:
    assert what in differs(quoted(words, section), TEXT)


def test_a_phrase_may_stand_anywhere_in_its_paper() -> None:
    assert differs(quoted("evenly loaded", ""), TEXT) == ""
    assert "the paper does not say" in differs(quoted("even loaded", ""), TEXT)


def test_a_text_in_two_columns_is_compared_by_letters() -> None:
    (scan,) = quotations.IN_COLUMNS
    whole = "unfairness across different machines is almost equal in 33% of all cases."
    assert differs(quoted(whole, "1", scan), COLUMNS) == ""
    for other in (whole.replace("33", "35"), whole.replace("across", "beyond")):
        assert "does not say" in differs(quoted(other, "1", scan), COLUMNS)


def test_the_list_is_written_only_if_each_quotation_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "list.txt"
    monkeypatch.setattr(quotations, "LIST", kept)
    monkeypatch.setattr(sys, "argv", ["quotations", str(tmp_path)])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert "has no text of dantas2015" in capsys.readouterr().err
    for paper in papers():
        (tmp_path / f"{paper.name}.txt").write_text(TEXT)
    with pytest.raises(SystemExit, match="clocks-within-300us: the paper has no section V A"):
        main()
    assert not kept.exists()
