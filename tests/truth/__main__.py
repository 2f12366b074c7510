"""`make truth`: inject each cause blindly, again and again, and write docs/truth.md.

Usage: python -m tests.truth [--runs N] [--injections N] [--write]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from textwrap import fill

from delaylab.machines.description import cpu_name
from tests.truth.blind import LEAST_NS, MOST_NS, blind, draw
from tests.truth.cases import CASES
from tests.truth.judging import Judged, quantile_us

PAGE = Path("docs/truth.md")
MARK = "<!-- results -->"
WIDTH = 100


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--injections", type=int, default=20)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    found = [Judged() for _ in CASES]
    for number in range(1, asked.runs + 1):
        for case, judged in zip(CASES, found, strict=True):
            plan = draw(case, asked.injections)
            print(f"{number} of {asked.runs}, {case.name}: sealed {plan.seal}", flush=True)
            judged.add(blind(case, plan))
            print(f"  opened: salt {plan.salt}, {plan.injections}", flush=True)
        # What was run is kept, also if a later run fails.
        text = "\n".join(_tables(found, number, asked.injections))
        if asked.write:
            before, mark, _ = PAGE.read_text().partition(MARK)
            PAGE.write_text(f"{before}{mark}\n{text}\n")
    print(text)


def _tables(found: list[Judged], runs: int, injections: int) -> Iterator[str]:
    least, most = LEAST_NS / 1e6, MOST_NS / 1e6
    yield fill(
        f"{runs} blind runs of each cause with {injections} injections each, of {least:g} to "
        f"{most:g} ms. *Late*: packets that it made late by 0.5 ms or more, by the injector's own "
        "log. *Size right*: within 20 µs or 10 %. *Blamed*: packets without it, late or not, of "
        "which it is said to have taken 0.1 ms or more.",
        WIDTH,
        break_on_hyphens=False,
    )
    yield ""
    yield "| injected | late | named right | size right | size off by, µs: median, p90 | blamed |"
    yield "|---|---|---|---|---|---|"
    for case, each in zip(CASES, found, strict=True):
        off = f"{quantile_us(each.errors_ns, 0.5):.0f}, {quantile_us(each.errors_ns, 0.9):.0f}"
        blamed = f"{each.blamed} of {each.others + each.quiet}"
        right, size = _share(each.right, each.late), _share(each.within, each.late)
        yield f"| {case.name} | {each.late} | {right} | {size} | {off} | {blamed} |"
    yield ""
    yield "What was named instead:"
    yield ""
    yield "| injected | named | packets |"
    yield "|---|---|---|"
    for case, each in zip(CASES, found, strict=True):
        for name, count in each.named.most_common():
            if name != "right":
                yield f"| {case.name} | {name} | {count} |"
    whole = sum(each.excess_ns for each in found)
    unknown = sum(each.unknown_ns for each in found)
    yield ""
    yield f"Unknown is {unknown / whole:.1%} of the excess of all late packets." if whole else ""
    yield ""
    yield f"*{date.today().isoformat()}, {cpu_name()}*"


def _share(part: int, of: int) -> str:
    return f"{part / of:.1%}" if of else "–"


main()
