"""Check of a group's loads, links, closed loop and reserved CPUs: was each what it stands for?

A load that did not act (a program that did not run, a disk that is memory, an uplink that was never
full) makes trials look as at rest. A probe that was in no closed loop had another rate than the
study says. A reserved CPU that others used was none. A link that somebody changed meanwhile had
other conditions than its levels. So claims are judged only on trials in which all were.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from delaylab.api.cpus import cpus_in_words
from delaylab.api.records import DoubtKind
from delaylab_study.analysis.doubts.reserved_cpus import ReservedSeen
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.packets.closed_loop import LoopSeen
from delaylab_study.analysis.packets.table import MEASURED
from delaylab_study.dataset.records.trial import Load, TrialRecord

CPU_USED = 25.0
"""The smallest share of a CPU that all workers of CPU loads must use together, in percent."""
CROWDED, CPU_USED_CROWDED = 0.5, 5.0
"""The share of the time in which tasks waited from which on CPUs are crowded, and what workers must
then use, in percent of a CPU: other work leaves them less than they could use."""
WAITED = 0.005
"""The smallest share of the time in which some task must have waited for a CPU under CPU load."""
FULL = 0.9
"""The share of the CPUs that a load may use from which on they are full. Then a task need not have
waited: on full CPUs a probe that sends four packets per second hardly shows in that share."""
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
LEFT = 0.9
"""The smallest share of reserved CPUs' time that others must have left to their nodes."""

RAN = 0.9
"""The smallest share of the time under load for which a command must have run."""
ASKED = 0.9
"""The smallest share of its rate at which a load of requests must send."""
PACED = 0.75
"""The smallest share of its rate at which a load of frames must send, if it has a rate. Taps and
the probe take CPU time from a generator that is itself the bound of the rate held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreatmentCheck:
    """The comparison of what one load did with what it must have done; `value` is None if unknown.

    `least` is the smallest value at which the load acted. It is 0 where there is nothing to compare
    with. `load` may also be the probe's closed loop, or reserved CPUs. `failure` says what it means
    if these or the load did not act.
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
    check: TreatmentCheck

    @property
    def text(self) -> str:
        """Return the group and the check in words."""
        return f"{self.group.label}: {self.check.text}"


def checks(group: Group) -> list[TreatmentCheck]:
    """Return the checks of a group's loads, links, closed loops and reserved CPUs, by trial."""
    pressure = _pressure(group)
    of_loads = (check for trial in group.trials for check in _of_trial(trial, pressure))
    loops = group.packets.loops if group.packets else []
    of_loops = (check for loop in loops for check in _of_loop(loop))
    of_links = (check for trial in group.trials for check in _of_links(trial))
    return [*of_loads, *of_links, *of_loops, *map(_of_reserved, group.machine.reserved)]


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
    """Return the share of the time under load that some task spent waiting for a CPU."""
    phases = (phase for phase in group.machine.state.phases if phase.phase == MEASURED)
    return next((phase.pressure for phase in phases), None)


def _of_trial(trial: TrialRecord, pressure: float | None) -> Iterator[TreatmentCheck]:
    for name, loads in _by_name(trial.loads).items():
        if name == "cpu":
            yield from _cpu(trial.id, name, loads, pressure)
        elif name == "requests":
            yield from (check for load in loads for check in _requests(trial.id, load))
        elif name in _CHECKS:
            yield _CHECKS[name](trial.id, name, loads)


def _of_links(trial: TrialRecord) -> Iterator[TreatmentCheck]:
    """Yield a check that fails for each link whose conditions somebody changed during the trial."""
    for warning in trial.warnings:
        if warning.kind == DoubtKind.CONDITIONS_CHANGED:
            quantity = "share of the trial in which it had its level's conditions"
            failure = "the conditions of a link were changed by `link set`"
            link = f"link {warning.values.get('link', '')}"
            yield TreatmentCheck(
                trial=trial.id, load=link, quantity=quantity, value=None, least=0.0, failure=failure
            )


def _of_loop(loop: LoopSeen) -> Iterator[TreatmentCheck]:
    for quantity, share, least in (
        ("share of packets sent only after the last one's reply or timeout", loop.in_turn, IN_TURN),
        ("share of packets sent at once then", loop.prompt, PROMPT),
        ("share of packets sent after a reply and not after a timeout", loop.on_reply, 0.0),
    ):
        failure = "its probe was in no closed loop"
        yield TreatmentCheck(
            trial=loop.trial,
            load=CLOSED_LOOP,
            quantity=quantity,
            value=100 * share,
            least=100 * least,
            unit="%",
            failure=failure,
        )


def _of_reserved(seen: ReservedSeen) -> TreatmentCheck:
    """Return the check that nobody else used CPUs that are reserved for nodes."""
    what = f"{cpus_in_words(seen.cpus)} of {', '.join(seen.nodes)}"
    left = None if seen.others is None else 100 * (1 - seen.others)
    failure = "its reserved CPU was used by others"
    return TreatmentCheck(
        trial=seen.trial,
        load=what,
        quantity="time that others left",
        value=left,
        least=100 * LEFT,
        unit="%",
        failure=failure,
    )


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


