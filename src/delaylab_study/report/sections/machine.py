"""State of the machine by phase."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from delaylab.api.files import JsonObject
from delaylab_study.analysis.doubts.machine_state import MachineState, PhaseState
from delaylab_study.analysis.group import Group
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.report import value as v
from delaylab_study.report.sections.section import Report

# Largest number of groups whose phases the terminal shows.
SHOWN = 8
SOFTIRQ = (
    "Softirq: the part of busy that was the kernel's work for network and timers. Waiting: some "
    "task waited for a CPU"
)
CAPTION = (
    f"Means over each phase. Busy and stolen: shares of all CPUs' time. {SOFTIRQ}. Outside: CPUs "
    "that were busy with work outside the lab."
)
NOTE = (
    "Means over each phase, from a record every 100 ms; shares are of all CPUs' time. "
    f"{SOFTIRQ} (pressure). Outside the lab: CPUs that were busy with what no node or host of the "
    "lab is charged with, the kernel's own work for packets among it, and the five busiest "
    "programs and control groups there, read once a second. A control group counts what ran in it "
    "and has ended, too. For the lab: CPUs busy by node or host."
)
FLAGGED = (
    " A packet is flagged if it was sent in an interval with over 1 % of stolen time or over 10 % "
    "of waiting: none is dropped."
)
LEAST_CPUS = 0.005
"""The least CPUs of a place that are shown."""


def section(report: Report) -> v.Section:
    """Return the state of each machine by phase; in a terminal where no packets tell of it."""
    unprobed = [group for group in report.groups if not group.probed]
    return v.Section("machine", [*_terminal(unprobed), *_page(report)])


def _terminal(groups: Sequence[Group]) -> Iterator[v.Table]:
    more = len(groups) - SHOWN
    rest = f" {more} more groups are in the report." if more > 0 else ""
    if rows := [*_rows(groups[:SHOWN], events=False)]:
        yield v.Table(_columns(probed=False), rows, "The machine", CAPTION + rest, on=v.TERMINAL)


def _page(report: Report) -> Iterator[v.Part]:
    yield v.Heading("What the machine did meanwhile", 2)
    yield v.note(NOTE + (FLAGGED if report.probed else ""))
    rows = [*_rows(report.groups, events=True)]
    yield v.Table(_columns(probed=bool(report.probed)), rows, key="machine", on=v.PAGE)


def _columns(*, probed: bool) -> list[v.Column]:
    return [
        v.Column("trials", "label", long="fold", key="trials", once=True),
        v.Column("phase", "text", long="fold", key="phase"),
        *(v.Column(head) for head in ("busy", "softirq", "stolen", "waiting", "outside")),
        v.Column("the busiest outside", "text", v.PAGE, key="programs"),
        v.Column("for the lab", "text", v.PAGE, key="places"),
        v.Column("flagged", on=v.PAGE if probed else ()),
    ]


def trial_json(trial: TrialRecord, group: Group | None) -> JsonObject:
    """Return the state of the machine, None if the trial failed; and of others, if there are."""
    others = group.machine.others if group else {}
    return {
        "machine_state": asdict(group.machine.state) if group else None,
        **({"other_machines": {k: asdict(each) for k, each in others.items()}} if others else {}),
    }


def _rows(groups: Sequence[Group], *, events: bool) -> Iterator[v.Row]:
    """Yield each phase of each machine of each group; with `events` also what else happened."""
    for group in groups:
        others = {f"{group.label}, on {name}": each for name, each in group.machine.others.items()}
        for label, state in {group.label: group.machine.state, **others}.items():
            yield from ([label, *_phase(phase)] for phase in state.phases)
            if events and (said := _events(state)):
                yield [label, said, *[None] * 8]


def _phase(phase: PhaseState) -> v.Row:
    known = {"busy": phase.busy, "softirq": phase.softirq}
    shares = v.values(known | {"steal": phase.steal, "pressure": phase.pressure}, "share")
    outside = v.Value("foreign_cpus", phase.foreign_cpus, "cpus")
    busiest = ", ".join(f"{each.name} {each.cpus:.2f}" for each in phase.programs) or "–"
    if phase.groups:
        groups = ", ".join(f"{each.short} {each.cpus:.2f}" for each in phase.groups)
        busiest += f"; by control group: {groups}"
    places = {place: used for place, used in phase.places.items() if used >= LEAST_CPUS}
    lab = ", ".join(f"{place} {used:.2f}" for place, used in places.items()) or "–"
    flagged = v.Value("flagged", phase.flagged), " of ", v.Value("packets", phase.packets)
    return [phase.phase, *shares, outside, busiest, lab, flagged]


def _events(state: MachineState) -> str:
    """Return what was dropped, stopped, or is missing in a machine's record; "" if nothing."""
    missing = f"{state.missed} of {state.missed + state.samples} samples missing"
    return ", ".join(
        [
            *(f"{n} frames dropped by {name}" for name, n in state.drops.items()),
            *(f"{name} stopped for {seconds:.1f} s" for name, seconds in state.stopped.items()),
            *([missing] if state.missed else []),
        ]
    )
