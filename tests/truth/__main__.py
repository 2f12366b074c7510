"""`make truth`: inject each cause blindly, again and again, and write docs/truth.md.

Usage: python -m tests.truth [--runs N] [--injections N] [--write]
"""

from __future__ import annotations

import argparse

from tests.truth.blind import Plan, blind, draw
from tests.truth.cases import SCENES, Together, name_of
from tests.truth.losses import LOSSES, lost_blindly
from tests.truth.page import write_part
from tests.truth.tables import Found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--injections", type=int, default=10)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    found = Found(asked.injections)
    for number in range(1, asked.runs + 1):
        print(f"run {number} of {asked.runs}", flush=True)
        found.runs = number
        for cases, judged in zip(SCENES, found.late, strict=True):
            plan = _sealed(name_of(cases), cases, asked.injections)
            judged.add(blind(cases, plan))
            _open(plan)
        for loss, counted in zip(LOSSES, found.lost, strict=True):
            plan = _sealed(loss.name, [loss.case], asked.injections)
            counted.add(lost_blindly(loss, plan))
            _open(plan)
        # What was run is kept, also if a later run fails.
        text = "\n".join(found.tables())
        if asked.write:
            write_part("results", text)
    print(text)


def _sealed(name: str, cases: Together, injections: int) -> Plan:
    plan = draw(cases, injections)
    print(f"{name}: sealed {plan.seal}", flush=True)
    return plan


def _open(plan: Plan) -> None:
    print(f"  opened: salt {plan.salt}, {plan.injections}", flush=True)


main()
