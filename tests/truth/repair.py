"""The repair test: without a cause, the excess of late packets falls by the cause's share.

Usage: python -m tests.truth.repair [--runs N] [--injections N] [--write]
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from delaylab.machines.description import cpu_name
from delaylab.verbs.ping.late import LATE_NS
from tests.truth.blind import Plan, carried_out, draw, left_out
from tests.truth.cases import CASES, Case
from tests.truth.judging import blame_ns, took_by_seq
from tests.truth.page import share, wrapped, write_part
from tests.truth.scene import Seen

HELD = 0.1
"""The most by which the fall may differ from the share, as a share of the excess."""


@dataclass(frozen=True, slots=True)
class Repair:
    """The excess of late packets with a cause and without it, in ns, over several runs.

    Of the excess that was looked at (`seen_ns`), `named_ns` is said to be the cause's.
    """

    with_ns: int = 0
    without_ns: int = 0
    seen_ns: int = 0
    named_ns: int = 0

    def __add__(self, other: Repair) -> Repair:
        """Return both together."""
        return Repair(
            self.with_ns + other.with_ns,
            self.without_ns + other.without_ns,
            self.seen_ns + other.seen_ns,
            self.named_ns + other.named_ns,
        )

    @property
    def fell_ns(self) -> int:
        """Return by how much the excess fell."""
        return self.with_ns - self.without_ns

    @property
    def holds(self) -> bool:
        """Return True if the excess fell by the share."""
        named = self.named_ns / self.seen_ns if self.seen_ns else 0.0
        return abs(self.fell_ns / self.with_ns - named) <= HELD if self.with_ns else False


def repaired(case: Case, plan: Plan) -> Repair:
    """Carry a plan out, and then send the same packets without what it injects."""
    seen = carried_out([case], plan)
    late = [each for each in seen.explained if each.excess_ns >= LATE_NS]
    return Repair(
        with_ns=_excess_ns(seen),
        without_ns=_excess_ns(left_out([case], plan)),
        seen_ns=sum(each.excess_ns for each in late),
        named_ns=sum(blame_ns([case], each) for each in late),
    )


def _excess_ns(seen: Seen) -> int:
    """Return by how much all late packets together took longer than the median."""
    took = list(took_by_seq(seen).values())
    median = statistics.median(took)
    return round(sum(each - median for each in took if each >= median + LATE_NS))


def table(found: list[Repair], runs: int, injections: int) -> Iterator[str]:
    """Yield the lines of the page."""
    yield wrapped(
        f"{runs} runs with {injections} injections each, and as many of the same length without "
        "them. The excess of the late packets should fall by the share that the cause was said to "
        f"have, within {HELD:.0%} of the excess."
    )
    yield ""
    yield "| removed | its share | the excess fell by | |"
    yield "|---|---|---|---|"
    for case, each in zip(CASES, found, strict=True):
        named, fell = share(each.named_ns, each.seen_ns), share(each.fell_ns, each.with_ns)
        yield f"| {case.name} | {named} | {fell} | {'holds' if each.holds else 'does not hold'} |"
    yield ""
    yield f"*{date.today().isoformat()}, {cpu_name()}*"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--injections", type=int, default=20)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    found = [Repair() for _ in CASES]
    for number in range(1, asked.runs + 1):
        for place, case in enumerate(CASES):
            found[place] += repaired(case, draw([case], asked.injections))
            print(f"{number} of {asked.runs}: without {case.name}", flush=True)
        text = "\n".join(table(found, number, asked.injections))
        if asked.write:
            write_part("repairs", text)
    print(text)


if __name__ == "__main__":
    main()
