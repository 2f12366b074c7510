"""Doubts raised by the machine's own state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from delaylab.api.records import Doubt, DoubtKind, doubt
from delaylab_study.analysis.doubts.machine_state import (
    BACKLOG,
    PRESSURE,
    STEAL,
    MachineState,
    PhaseState,
)
from delaylab_study.analysis.packets.accounting import Account

ENLARGE = "a backlog is as long as net.core.netdev_max_backlog says"
# A machine with more CPUs than this busy with work outside the lab is not at rest.
FOREIGN_CPUS = 0.25
# CPUs of work without a name from which on it is said.
REST = 0.05
# Largest share of the record's samples that may be missing.
MISSED = 0.02


def machine_doubts(
    state: MachineState,
    account: Account | None,
    at_rest: bool,
    others: Mapping[str, MachineState] = MappingProxyType({}),
    in_downtimes: int = 0,
    *,
    has_events: bool = False,
) -> list[Doubt]:
    """Return the doubts of a group; `at_rest` is true if it has no load in any phase.

    With `has_events` routing daemons work in the phase of the load, and wait for CPUs: each event
    says how long, so there only work outside the lab is a doubt.
    `account` is None without a probe. `in_downtimes` packets were lost while a link was down or
    silent, on purpose. `others` are the states of further machines by name, which
    the doubts about them begin with.
    """
    of_others = [
        doubt.model_copy(update={"message": f"machine {name}: {doubt.message}"})
        for name, other in others.items()
        for doubt in machine_doubts(other, None, at_rest)
    ]
    return [
        *_stolen(state),
        *_not_at_rest(state, at_rest, has_events),
        *_starved(state),
        *_stopped(state),
        *(_dropped(state, account, in_downtimes) if account is not None else ()),
        *of_others,
    ]


def _stolen(state: MachineState) -> Iterator[Doubt]:
    for phase in state.phases:
        if phase.steal is not None and phase.steal > STEAL:
            or_else = ", or compare only the packets that are not flagged" if phase.packets else ""
            yield doubt(
                DoubtKind.STOLEN_TIME,
                f"the hypervisor took {100 * phase.steal:.1f} % of the CPUs' time "
                f"in phase {phase.phase}",
                f"measure on a machine of its own{or_else}",
                phase=phase.phase,
                steal=phase.steal,
            )


def _not_at_rest(state: MachineState, at_rest: bool, has_events: bool) -> Iterator[Doubt]:
    resting = [phase for phase in state.phases if at_rest or phase.phase not in ("load", "again")]
    found = [
        phase
        for phase in resting
        if _has_other_work(phase)
        or (_has_waiting(phase) and not (has_events and phase.phase == "load"))
    ]
    if found:
        worst = max(found, key=lambda phase: (phase.foreign_cpus or 0, phase.pressure or 0))
        yield doubt(
            DoubtKind.NOT_AT_REST,
            f"other work ran in {len(found)} of {len(resting)} phases that should be at rest; "
            f"most in phase {worst.phase}: {_foreign(worst)}",
            "end what else runs on the machine, then run these trials again",
            phases=len(resting),
            disturbed=len(found),
            worst=worst.phase,
        )


def _has_other_work(phase: PhaseState) -> bool:
    return (phase.foreign_cpus or 0) > FOREIGN_CPUS


def _has_waiting(phase: PhaseState) -> bool:
    return (phase.pressure or 0) > PRESSURE


def _foreign(phase: PhaseState) -> str:
    said = []
    if phase.foreign_cpus is not None:
        named = ", ".join(f"{each.name} {each.cpus:.2f}" for each in phase.programs)
        rest = phase.foreign_cpus - sum(each.cpus for each in phase.programs)
        more = f"; other, short-lived: {rest:.2f} CPUs" if rest >= REST else ""
        groups = ", ".join(f"{each.short} {each.cpus:.2f}" for each in phase.groups)
        words = [f"{named}{more}"] if named else []
        words += [f"by control group: {groups}"] if groups else []
        which = f" ({'; '.join(words)})" if words else ""
        said.append(f"{phase.foreign_cpus:.2f} CPUs busy with other work{which}")
    if phase.pressure is not None:
        said.append(f"tasks waiting for a CPU {100 * phase.pressure:.0f} % of the time")
    return ", ".join(said)


def _starved(state: MachineState) -> Iterator[Doubt]:
    due = state.samples + state.missed
    if due and state.missed / due > MISSED:
        yield doubt(
            DoubtKind.STARVED_WATCHER,
            f"{state.missed} of {due} samples of the machine's state are missing: its recorder "
            "got no CPU in time, and the sender may not have either",
            "leave a CPU free of load (cpus)",
            missed=state.missed,
            due=due,
        )


def _stopped(state: MachineState) -> Iterator[Doubt]:
    if state.stopped:
        where = ", ".join(f"{name} for {s:.1f} s" for name, s in state.stopped.items())
        yield doubt(
            DoubtKind.STOPPED_PROCESS,
            f"a signal stopped processes of the lab: {where}",
            "find out who sent SIGSTOP, then run these trials again",
            where=where,
        )


def _dropped(state: MachineState, account: Account, in_downtimes: int) -> Iterator[Doubt]:
    # The interfaces of a link that is down on purpose drop frames, and these are the lost packets.
    lost = sum(account.lost_after.values()) - in_downtimes
    if lost > 0 and state.drops:
        where = ", ".join(f"{name} {n}" for name, n in state.drops.items())
        yield doubt(
            DoubtKind.INTERFACE_DROPS,
            f"interfaces dropped frames, of which some may be the {lost} lost packets: {where}",
            "give the link more rate or a longer queue, or load it less"
            + (f"; {ENLARGE}" if BACKLOG in state.drops else ""),
            lost=lost,
            where=where,
        )
