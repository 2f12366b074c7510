"""Check of a group's loads and of its probe's closed loop: did each do what it stands for?

A load that did not act (a program that did not run, a disk that is memory, an uplink that was never
full) makes trials look as at rest. A probe that was in no closed loop had another rate than the
study says. So claims are judged on trials only in which both did.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from delaylab.analysis.group import MEASURED, Group
from delaylab.analysis.packets.closed_loop import LoopSeen
from delaylab.dataset.records.trial import Load, TrialRecord

CPU_USED = 25.0
"""The smallest share of a CPU that all workers of CPU loads must use together, in percent. On a
busy machine they get less than they could use, so that tasks wait, which is checked beside it."""
WAITED = 0.005
"""The smallest share of the time in which some task must have waited for a CPU under CPU load."""
OPERATIONS = 1.0
"""The smallest number of operations per second of a load of memory, or of `sync` calls."""
WRITTEN = 100_000.0
"""The smallest number of bytes per second that a disk load must write to storage."""
FILLED = 0.9
"""The smallest share of an uplink's rate that a load of the network must use."""
IN_TURN = 0.99
"""The smallest share of a closed loop's packets that were sent after the last one's reply, or after
its timeout."""
PROMPT = 0.75
"""The smallest share of a closed loop's packets that were sent at once then. Under CPU load the
sender itself waits now and then."""
CLOSED_LOOP = "closed loop"


@dataclass(frozen=True, slots=True)
class Check:
    """Comparison of what one load did with what it must have done; `value` is None if unknown.

    `least` is the smallest value at which the load acted. It is 0 where there is nothing to compare
    with. `load` may also be the probe's closed loop. `failure` says what it means if that or the
    load did not act.
    """

    trial: str
    load: str
    quantity: str
    value: float | None
    least: float
    unit: str = ""
    failure: str = "its load did not act"

    @property
    def acted(self) -> bool:
        """Return True if the load did what it stands for."""
        return self.value is not None and self.value >= self.least

    @property
    def text(self) -> str:
        """Return the check in words."""
        if self.value is None:
            return f"{self.load}: {self.quantity} is not known"
        asked = f", at least {self._amount(self.least)} is needed" if self.least else ""
        return f"{self.load}: {self.quantity} was {self._amount(self.value)}{asked}"

    def _amount(self, value: float) -> str:
        if self.unit == "%":
            return f"{value:.3g} %"
        return f"{_with_prefix(value)}{self.unit}" if self.unit else f"{value:.3g}"


@dataclass(frozen=True, slots=True)
class Untreated:
    """A group whose load did not act, and the check that says so."""

    group: Group
    check: Check

    @property
    def text(self) -> str:
        """Return the group and the check in words."""
        return f"{self.group.label}: {self.check.text}"


def checks(group: Group) -> list[Check]:
    """Return the checks of a group's loads and of its closed loop, trial by trial."""
    of_loads = (check for trial in group.trials for check in _of_trial(trial, _pressure(group)))
    return [*of_loads, *(check for loop in group.loops for check in _of_loop(loop))]


def treated(groups: Sequence[Group]) -> tuple[list[Group], list[Untreated]]:
    """Return the groups whose loads acted in all trials, and the others with the first failure."""
    applied: list[Group] = []
    failed: list[Untreated] = []
    for group in groups:
        failure = next((check for check in checks(group) if not check.acted), None)
        if failure is None:
            applied.append(group)
        else:
            failed.append(Untreated(group, failure))
    return applied, failed


def _pressure(group: Group) -> float | None:
    """Return the share of the time under load in which some task waited for a CPU."""
    phases = (phase for phase in group.machine.phases if phase.phase == MEASURED)
    return next((phase.pressure for phase in phases), None)


def _of_trial(trial: TrialRecord, pressure: float | None) -> Iterator[Check]:
    for name, loads in _by_name(trial.loads).items():
        of = _CHECKS.get(name)
        if of is not None:
            yield of(trial.id, name, loads)
        if name == "cpu" and pressure is not None:
            waited = "time in which a task waited for a CPU"
            yield Check(trial.id, name, waited, 100 * pressure, 100 * WAITED, "%")


def _of_loop(loop: LoopSeen) -> Iterator[Check]:
    for quantity, share, least in (
        ("share of packets sent only after the last one's reply or timeout", loop.in_turn, IN_TURN),
        ("share of packets sent at once then", loop.prompt, PROMPT),
        ("share of packets sent after a reply and not after a timeout", loop.on_reply, 0.0),
    ):
        failure = "its probe was in no closed loop"
        yield Check(loop.trial, CLOSED_LOOP, quantity, 100 * share, 100 * least, "%", failure)


def _by_name(loads: Sequence[Load]) -> dict[str, list[Load]]:
    found: dict[str, list[Load]] = {}
    for load in loads:
        found.setdefault(load.load, []).append(load)
    return found


def _least(loads: Sequence[Load], name: str) -> float | None:
    """Return the smallest amount that one of the loads achieved, None if one says nothing."""
    found = [load.achieved.get(name) for load in loads]
    known = [value for value in found if value is not None and math.isfinite(value)]
    return min(known) if len(known) == len(found) else None


def _cpu(trial: str, name: str, loads: Sequence[Load]) -> Check:
    each = _least(loads, "cpu_percent_per_worker")
    workers = sum(int(text) for load in loads if (text := str(load.configured)).isdecimal())
    used = None if each is None else each * max(workers, len(loads))
    return Check(trial, name, "CPU used by the workers together", used, CPU_USED, "%")


def _operations(trial: str, name: str, loads: Sequence[Load]) -> Check:
    done = _least(loads, "operations_per_s")
    return Check(trial, name, "operations per second", done, OPERATIONS)


def _disk(trial: str, name: str, loads: Sequence[Load]) -> Check:
    written = _least(loads, "written_bytes_per_s")
    return Check(trial, name, "rate of writing to storage", written, WRITTEN, "B/s")


def _network(trial: str, name: str, loads: Sequence[Load]) -> Check:
    """Return the check of all loads of the network together: they share the uplink."""
    sent, received = (
        sum(load.achieved.get(way, 0.0) for load in loads) for way in ("sent_bps", "received_bps")
    )
    carried = max(sent, received)
    rates = [load.achieved["uplink_bps"] for load in loads if "uplink_bps" in load.achieved]
    if not rates:
        return Check(trial, name, "rate on an uplink without a limit", carried, 1.0, "bit/s")
    filled = 100 * carried / min(rates)
    return Check(trial, name, "share of the uplink's rate that was used", filled, 100 * FILLED, "%")


def _with_prefix(value: float) -> str:
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:.3g} {prefix}"
    return f"{value:.3g} "


_CHECKS: dict[str, Callable[[str, str, Sequence[Load]], Check]] = {
    "cpu": _cpu,
    "io": _operations,
    "memory": _operations,
    "disk": _disk,
    "network": _network,
}