def _cpu(
    trial: str, name: str, loads: Sequence[Load], pressure: float | None
) -> Iterator[TreatmentCheck]:
    """Yield the checks that a CPU load used CPU, and that others then had no idle CPU."""
    crowded = pressure is not None and pressure >= CROWDED
    least = CPU_USED_CROWDED if crowded else CPU_USED
    yield TreatmentCheck(
        trial=trial,
        load=name,
        quantity="CPU used by the workers together",
        value=_used(loads),
        least=least,
        unit="%",
    )
    yield from _competition(trial, name, loads, pressure)


def _used(loads: Sequence[Load]) -> float | None:
    """Return the CPU that all workers used together, in percent of one CPU."""
    each = _least(loads, "cpu_percent_per_worker")
    workers = sum(int(text) for load in loads if (text := str(load.configured)).isdecimal())
    return None if each is None else each * max(workers, len(loads))


def _competition(
    trial: str, name: str, loads: Sequence[Load], pressure: float | None
) -> Iterator[TreatmentCheck]:
    """Yield the check that CPU load competed: its CPUs were full, or some task waited."""
    used = _used(loads)
    cpus = [load.achieved["cpus"] for load in loads if "cpus" in load.achieved]
    full = used / max(cpus) if used is not None and cpus else None
    if full is not None and full >= 100 * FULL:
        yield TreatmentCheck(
            trial=trial,
            load=name,
            quantity="use of the CPUs that it may use",
            value=full,
            least=100 * FULL,
            unit="%",
        )
    elif pressure is not None:
        waited = "time in which a task waited for a CPU"
        yield TreatmentCheck(
            trial=trial,
            load=name,
            quantity=waited,
            value=100 * pressure,
            least=100 * WAITED,
            unit="%",
        )


def _operations(trial: str, name: str, loads: Sequence[Load]) -> TreatmentCheck:
    done = _least(loads, "operations_per_s")
    return TreatmentCheck(
        trial=trial, load=name, quantity="operations per second", value=done, least=OPERATIONS
    )


def _disk(trial: str, name: str, loads: Sequence[Load]) -> TreatmentCheck:
    written = _least(loads, "written_bytes_per_s")
    return TreatmentCheck(
        trial=trial,
        load=name,
        quantity="rate of writing to storage",
        value=written,
        least=WRITTEN,
        unit="B/s",
    )


def _command(trial: str, name: str, loads: Sequence[Load]) -> TreatmentCheck:
    ran = _least(loads, "ran_share")
    return TreatmentCheck(
        trial=trial,
        load=name,
        quantity="share of the time under load for which the command ran",
        value=None if ran is None else 100 * ran,
        least=100 * RAN,
        unit="%",
    )


def _network(trial: str, name: str, loads: Sequence[Load]) -> TreatmentCheck:
    """Return the check of all loads of the network together: they share the uplink."""
    sent, received = (
        sum(load.achieved.get(way, 0.0) for load in loads) for way in ("sent_bps", "received_bps")
    )
    carried = max(sent, received)
    rates = [load.achieved["uplink_bps"] for load in loads if "uplink_bps" in load.achieved]
    if not rates:
        return TreatmentCheck(
            trial=trial,
            load=name,
            quantity="rate on an uplink without a limit",
            value=carried,
            least=1.0,
            unit="bit/s",
        )
    filled = 100 * carried / min(rates)
    return TreatmentCheck(
        trial=trial,
        load=name,
        quantity="share of the uplink's rate that was used",
        value=filled,
        least=100 * FILLED,
        unit="%",
    )


def _frames(trial: str, name: str, loads: Sequence[Load]) -> TreatmentCheck:
    """Return the check of the generator's pace; a load without a rate is as fast as it can be."""
    paces = [
        100 * load.achieved["sent_per_s"] / load.achieved["asked_per_s"]
        for load in loads
        if load.achieved.get("asked_per_s") and "sent_per_s" in load.achieved
    ]
    if not paces:
        return TreatmentCheck(
            trial=trial,
            load=name,
            quantity="rate without a limit",
            value=_least(loads, "sent_per_s"),
            least=0.0,
            unit="/s",
        )
    return TreatmentCheck(
        trial=trial,
        load=name,
        quantity="share of its rate that was sent",
        value=min(paces),
        least=100 * PACED,
        unit="%",
    )


def _requests(trial: str, load: Load) -> Iterator[TreatmentCheck]:
    """Yield the checks that requests were sent at their rate, and that they were answered."""
    got, name = load.achieved, f"{load.load} of {load.on} to {load.to}"
    asked, sent, answered = (
        got.get(key) for key in ("asked_per_s", "sent_per_s", "answered_share")
    )
    yield TreatmentCheck(
        trial=trial,
        load=name,
        quantity="share of its rate that was sent",
        value=100 * sent / asked if asked and sent is not None else None,
        least=100 * ASKED,
        unit="%",
    )
    yield TreatmentCheck(
        trial=trial,
        load=name,
        quantity=f"share of {got.get('sent', 0):.0f} requests with a good answer",
        value=None if answered is None else 100 * answered,
        least=100 * got.get("least_answered", 0.0),
        unit="%",
    )


def _with_prefix(value: float) -> str:
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:.3g} {prefix}"
    return f"{value:.3g} "


_CHECKS: dict[str, Callable[[str, str, Sequence[Load]], TreatmentCheck]] = {
    "io": _operations,
    "memory": _operations,
    "disk": _disk,
    "network": _network,
    "command": _command,
    "frames": _frames,
}
