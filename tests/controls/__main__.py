"""`python -m tests.controls [DRAWS]`: verdicts on every claim in each of its worlds, as a table.

Ends with 1 if a control fails.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

from tests.controls.control import Outcome, failures, outcomes
from tests.controls.every import CONTROLS

DRAWS = 200
VERDICTS = ("reproduced", "contradicted", "open", "not testable here")


def main(arguments: Sequence[str]) -> int:
    draws = int(arguments[0]) if arguments else DRAWS
    with ProcessPoolExecutor() as pool:
        in_turn = pool.map(_outcomes, range(len(CONTROLS)), [draws] * len(CONTROLS))
        found = [_reported(number, each) for number, each in enumerate(in_turn, start=1)]
    print(table(found, draws))
    wrong = [
        line
        for control, each in zip(CONTROLS, found, strict=True)
        for line in failures(control, each)
    ]
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


def _outcomes(place: int, draws: int) -> list[Outcome]:
    """The outcomes of the control at this place: controls themselves do not go to a process."""
    return outcomes(CONTROLS[place], draws)


def _reported(number: int, found: list[Outcome]) -> list[Outcome]:
    """Print the rows of one control to stderr when it ends, so that a stopped run leaves them."""
    print(f"{number} of {len(CONTROLS)}", *rows(found), sep="\n", file=sys.stderr, flush=True)
    return found


def table(found: Sequence[Sequence[Outcome]], draws: int) -> str:
    """The outcomes as a Markdown table; shares in percent."""
    lines = [f"{draws} draws each; shares in %.", "", f"| claim | world | {' | '.join(VERDICTS)} |"]
    lines.append("|---|---|---:|---:|---:|---:|")
    lines += [row for of_claim in found for row in rows(of_claim)]
    return "\n".join(lines)


def rows(found: Sequence[Outcome]) -> list[str]:
    """The rows of one control's worlds."""
    return [
        f"| {each.claim} | {each.kind} | "
        + " | ".join(f"{100 * each.share(verdict):.0f}" for verdict in VERDICTS)
        + " |"
        for each in found
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
