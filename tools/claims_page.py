"""Generator of docs/claims.md: every claim of every paper, as it is declared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap

from delaylab_study.analysis.claims.claim import Claim
from delaylab_study.analysis.claims.words import rule_in_words
from delaylab_study.papers.loading import claims
from delaylab_study.papers.paper import Paper

PAGE = Path(__file__).parent.parent / "docs" / "claims.md"
WIDTH = 100
HEAD = """\
# Claims of the papers

Every claim that delaylab tests, as it is declared: the paper's sentence, the quantity that is
measured, and the rule that decides. Rules are fixed before data are looked at. A sentence stands
here as the paper has it; `…` marks what is left out. "About" names the mechanisms that a node must
have so that it can decide ([Kinds](kinds/README.md#what-nodes-of-a-kind-can-decide)). This page is
made from the declarations by `make docs`; [Method](method.md#claims) says how a claim is judged,
and [Coverage](coverage/README.md) what its verdict is worth.
"""


def page() -> str:
    """Return the page's text."""
    return HEAD + "\n" + "\n".join(line for part in _papers() for line in part) + "\n"


def _papers() -> Iterator[list[str]]:
    together: dict[str, tuple[Paper, list[Claim]]] = {}
    for paper, claim in claims().values():
        together.setdefault(paper.name, (paper, []))[1].append(claim)
    for paper, found in together.values():
        yield [f"## {paper.name}", "", *wrap(f"{paper.citation}.", WIDTH), ""]
        yield list(_contradictions(paper))
        for claim in found:
            yield list(_claim(claim))


def _contradictions(paper: Paper) -> Iterator[str]:
    if paper.contradictions:
        yield "Where the paper does not agree with itself:"
        yield ""
        for each in paper.contradictions:
            yield from wrap(each, WIDTH, initial_indent="- ", subsequent_indent="  ")
        yield ""


def _claim(claim: Claim) -> Iterator[str]:
    yield f"### {claim.id}"
    yield ""
    yield from wrap(claim.text, WIDTH)
    yield ""
    said = f"{claim.source.sentence} ({claim.source.text})".strip()
    yield from wrap(said, WIDTH, initial_indent="> ", subsequent_indent="> ")
    yield ""
    if claim.about:
        yield f"About: {', '.join(claim.about)}."
        yield ""
    yield "| quantity | rule | needs |"
    yield "|---|---|---|"
    for each in claim.criteria:
        yield f"| {each.quantity} | {rule_in_words(each.rule, each.unit)} | {each.needs} |"
    yield ""


def main() -> None:
    """Write the page."""
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
