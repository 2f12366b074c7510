"""`python -m tests.controls [DRAWS]`: verdicts on every claim in each of its worlds.

Writes the table of docs/controls.md, and ends with 1 if a control fails.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tools import marked_part

from tests.controls.control import KINDS, Control, Outcome, failures, outcomes
from tests.controls.every import CONTROLS

PAGE = Path(__file__).parents[2] / "docs" / "controls.md"
BEGIN, END = "<!-- controls: written by `make controls` -->\n", "<!-- end of controls -->"
DRAWS = 200
MORE = 6
"""Factor by which a control gets more draws if it fails, since a few draws may fail by chance.

The first draws are among them, so none is discarded.
"""


def main(arguments: Sequence[str]) -> int:
    draws = int(arguments[0]) if arguments else DRAWS
    with ProcessPoolExecutor() as pool:
        in_turn = pool.map(_outcomes, range(len(CONTROLS)), [draws] * len(CONTROLS))
        found = [_reported(control, each) for control, each in zip(CONTROLS, in_turn, strict=True)]
    marked_part.write(PAGE, BEGIN, END, table(found))
    wrong = [
        line
        for control, each in zip(CONTROLS, found, strict=True)
        for line in failures(control, each)
    ]
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


def _outcomes(place: int, draws: int) -> list[Outcome]:
    """The outcomes of the control at this place: controls themselves do not go to a process."""
    found = outcomes(CONTROLS[place], draws)
    return outcomes(CONTROLS[place], MORE * draws) if failures(CONTROLS[place], found) else found


def _reported(control: Control, found: list[Outcome]) -> list[Outcome]:
    """Print the row of a control when it ends, so that a stopped run leaves it."""
    print(row(control, found), flush=True)
    return found


def table(found: Sequence[Sequence[Outcome]]) -> str:
    """The outcomes as a Markdown table."""
    head = [
        f"| claim | trials of | draws | {' | '.join(KINDS)} | false by |",
        "|" + "---|" * (4 + len(KINDS)),
    ]
    rows = map(row, CONTROLS, found)
    return "\n".join(["Verdicts in % of the draws.", "", *head, *rows, ""])


def row(control: Control, found: Sequence[Outcome]) -> str:
    """The row of one control, with a cell for each of its worlds."""
    claim, draws = found[0].claim, found[0].draws
    cells = " | ".join(map(cell, found))
    linked = f"[{claim}](claims.md#{claim})"
    return f"| {linked} | {control.design} | {draws} | {cells} | {control.by} |"


def cell(found: Outcome) -> str:
    """The verdicts in one world and their shares in %, the most frequent first."""
    shares = [(verdict, f"{100 * found.share(verdict):.0f}") for verdict, _ in found.most_common]
    return ", ".join(f"{verdict} {share}" for verdict, share in shares if share != "0")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
