"""State of a trial's clocks, and the doubts that it raises."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from delaylab.api.records import LOCAL_NAME, Doubt, DoubtKind, doubt
from delaylab_study.analysis.clocks.align import Alignment, ClockPair
from delaylab_study.analysis.clocks.changes import ClockChange
from delaylab_study.analysis.clocks.check import ClockCheck, checks
from delaylab_study.analysis.clocks.closure import Closure, closures
from delaylab_study.analysis.clocks.exchanges import Exchanges
from delaylab_study.analysis.clocks.stated import Stated, stated
from delaylab_study.dataset.records.trial import TrialRecord

# Points that a node's own kernel stamps; all other points are stamped by its host's kernel.
IN_NODE = (".app", ".socket", ".qdisc", ".stack")
DOM0 = ".dom0"
MACHINE = "the machine"
Delays = Sequence[tuple[str, float]]
# Smallest tick of a clock that is a doubt.
COARSE_NS = 1000.0


@dataclass(frozen=True, slots=True)
class TrialClocks:
    """The alignment of one trial's clocks, compared with clocks that were read directly.

    `owners` gives for each clock the node or machine that it belongs to. `loops` are those of
    machines whose clocks were compared pair by pair. `stated` has what time synchronisation states
    of each such pair, by its two clocks.
    """

    trial: str
    alignment: Alignment
    checks: list[ClockCheck]
    owners: dict[str, str]
    loops: list[Closure]
    stated: Mapping[frozenset[str], Stated]

    def between(self, hop: ClockPair) -> str:
        """Return in words the owner of the aligned clock and the owner of its reference."""
        fit = hop.fit
        clock, reference = self.owners.get(fit.clock), self.owners.get(fit.reference)
        return f"{clock or fit.clock} against {reference or fit.reference}"


def trial_clocks(
    trial: TrialRecord, alignment: Alignment, compared: Sequence[Exchanges] = ()
) -> TrialClocks:
    """Return the alignment of one trial's clocks with its owners, checked against the readings.

    `compared` are the probes by which the trial's machines compared their clocks.
    """
    owners: dict[str, str] = {}
    for each in trial.comparisons:
        owners |= {each.reference: _named(each.machine), each.clock: _named(each.other)}
    # A driver domain names a clock only where no other node owns it: its points come last.
    for station, clock in sorted(alignment.clocks.items(), key=lambda item: DOM0 in item[0].point):
        owners.setdefault(clock, _owner(trial, station.point))
    found = checks(alignment, trial.clock_readings)
    said = stated(trial.comparisons, trial.time_sync)
    return TrialClocks(trial.id, alignment, found, owners, closures(compared), said)


def clock_doubts(clocks: Sequence[TrialClocks], refused: Delays) -> list[Doubt]:
    """Return the doubts about trials' clocks, and about refused delays.

    `refused` gives each refused delay by its layer and its bound in µs.
    """
    found = [each for trial in clocks for each in _of_trial(trial)]
    return [*found, *_bounds(refused)]


def _of_trial(trial: TrialClocks) -> Iterator[Doubt]:
    for hop in trial.alignment.hops:
        fit, name = hop.fit, trial.between(hop)
        if fit.why:
            yield doubt(
                DoubtKind.CLOCK_UNALIGNED,
                f"{trial.trial}: {name} is not aligned: {fit.why}; "
                "no one-way delay between the two is given",
                "read the round trips, which need one clock only; or steady the clocks "
                "(no time synchronisation in the guest while measuring) and run again",
                trial=trial.trial,
                clock=fit.clock,
                reference=fit.reference,
            )
        yield from (_changed(trial, hop, change) for change in fit.changes if not change.small)
        yield from _small_changes(trial, hop)
        yield from _symmetry(trial, hop)
    yield from _ticks(trial)
    yield from (_open_loop(trial, loop) for loop in trial.loops if not loop.closes)
    for check in (check for check in trial.checks if not check.agrees):
        clock, reference = trial.owners.get(check.clock), trial.owners.get(check.reference)
        yield doubt(
            DoubtKind.CLOCK_UNALIGNED,
            f"{trial.trial}: the alignment of {clock or check.clock} against "
            f"{reference or check.reference} is {check.error_ns / 1000:+.1f} µs off the clocks as "
            f"they were read, which is certain to ± {check.within_ns / 1000:.1f} µs",
            "do not trust one-way delays between the two; their round trips are not affected",
            trial=trial.trial,
            clock=check.clock,
            reference=check.reference,
            error_us=check.error_ns / 1000,
            within_us=check.within_ns / 1000,
        )


def _symmetry(trial: TrialClocks, hop: ClockPair) -> Iterator[Doubt]:
    """Yield the doubt that figures rest on a stated symmetry, or that it is contradicted."""
    if hop.symmetric_ns is not None:
        stated = hop.symmetric_ns / 1000
        yield doubt(
            DoubtKind.CLOCK_SYMMETRIC,
            f"{trial.trial}: one-way delays between {trial.between(hop)} rest on what the lab file "
            f"states: the two directions differ by at most {stated:.1f} µs (symmetric)",
            "no measurement of two machines shows it; take `symmetric` out to rest on nothing",
            trial=trial.trial,
            symmetric_us=stated,
        )
    elif hop.contradicted:
        yield doubt(
            DoubtKind.CLOCK_SYMMETRIC,
            f"{trial.trial}: `symmetric` of the lab file contradicts the packets between "
            f"{trial.between(hop)}, and was not used",
            "correct `symmetric`, or take it out",
            trial=trial.trial,
        )


def _open_loop(trial: TrialClocks, loop: Closure) -> Doubt:
    """Return the doubt about a loop of machines: their clocks do not lead back to the first one."""
    names = ", ".join(trial.owners.get(clock, clock) for clock in loop.clocks)
    left, bound = loop.left_ns / 1000, loop.bound_ns / 1000
    return doubt(
        DoubtKind.CLOCK_LOOP,
        f"{trial.trial}: the clocks of {names}, compared pair by pair, do not add up: "
        f"{left:+.1f} µs are left, which is certain to ± {bound:.1f} µs",
        "one of the comparisons is wrong: do not trust one-way delays between these machines",
        trial=trial.trial,
        left_us=left,
        bound_us=bound,
    )


def _named(machine: str) -> str:
    """Return in words the machine of this name; it is this one if it is `local`."""
    return MACHINE if machine == LOCAL_NAME else f"machine {machine}"


def _changed(trial: TrialClocks, hop: ClockPair, change: ClockChange) -> Doubt:
    """Return the doubt about a clock that was set or that changed its rate."""
    name, at = trial.between(hop), f"at {change.time_ns / 1e9:.6f} s"
    apart = f"before and after it are aligned apart, the {change.unsure} stamps between left out"
    if change.kind == "slew":
        return doubt(
            DoubtKind.CLOCK_SLEWED,
            f"{trial.trial}: {name} changed its rate by {change.rate_ppm:+.0f} ppm {at}, as a "
            "clock does that is slewed; before and after it are aligned apart",
            "let time synchronisation in the guest settle before measuring, or stop it",
            trial=trial.trial,
            clock=hop.fit.clock,
            rate_ppm=change.rate_ppm,
        )
    said = "was set" if change.kind == "step" else "was set, or slewed for a short time,"
    return doubt(
        DoubtKind.CLOCK_STEP,
        f"{trial.trial}: {name} {said} by {change.size_ns / 1000:+.1f} µs {at}; {apart}",
        "stop time synchronisation in the guest from stepping its clock, run again",
        trial=trial.trial,
        clock=hop.fit.clock,
        step_us=change.size_ns / 1000,
    )


def _small_changes(trial: TrialClocks, hop: ClockPair) -> Iterator[Doubt]:
    """Yield the doubt about changes that are below the bound, and cost some stamps only."""
    small = [change for change in hop.fit.changes if change.small]
    if small:
        bound = hop.fit.bound_ns / 1000
        left_out = sum(change.unsure for change in small if change.kind != "slew")
        times = "once" if len(small) == 1 else f"{len(small)} times"
        yield doubt(
            DoubtKind.CLOCK_SLEWED,
            f"{trial.trial}: {trial.between(hop)} changed {times} by less than the bound of "
            f"± {bound:.1f} µs: it was slewed or set, or the network became slower one way and "
            "faster the other way; the times between are aligned apart, and "
            f"{left_out} stamps of probes are left out",
            "nothing, if time synchronisation is meant to run; the bound covers it",
            trial=trial.trial,
            clock=hop.fit.clock,
            changes=len(small),
        )


def _ticks(trial: TrialClocks) -> Iterator[Doubt]:
    for clock, tick_ns in trial.alignment.ticks.items():
        if tick_ns >= COARSE_NS:
            yield doubt(
                DoubtKind.CLOCK_TICK,
                f"{trial.trial}: the clock of {trial.owners.get(clock, clock)} ticks every "
                f"{tick_ns / 1000:.1f} µs: every delay that it stamps is off by up to that",
                "give the kernel a finer clock source "
                "(/sys/devices/system/clocksource/clocksource0), or compare larger delays only",
                trial=trial.trial,
                clock=clock,
                tick_us=tick_ns / 1000,
            )


def _bounds(refused: Delays) -> Iterator[Doubt]:
    if refused:
        layers = ", ".join(dict.fromkeys(layer for layer, _ in refused))
        bound = max(bound for _, bound in refused)
        yield doubt(
            DoubtKind.CLOCK_BOUND,
            f"one-way medians smaller than what the clocks leave open (up to ± {bound:.1f} µs) are "
            f"not given: {layers}",
            "read round trips instead, or send more packets at rest: the bound is half of the "
            "fastest one's way between the two clocks and back",
            bound_us=bound,
        )


def _owner(trial: TrialRecord, point: str) -> str:
    ends = {"sender": trial.sender, "responder": trial.responder}
    if point.endswith(DOM0):
        return "the driver domain"
    end = ends.get(point.partition(".")[0])
    return end.node if end and point.endswith(IN_NODE) else MACHINE
