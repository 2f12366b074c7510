"""Alignment of guests' clocks."""

from __future__ import annotations

from delaylab.api.files import Json, JsonObject
from delaylab_study.analysis.clocks.align import ClockPair
from delaylab_study.analysis.clocks.check import ClockCheck
from delaylab_study.analysis.clocks.fit import FitPart
from delaylab_study.analysis.clocks.least_squares import LeastSquares
from delaylab_study.analysis.clocks.stated import Stated
from delaylab_study.analysis.doubts.clocks import MACHINE, TrialClocks
from delaylab_study.analysis.group import Group
from delaylab_study.charts import words
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.report import value as v
from delaylab_study.report import written
from delaylab_study.report.sections.section import Report

# Largest number of rows that the page shows before a reader unfolds the rest.
SHOWN = 12


NOTE = (
    "Stamps of guests with a clock of their own are given in the sender's clock. The line between "
    "two clocks is the middle of all lines on which no packet arrives before it was sent "
    "(two-sided convex hulls); the bound is the most that it can be off, and goes with every "
    "one-way delay between the two. Beside it the paper's way, least squares through packets at "
    "rest, and clocks that were read at the same moment. Round trips need one clock and no "
    "alignment."
)
STATED = (
    " chrony states the largest error of a machine's clock against the time that it follows (RFC "
    "5905). The table has the sum of both machines' errors, and the offset between the two clocks "
    "that the probes measured. Outside: the offset is larger than the sum and the bound together, "
    "so that the machines follow different times, or chrony is wrong. The bounds do not use what "
    "chrony states."
)


def section(report: Report) -> v.Section:
    """Return how clocks were aligned, clock by clock, if trials have more than one."""
    found = [
        (group.label_of(trial.trial), trial)
        for group in report.groups
        if group.packets
        for trial in group.packets.clocks
    ]
    if not found:
        return v.Section("clocks", [])
    rows = [
        row
        for label, trial in found
        for hop in trial.alignment.hops
        for row in pair_rows(label, trial, hop)
    ]
    hops = [(trial, hop) for _, trial in found for hop in trial.alignment.hops if hop.fit.parts]
    stated = any(_stated(*each) for each in hops)
    table = v.Table(columns(stated=stated), rows, key="clocks")
    parts = [
        v.Heading("Clocks", 2),
        v.note(NOTE + (STATED if stated else "")),
        v.Line(f"{_summary([trial for _, trial in found])}."),
        v.unfolded("Clock by clock", [table], when=len(rows) > SHOWN),
    ]
    return v.Section("clocks", parts)


def columns(*, stated: bool) -> tuple[v.Column, ...]:
    """Return the columns of the table of clocks; `stated` is True if something is stated of one."""
    return (
        v.Column("trial", "label", key="trials"),
        v.Column("clock, against the machine's", "text"),
        *map(v.Column, ("drift", "offset changed by", "bound")),
        v.Column(
            "stated by time synchronisation", "text", v.ALL if stated else (), key="time_sync"
        ),
        v.Column("residual (RMS)"),
        v.Column("least squares", "text", key="least_squares"),
        v.Column("clocks read directly", "text", key="checks"),
    )


def trial_json(trial: TrialRecord, group: Group | None) -> JsonObject:
    """Return how the trial's clocks were aligned."""
    found = group.packets.clocks if group and group.packets else []
    return {"clocks": [pair_json(each, hop) for each in found for hop in each.alignment.hops]}


def _summary(trials: list[TrialClocks]) -> str:
    fits = [hop.fit for trial in trials for hop in trial.alignment.hops]
    aligned = [fit for fit in fits if fit.parts]
    parts = [part for fit in aligned for part in fit.parts]
    said = [f"{len(aligned)} of {len(fits)} pairs of clocks aligned"]
    if parts:
        drifts = sorted(abs(part.line.drift_ppm) for part in parts)
        bound = max(fit.bound_ns for fit in aligned) / 1000
        apart = sum(part.disagree for part in parts)
        said += [
            f"drift {drifts[0]:.1f} to {drifts[-1]:.1f} ppm",
            f"largest bound ± {words.delay(bound)}",
            f"least squares outside the bound in {apart} of {len(parts)}",
        ]
    found = [check for trial in trials for check in trial.checks]
    if found:
        agree = sum(check.agrees for check in found)
        said.append(f"clocks read directly agree in {agree} of {len(found)}")
    beside = [
        what.holds(part)
        for trial in trials
        for hop in trial.alignment.hops
        if (what := _stated(trial, hop)) is not None
        for part in hop.fit.parts
    ]
    if beside:
        said.append(
            f"offset within what time synchronisation states in {sum(beside)} of {len(beside)}"
        )
    return "; ".join(said)


def pair_rows(label: str, trial: TrialClocks, hop: ClockPair) -> list[v.Row]:
    """Return the rows of a pair of clocks: one for each stretch between steps, at least one."""
    fit, between = hop.fit, trial.between(hop)
    name = (
        v.Value("between", between, how=written.said(between.removesuffix(f" against {MACHINE}"))),
        *v.unseen(*v.values({"clock": fit.clock, "reference": fit.reference})),
    )
    if not fit.parts:
        return [[label, name, f"not aligned: {fit.why}", *[None] * 6]]
    pair = {fit.clock, fit.reference}
    check = next((c for c in trial.checks if {c.clock, c.reference} == pair), None)
    symmetric = " (stated symmetry)" if hop.symmetric_ns is not None else ""
    stated = _stated(trial, hop)
    return [
        [
            label,
            name,
            v.Value("drift_ppm", part.line.drift_ppm, "ppm"),
            _change(part),
            ("± ", v.Value("bound_ns", part.bound_ns, "ns"), symmetric),
            _beside(stated, part),
            v.Value("residual_ns", part.residual_ns, "ns"),
            _squares(part),
            _reading(check),
        ]
        for part in fit.parts
    ]


