"""Differences that each level of each factor makes: what does LXC add to native?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import isfinite

from rich.table import Table
from rich.text import Text

from delaylab.analysis.compared.levels import APART, Contrast, FactorLevels, Mean
from delaylab.analysis.group import in_words
from delaylab.analysis.statistics.effects import Effect
from delaylab.charts import words
from delaylab.charts.levels import factor_charts
from delaylab.charts.numeric import ALL
from delaylab.io.values import JsonObject
from delaylab.report.sections.section import Html, Report, interval

NOTE = (
    "Difference of the user RTT (round trip): each level − the reference level, all other levels "
    "alike, with its 95 % interval."
)
PAIRED = "Trials of one block are compared with each other, so that drift of the machine cancels."
ONCE = (
    "There are fewer than three blocks, so trials are not paired. With one trial of each level the "
    "intervals leave out how much repeated trials differ (`repeat` in the study file)."
)
MEAN = "mean of all"


@dataclass(frozen=True, slots=True)
class LevelRow:
    """Line of the table of a factor: a level in one scenario, or on average over all."""

    level: str
    scenario: str
    before: str
    after: str
    median: str
    p99: str
    doubts: str = ""


def terminal(report: Report, width: int) -> Iterator[Table | Text]:
    """Yield a table for each factor: each level on average, or in its scenarios without a mean."""
    for of in report.levels:
        table = Table(
            title=f"Levels of {of.factor}, against {of.reference}",
            caption=Text(f"{NOTE} {_note(of)}", "dim italic"),
            title_justify="left",
            caption_justify="left",
        )
        table.add_column(of.factor, overflow="fold")
        table.add_column("other levels", overflow="fold")
        table.add_column("median [95 %]", justify="right")
        table.add_column("p99 [95 %]", justify="right")
        for row in _summed(of):
            table.add_row(row.level, row.scenario, row.median, row.p99)
        yield table


def study_json(report: Report) -> JsonObject:
    """Return what each level of each factor adds to the user RTT, in µs."""
    return {"levels": [_json(of) for of in report.levels]}


def html(report: Report) -> Html:
    """Return a table of each factor, and its drawings."""
    charts = {of.factor: factor_charts(of, report.probed) for of in report.levels}
    parts = [
        {"of": of, "rows": rows(of), "note": _note(of), "charts": charts[of.factor]}
        for of in report.levels
    ]
    drawings = [chart for each in charts.values() for chart in each]
    return Html({"parts": parts, "note": NOTE}, drawings)


def rows(of: FactorLevels) -> list[LevelRow]:
    """Return all lines of a factor's table: each level in each scenario, then on average."""
    found = []
    for level in of.levels:
        pairs = zip(of.of(level, "median"), of.of(level, "p99"), strict=True)
        found += [_row(median, p99) for median, p99 in pairs]
        found += [mean for mean in _means(of) if mean.level == level]
    return found


def _summed(of: FactorLevels) -> list[LevelRow]:
    """Return one line for each level: its mean, or else all of its scenarios."""
    means = {row.level: row for row in _means(of)}
    found = []
    for level in of.levels:
        found += [means[level]] if level in means else [r for r in rows(of) if r.level == level]
    return found


def _row(median: Contrast, p99: Contrast) -> LevelRow:
    return LevelRow(
        median.level,
        in_words(median.scenario) or ALL,
        words.delay(median.before),
        words.delay(median.after),
        words.shift(median.effect),
        _tail(p99.effect),
        "; ".join(median.doubts),
    )


def _given(statistic: str, effect: Effect) -> bool:
    """Return True unless too few independent packets carry a tail quantile."""
    return statistic == "median" or isfinite(effect.interval[0])


def _tail(effect: Effect) -> str:
    """Write a difference of p99, or a dash if too few independent packets carry one."""
    return words.shift(effect) if isfinite(effect.interval[0]) else "–"


def _means(of: FactorLevels) -> Iterator[LevelRow]:
    """Yield the mean of each level that has more than one scenario."""
    by_statistic = {(mean.level, mean.statistic): mean for mean in of.means}
    for level in of.levels:
        if (level, "median") not in by_statistic:
            continue
        median, p99 = by_statistic[level, "median"], by_statistic[level, "p99"]
        if median.scenarios > 1:
            shifts = words.shift(median.effect), _tail(p99.effect)
            yield LevelRow(level, f"{MEAN} {median.scenarios}", "", "", *shifts)


def _note(of: FactorLevels) -> str:
    """Return how the trials of a factor's levels were compared, and which levels were not."""
    paired = any(contrast.blocks for contrast in of.contrasts)
    averaged = {mean.level for mean in of.means}
    no_mean = [level for level in of.levels if level not in averaged]
    apart = (
        f" No mean for {', '.join(no_mean)}: its cells differ by {APART:.0f} times or more."
        if no_mean
        else ""
    )
    alone = (
        f" Not compared, since no trial differs in the {of.factor} alone: {', '.join(of.alone)}."
    )
    return f"{PAIRED if paired else ONCE}{apart}{alone if of.alone else ''}"


def _json(of: FactorLevels) -> JsonObject:
    return {
        "factor": of.factor,
        "reference": of.reference,
        "differences": [
            {
                "level": each.level,
                "levels": dict(each.scenario),
                "statistic": each.statistic,
                "unit": "us",
                "before": each.before if _given(each.statistic, each.effect) else None,
                "after": each.after if _given(each.statistic, each.effect) else None,
                "change": each.effect.value if _given(each.statistic, each.effect) else None,
                "interval": interval(each.effect.interval),
                "blocks": each.blocks,
                "doubts": list(each.doubts),
            }
            for each in of.contrasts
        ],
        "not_compared": list(of.alone),
        "numbers": asdict(of.numbers) if of.numbers else None,
        "means": [_mean_json(mean) for mean in of.means],
    }


def _mean_json(mean: Mean) -> JsonObject:
    return {
        "level": mean.level,
        "statistic": mean.statistic,
        "unit": "us",
        "change": mean.effect.value if _given(mean.statistic, mean.effect) else None,
        "interval": interval(mean.effect.interval),
        "scenarios": mean.scenarios,
        "blocks": mean.blocks,
    }
