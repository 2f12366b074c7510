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
        found = list(pool.map(_outcomes, range(len(CONTROLS)), [draws] * len(CONTROLS)))
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


def table(found: Sequence[Sequence[Outcome]], draws: int) -> str:
    """The outcomes as a Markdown table; shares in percent."""
    lines = [f"{draws} draws each; shares in %.", "", f"| claim | world | {' | '.join(VERDICTS)} |"]
    lines.append("|---|---|---:|---:|---:|---:|")
    for of_claim in found:
        for each in of_claim:
            shares = " | ".join(f"{100 * each.share(verdict):.0f}" for verdict in VERDICTS)
            lines.append(f"| {each.claim} | {each.kind} | {shares} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
