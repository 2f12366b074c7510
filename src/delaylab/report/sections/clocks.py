"""Alignment of guests' clocks."""

from __future__ import annotations

from dataclasses import dataclass, replace

from delaylab.analysis.clocks.align import ClockPair
from delaylab.analysis.clocks.check import ClockCheck
from delaylab.analysis.clocks.fit import FitPart
from delaylab.analysis.clocks.least_squares import LeastSquares
from delaylab.analysis.clocks.stated import Stated
from delaylab.analysis.doubts.clocks import MACHINE, TrialClocks
from delaylab.analysis.group import Group
from delaylab.charts import words
from delaylab.dataset.records.trial import TrialRecord
from delaylab.io.values import Json, JsonObject
from delaylab.report.sections.section import Html, Report

# Largest number of rows that the page shows before a reader unfolds the rest.
SHOWN = 12


@dataclass(frozen=True, slots=True)
class ClockRow:
    """Pair of clocks in one stretch of a trial between steps, or the reason why not aligned."""

    trial: str
    clocks: str
    why: str
    drift: str = ""
    change: str = ""
    bound: str = ""
    residual: str = ""
    squares: str = ""
    reading: str = ""
    stated: str = ""


@dataclass(frozen=True, slots=True)
class Clocks:
    """Section on clocks: one line on all trials, then row by row."""

    summary: str
    rows: list[ClockRow]

    @property
    def many(self) -> bool:
        """Return True if there are too many rows to show at once."""
        return len(self.rows) > SHOWN

    @property
    def stated(self) -> bool:
        """Return True if time synchronisation states a bound on clocks of some row."""
        return any(row.stated for row in self.rows)


def trial_json(trial: TrialRecord, group: Group | None) -> JsonObject:
    """Return how the trial's clocks were aligned."""
    found = group.packets.clocks if group and group.packets else []
    return {"clocks": [pair_json(each, hop) for each in found for hop in each.alignment.hops]}


def html(report: Report) -> Html:
    """Return the alignment of clocks, clock by clock."""
    return Html({"found": clocks(report.groups)})


def clocks(groups: list[Group]) -> Clocks | None:
    """Return the section on trials with more than one clock, None if there are none."""
    labelled = [
        (group.label_of(trial.trial), trial)
        for group in groups
        if group.packets
        for trial in group.packets.clocks
    ]
    if not labelled:
        return None
    rows = [
        row
        for label, trial in labelled
        for hop in trial.alignment.hops
        for row in pair_rows(label, trial, hop)
    ]
    return Clocks(_summary([trial for _, trial in labelled]), rows)


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


def pair_rows(label: str, trial: TrialClocks, hop: ClockPair) -> list[ClockRow]:
    """Return the rows of a pair of clocks: one for each stretch between steps, at least one."""
    fit, name = hop.fit, trial.between(hop).removesuffix(f" against {MACHINE}")
    if not fit.parts:
        return [ClockRow(label, name, fit.why)]
    pair = {fit.clock, fit.reference}
    check = next((c for c in trial.checks if {c.clock, c.reference} == pair), None)
    symmetric = " (stated symmetry)" if hop.symmetric_ns is not None else ""
    stated = _stated(trial, hop)
    return [
        replace(
            _row(label, name, part),
            bound=f"± {words.delay(part.bound_ns / 1000)}{symmetric}",
            reading=_reading(check),
            stated=_beside(stated, part) if stated else "",
        )
        for part in fit.parts
    ]


def _stated(trial: TrialClocks, hop: ClockPair) -> Stated | None:
    """Return what time synchronisation states of a pair of clocks, None if it states nothing."""
    return trial.stated.get(frozenset((hop.near, hop.far)))


def _row(trial: str, name: str, part: FitPart) -> ClockRow:
    lasted = (part.end_ns - part.start_ns) / 1e9
    return ClockRow(
        trial,
        name,
        "",
        drift=_ppm(part.line.drift_ppm),
        change=f"{words.signed(part.line.drift_ppm * lasted)} in {lasted:.1f} s",
        residual=words.delay(None if part.residual_ns is None else part.residual_ns / 1000),
        squares=_squares(part),
    )


def _beside(stated: Stated, part: FitPart) -> str:
    """Return the bound that is stated, and whether the offset of a part is within it."""
    offset = words.signed(part.line.ahead(part.start_ns) / 1000)
    programs = " and ".join(dict.fromkeys(each.program for each in stated.by))
    verdict = "within" if stated.holds(part) else "outside"
    return f"± {words.delay(stated.bound_ns / 1000)} by {programs}; offset {offset}: {verdict}"


def _squares(part: FitPart) -> str:
    if part.squares is None or part.apart_ns is None:
        return "too few packets at rest"
    apart = f"{words.delay(part.apart_ns / 1000)} apart"
    if not part.disagree:
        return f"within the bound, {apart}"
    line = _ppm(part.squares.line.drift_ppm)
    return f"outside the bound: {line}, {apart}"


def _reading(check: ClockCheck | None) -> str:
    if check is None:
        return "not read"
    verdict = "agrees" if check.agrees else "disagrees"
    off = f"{words.signed(check.error_ns / 1000)} ± {words.delay(check.within_ns / 1000)}"
    return f"{verdict}: {off} (n {check.n})"


def _ppm(drift: float) -> str:
    return f"{drift:+.2f} ppm".replace("-", "−")


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
