"""Table of the probe's rates found by search: as configured, as held at rest, and under load."""

from __future__ import annotations

import numpy as np

from delaylab_study.analysis.group import Group
from delaylab_study.analysis.packets.layers import SLIP
from delaylab_study.charts import words
from delaylab_study.charts.tables import Cells, Table


def table(groups: list[Group]) -> Table:
    """Return one row per combination whose trials searched for the highest rate that is held."""
    searching = [group for group in groups if any(t.rate_search for t in group.trials)]
    factors = list(searching[0].factors) if searching else []
    return Table(
        "The highest rates held",
        "Packets per second sent on time and all answered at rest, found by search before "
        "the load and used under it (median of the trials). The slip is how late packets were sent "
        "then, 99th percentile.",
        [*factors, "asked", "held", "slip under load"],
        [_row(group, factors) for group in searching],
        texts=len(factors),
    )


def _row(group: Group, factors: list[str]) -> Cells:
    found = [trial.rate_search for trial in group.trials if trial.rate_search]
    slip = next((s.delay.p99 for s in group.segments if s.layer == SLIP), None)
    return [
        *(group.factors.get(name, "") for name in factors),
        _rate(found[0].asked_interval_ns),
        _rate(float(np.median([search.interval_ns for search in found]))),
        "–" if slip is None else words.quantile(slip),
    ]


def _rate(interval_ns: float) -> str:
    return f"{round(1e9 / interval_ns):,}/s"
