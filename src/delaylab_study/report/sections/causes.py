"""Causes of packets near quantiles of the round trips: what they waited for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from delaylab.api.causes import Cause
from delaylab.api.files import JsonObject
from delaylab_study.analysis.causes.quantiles import AtQuantile
from delaylab_study.analysis.group import Group
from delaylab_study.report import value as v
from delaylab_study.report import written
from delaylab_study.report.sections.section import Report

TOGETHER: Mapping[str, tuple[Cause, ...]] = {
    "run-queue wait": (Cause.HELD,),
    "idle CPU": (Cause.IDLE_WAKE,),
    "quota": (Cause.QUOTA,),
    "interrupts": (Cause.SOFTIRQ, Cause.INTERRUPT),
    "steal": (Cause.STOLEN,),
    "link": (Cause.LINK,),
    "computing": (Cause.OWN,),
    "other": (Cause.STOPPED, Cause.BLOCKED, Cause.TIMER, Cause.BEYOND),
    "unknown": (Cause.UNKNOWN,),
}
"""The columns, each with the causes whose times are added in it."""
FIRST = (
    v.Column("levels", "label", key="levels"),
    v.Column("near", "label", key="near"),
    v.Column("RTT"),
)
LEAST_NS = 1_000
"""The least time of causes that have a column."""
NOTE = (
    "What packets near the median, p99 and p99.9 of the user RTT (round trip, with the time by "
    "which they were sent late) waited for, beyond what usual packets do: the mean of the 20 "
    "nearest ones. Run-queue wait: another task had the CPU. Idle CPU: it had to wake up. "
    "`delaylab why` names tasks, packet by packet."
)


def section(report: Report) -> v.Section:
    """Return the causes near quantiles; nothing if no CPUs were recorded."""
    found = [(group, near) for group in report.groups for near in _of(group)]
    if not found:
        return v.Section("causes", [])
    names = [
        name for name in TOGETHER if any(abs(_ns(near, name)) >= LEAST_NS for _, near in found)
    ]
    columns = (*FIRST, *map(v.Column, names))
    rows = [_row(group, near, names) for group, near in found]
    table = v.Table(columns, rows, "Causes", NOTE, key="causes")
    return v.Section("causes", [v.Heading("Causes", 2), v.note(NOTE), table])


def study_json(report: Report) -> JsonObject:
    """Return the causes near quantiles of each combination of levels."""
    found = [_json(group, near) for group in report.groups for near in _of(group)]
    return {"causes": found} if found else {}


def _of(group: Group) -> Sequence[AtQuantile]:
    return group.packets.causes.near if group.packets else ()


def _json(group: Group, near: AtQuantile) -> JsonObject:
    return {
        "levels": group.label,
        "near": near.name,
        "rtt_us": near.rtt_ns / 1e3,
        "more_than_usual_us": {cause.value: ns / 1e3 for cause, ns in near.causes.items()},
    }


def _ns(near: AtQuantile, name: str) -> float:
    """Return the time of the causes of a column."""
    return sum(near.causes.get(cause, 0.0) for cause in TOGETHER[name])


def _row(group: Group, near: AtQuantile, names: Sequence[str]) -> v.Row:
    times = [
        v.Value(f"{_key(name)}_us", _ns(near, name) / 1e3, "us", how=written.signed)
        for name in names
    ]
    return [group.label, near.name, v.Value("rtt_us", near.rtt_ns / 1e3, "us"), *times]


def _key(name: str) -> str:
    return name.lower().replace(" ", "_").replace("-", "_")
