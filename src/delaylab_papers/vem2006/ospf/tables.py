"""Figure 21 of vem2006 as a table: measured here beside the paper's."""

from __future__ import annotations

from delaylab_study.papers.toolkit import Cells, Floats, Group, Table

from ..published import CONVERGENCE_S
from .measures import DID, Setting, convergence_s, detection_s, events, settings

HEAD = ["test", "detection", "convergence", "of a single one", "all tables right", "cpu-bound"]


def tables(groups: list[Group]) -> list[Table]:
    """Return the table of each daemon with each set of timers."""
    return [table for where in settings(groups) if (table := _table(groups, where)) is not None]


def _table(groups: list[Group], where: Setting) -> Table | None:
    rows = [row for test in DID if (row := _row(groups, where, test)) is not None]
    if not rows:
        return None
    return Table(
        f"Detection and convergence of OSPF in AS 1755: {where}",
        f"Means in s of the paper's timers{_multiplied(where)}, here / published (figure 21). "
        "Detection: from the event to the first change of an adjacency at another router. "
        "Convergence: from then to the last change of a table, in trials that had right tables in "
        "the end. Right: from the event until all tables had the shortest paths; in brackets the "
        "trials in which they had them in time. Cpu-bound: trials in which waiting for CPUs may "
        "explain more than a tenth of that.",
        HEAD,
        rows,
    )


def _multiplied(where: Setting) -> str:
    """Return what was done to the times of faster timers, in words."""
    if where.slower == 1:
        return ""
    timers = "hello 2 s, dead 8 s, SPF delay and hold 0.2 s"
    return f", {where.slower:.0f} times those measured with a fifth of them ({timers})"


def _row(groups: list[Group], where: Setting, test: str) -> Cells | None:
    several = events(groups, where, test, single=False)
    one = events(groups, where, test, single=True)
    if not several and not one:
        return None
    paper = [f"{value:.0f}" for value in CONVERGENCE_S[test]]
    right = [where.slower * each.right_s for each in several if each.right_s is not None]
    bound = sum(each.is_cpu_bound for each in several)
    mean = f"{sum(right) / len(right):.2f}" if right else "–"
    return [
        test,
        (_mean(detection_s(groups, where, test, single=False)), paper[0]),
        (_mean(convergence_s(groups, where, test, single=False)), paper[1]),
        (_mean(convergence_s(groups, where, test, single=True)), paper[2]),
        f"{mean} ({len(right)} of {len(several)})",
        f"{bound} of {len(several)}",
    ]


def _mean(values: Floats) -> str:
    return f"{values.mean():.2f}" if len(values) else "–"
