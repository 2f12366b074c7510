"""Alignment of guests' clocks."""

from __future__ import annotations

from dataclasses import dataclass

from delaylab.analysis.clocks.align import ClockPair
from delaylab.analysis.clocks.check import Check
from delaylab.analysis.clocks.fit import Part
from delaylab.analysis.clocks.least_squares import LeastSquares
from delaylab.analysis.doubts.clocks import MACHINE, TrialClocks
from delaylab.analysis.group import Group
from delaylab.charts import words
from delaylab.dataset.records.trial import TrialRecord
from delaylab.io.values import JsonObject
from delaylab.report.sections.section import Html, Report

# Largest number of rows that the page shows before a reader unfolds the rest.
SHOWN = 12


@dataclass(frozen=True, slots=True)
class Row:
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


@dataclass(frozen=True, slots=True)
class Clocks:
    """Section on clocks: one line on all trials, then row by row."""

    summary: str
    rows: list[Row]

    @property
    def many(self) -> bool:
        """Return True if there are too many rows to show at once."""
        return len(self.rows) > SHOWN


def trial_json(trial: TrialRecord, group: Group | None) -> JsonObject:
    """Return how the trial's clocks were aligned."""
    found = group.packets.clocks if group and group.packets else []
    return {"clocks": [_json(each, hop) for each in found for hop in each.alignment.hops]}


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
        for row in _rows(label, trial, hop)
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
    return "; ".join(said)


def _rows(label: str, trial: TrialClocks, hop: ClockPair) -> list[Row]:
    fit, name = hop.fit, trial.between(hop).removesuffix(f" against {MACHINE}")
    if not fit.parts:
        return [Row(label, name, fit.why)]
    pair = {fit.clock, fit.reference}
    check = next((c for c in trial.checks if {c.clock, c.reference} == pair), None)
    stated = hop.symmetric_ns is not None
    return [_row(label, name, part, check, stated=stated) for part in fit.parts]


def _row(trial: str, name: str, part: Part, check: Check | None, *, stated: bool) -> Row:
    lasted = (part.end_ns - part.start_ns) / 1e9
    return Row(
        trial,
        name,
        "",
        drift=_ppm(part.line.drift_ppm),
        change=f"{words.signed(part.line.drift_ppm * lasted)} in {lasted:.1f} s",
        bound=f"± {words.delay(part.bound_ns / 1000)}" + " (stated symmetry)" * stated,
        residual=words.delay(None if part.residual_ns is None else part.residual_ns / 1000),
        squares=_squares(part),
        reading=_reading(check),
    )


def _squares(part: Part) -> str:
    if part.squares is None or part.apart_ns is None:
        return "too few packets at rest"
    apart = f"{words.delay(part.apart_ns / 1000)} apart"
    if not part.disagree:
        return f"within the bound, {apart}"
    line = _ppm(part.squares.line.drift_ppm)
    return f"outside the bound: {line}, {apart}"


def _reading(check: Check | None) -> str:
    if check is None:
        return "not read"
    verdict = "agrees" if check.agrees else "disagrees"
    off = f"{words.signed(check.error_ns / 1000)} ± {words.delay(check.within_ns / 1000)}"
    return f"{verdict}: {off} (n {check.n})"


def _ppm(drift: float) -> str:
    return f"{drift:+.2f} ppm".replace("-", "−")


def _json(trial: TrialClocks, hop: ClockPair) -> JsonObject:
    fit = hop.fit
    return {
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


def _part(part: Part) -> JsonObject:
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


def _squares_json(part: Part, squares: LeastSquares) -> JsonObject:
    return {
        "offset_ns": squares.line.ahead(part.start_ns),
        "drift_ppm": squares.line.drift_ppm,
        "residual_us": _known(squares.residual_ns),
        "apart_us": _known(part.apart_ns),
        "outside_the_bound": part.disagree,
    }


def _known(ns: float | None) -> float | None:
    return None if ns is None else ns / 1000
