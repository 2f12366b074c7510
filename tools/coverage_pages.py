"""Generator of the parts of docs/coverage that are made from the claims and their findings.

A page of a paper is written by hand, but for the table of the sentences that have a claim. Its rows
come from the claims, from their verdicts in docs/replications, and from docs/coverage/worth.yaml,
which says in a line what the verdict on each claim is worth. The index counts all of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap

import yaml

from delaylab_study.analysis.claims.claim import Claim
from delaylab_study.papers.loading import claims
from tools.kept_findings import EARLIER_RULE, read, shown
from tools.marked_part import write

FOLDER = Path(__file__).parent.parent / "docs" / "coverage"
INDEX, WORTH = FOLDER / "README.md", FOLDER / "worth.yaml"
BEGIN, END = "<!-- claims: written by `make docs` -->\n", "<!-- end of claims -->\n"
STATES = ("implemented", "substituted", "absent")
"""First words of a row that is written by hand: what is here of a part of the paper."""
WORTHS = ("Decides its sentence", "Decides a part", "Decides nothing")
"""First words of a line on the worth of a verdict."""
VERDICTS = ("reproduced", "contradicted", "open", "not testable here", EARLIER_RULE)
NOT_RUN = "not run yet"
ROMAN = {"I": 1, "II": 2, "III": 3, "IV": 4, "V": 5, "VI": 6, "VII": 7, "VIII": 8}
CELL = re.compile(r"^\| ([^|]+) \| [^|]+ \| (\w+)\b")
"""A row of a page that is written by hand: its places in the paper, and its state."""


def places(text: str) -> list[str]:
    """Return the places that a text names, such as `section IV B, figures 9 and 10`."""
    found: list[str] = []
    for part in text.removeprefix("section ").split(", "):
        if several := re.fullmatch(r"(figure|table)s (\d+) (and|to) (\d+)", part):
            word, first, _, last = several.groups()
            found += [f"{word} {number}" for number in range(int(first), int(last) + 1)]
        else:
            found.append(part.strip())
    return found


def rows(page: str) -> Iterator[tuple[str, str]]:
    """Yield places and state of each row that is written by hand."""
    before, _, after = page.partition(BEGIN)
    for line in (before + after.partition(END)[2]).splitlines():
        row = CELL.match(line)
        if row is not None and row[1] != "where":
            yield row[1], row[2]


def by_paper() -> dict[str, list[Claim]]:
    """Return the claims of each paper, in the paper's own order."""
    found: dict[str, list[Claim]] = {}
    for paper, claim in claims().values():
        found.setdefault(paper.name, []).append(claim)
    return {name: sorted(each, key=_order) for name, each in found.items()}


def worths() -> dict[str, str]:
    """Return what the verdict on each claim is worth, by the claim's id."""
    read: object = yaml.safe_load(WORTH.read_text())
    assert isinstance(read, dict)
    return {str(name): str(line) for name, line in read.items()}


def verdicts() -> dict[str, str]:
    """Return the published verdict on each claim, by the claim's id."""
    return {each.id: each.verdict for study in read() for each in shown(study)}


def part(found: list[Claim]) -> str:
    """Return the table of a paper's claims."""
    worth, verdict = worths(), verdicts()
    lines = [
        "| where | sentence | claim, verdict | what the verdict is worth |",
        "|---|---|---|---|",
    ]
    for claim in found:
        where = claim.source.text.removeprefix("section ")
        sentence = f"“{claim.source.sentence}”" if claim.source.sentence else "–"
        name = f"[{claim.id}](../claims.md#{claim.id}): {verdict.get(claim.id, NOT_RUN)}"
        lines.append(f"| {where} | {sentence} | {name} | {worth[claim.id]} |")
    return "\n".join(lines) + "\n"


def overview() -> str:
    """Return the table over all papers."""
    worth, verdict = worths(), verdicts()
    columns = [*STATES, "claims", *(each.lower() for each in WORTHS), *VERDICTS]
    lines = [f"| paper | {' | '.join(columns)} |", "|---" + "|---:" * len(columns) + "|"]
    for name, found in sorted(by_paper().items()):
        states = Counter(state for _, state in rows(page_of(name).read_text()))
        values = Counter(next(w for w in WORTHS if worth[each.id].startswith(w)) for each in found)
        said = Counter(verdict.get(each.id, NOT_RUN) for each in found)
        numbers = [
            *(states[each] for each in STATES),
            len(found),
            *(values[each] for each in WORTHS),
            *(said[each] for each in VERDICTS),
        ]
        lines.append(f"| [{name}]({name}.md) | {' | '.join(map(str, numbers))} |")
    return "\n".join([*lines, "", *wrap(_empty(), 100, break_on_hyphens=False)]) + "\n"


def _empty() -> str:
    """Return how many verdicts say nothing about their sentence, and on which claims."""
    worth = worths()
    decided = [name for name, each in verdicts().items() if each in VERDICTS[:2] and name in worth]
    empty = sorted(name for name in decided if worth[name].startswith(WORTHS[-1]))
    which = f": {', '.join(f'`{name}`' for name in empty)}" if empty else ""
    return (
        f"Of {len(decided)} verdicts *reproduced* or *contradicted*, {len(empty)} are on claims "
        f"that decide nothing about their sentence{which}."
    )


def page_of(paper: str) -> Path:
    """Return the page of a paper."""
    return FOLDER / f"{paper}.md"


def made() -> dict[Path, str]:
    """Return the part of each page that is made."""
    return {page_of(name): part(found) for name, found in by_paper().items()} | {INDEX: overview()}


def _order(claim: Claim) -> tuple[int | str, ...]:
    """Return the number of a claim's section, part by part, so that 4.3.1 and IV B sort."""
    section = claim.source.section.removeprefix("section ")
    return tuple(
        ROMAN.get(each, ord(each[0]) if each.isalpha() else int(each))
        for each in re.split(r"[ .]", section)
    )


def main() -> None:
    """Write the parts."""
    for page, text in made().items():
        write(page, BEGIN, END, text)


if __name__ == "__main__":
    main()