def _stated(trial: TrialClocks, hop: ClockPair) -> Stated | None:
    """Return what time synchronisation states of a pair of clocks, None if it states nothing."""
    return trial.stated.get(frozenset((hop.near, hop.far)))


def _change(part: FitPart) -> v.Words:
    lasted = (part.end_ns - part.start_ns) / 1e9
    return (
        v.Value("changed_us", part.line.drift_ppm * lasted, "us", how=written.signed),
        *(" in ", v.Value("lasted_s", lasted, "s", how=written.fixed(".1f")), " s"),
        *v.unseen(*v.values({"start_ns": part.start_ns, "end_ns": part.end_ns}, "ns")),
    )


def _beside(stated: Stated | None, part: FitPart) -> v.Words:
    """Return the bound that is stated, and whether the offset of a part is within it."""
    bound = v.Value("time_sync_bound_ns", stated.bound_ns if stated else None, "ns")
    offset = v.Value("offset_ns", part.line.ahead(part.start_ns), "ns", how=written.signed)
    if stated is None:
        return ("nothing", *v.unseen(bound, offset))
    programs = " and ".join(dict.fromkeys(each.program for each in stated.by))
    verdict = "within" if stated.holds(part) else "outside"
    return ("± ", bound, f" by {programs}; offset ", offset, f": {verdict}")


def _squares(part: FitPart) -> v.Words:
    apart = v.Value("apart_ns", part.apart_ns, "ns")
    drift_ppm = part.squares.line.drift_ppm if part.squares else None
    drift = v.Value("least_squares_drift_ppm", drift_ppm, "ppm")
    if part.squares is None or part.apart_ns is None:
        return ("too few packets at rest", *v.unseen(drift, apart))
    if not part.disagree:
        return ("within the bound, ", apart, " apart", *v.unseen(drift))
    return ("outside the bound: ", drift, ", ", apart, " apart")


def _reading(check: ClockCheck | None) -> v.Words:
    error_ns, within_ns, count = (
        (check.error_ns, check.within_ns, check.n) if check else (None, None, None)
    )
    error = v.Value("check_error_ns", error_ns, "ns", how=written.signed)
    within = v.Value("check_within_ns", within_ns, "ns")
    n = v.Value("check_n", count)
    if check is None:
        return ("not read", *v.unseen(error, within, n))
    said = "agrees: " if check.agrees else "disagrees: "
    return (said, error, " ± ", within, " (n ", n, ")")


def pair_json(trial: TrialClocks, hop: ClockPair) -> JsonObject:
    """Return how a pair of clocks was aligned.

    `time_sync` is there if time synchronisation states a bound of one of the two.
    """
    fit, stated = hop.fit, _stated(trial, hop)
    found: dict[str, Json] = {
        "clock": fit.clock,
        "reference": fit.reference,
        "between": trial.between(hop),
        "aligned": bool(fit.parts),
        "why": fit.why,
        "bound_us": fit.bound_ns / 1000 if fit.parts else None,
        "parts": [_part(part) for part in fit.parts],
        "steps": [
            {"time_ns": c.time_ns, "size_us": c.size_ns / 1000, "certain": c.kind == "step"}
            for c in fit.changes
            if c.kind != "slew"
        ],
        "slews": [
            {"time_ns": c.time_ns, "rate_ppm": c.rate_ppm} for c in fit.changes if c.kind == "slew"
        ],
        "tick_us": {name: tick / 1000 for name, tick in trial.alignment.ticks.items()},
        "checks": [
            {"n": c.n, "error_us": c.error_ns / 1000, "within_us": c.within_ns / 1000}
            | {"agrees": c.agrees}
            for c in trial.checks
            if {c.clock, c.reference} == {fit.clock, fit.reference}
        ],
    }
    if stated:
        found["time_sync"] = _stated_json(stated, fit.parts)
    return found


def _stated_json(stated: Stated, parts: list[FitPart]) -> JsonObject:
    return {
        "bound_us": stated.bound_ns / 1000,
        "within": all(stated.holds(part) for part in parts) if parts else None,
        "by": [each.model_dump() for each in stated.by],
    }


def _part(part: FitPart) -> JsonObject:
    squares = part.squares
    return {
        "start_ns": part.start_ns,
        "end_ns": part.end_ns,
        "offset_ns": part.line.ahead(part.start_ns),
        "drift_ppm": part.line.drift_ppm,
        "bound_us": part.bound_ns / 1000,
        "residual_us": _known(part.residual_ns),
        "least_squares": _squares_json(part, squares) if squares else None,
    }


def _squares_json(part: FitPart, squares: LeastSquares) -> JsonObject:
    return {
        "offset_ns": squares.line.ahead(part.start_ns),
        "drift_ppm": squares.line.drift_ppm,
        "residual_us": _known(squares.residual_ns),
        "apart_us": _known(part.apart_ns),
        "outside_the_bound": part.disagree,
    }


def _known(ns: float | None) -> float | None:
    return None if ns is None else ns / 1000
