"""Differences that each level of each factor makes: what does LXC add to native?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from math import isfinite

from delaylab.api.files import JsonObject
from delaylab_study.analysis.compared.levels import APART, Contrast, FactorLevels, Mean
from delaylab_study.analysis.group import in_words
from delaylab_study.analysis.statistics.effects import Effect
from delaylab_study.analysis.statistics.needs import Needs
from delaylab_study.charts.levels import factor_charts
from delaylab_study.charts.numeric import ALL
from delaylab_study.report import value as v
from delaylab_study.report import written
from delaylab_study.report.sections.section import Report, interval

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
Levels = frozenset[tuple[str, str]]
"""Levels of factors, each with its factor."""

OPENED = 12
"""The largest number of rows that the page shows at once."""


def section(report: Report) -> v.Section:
    """Return a table of each factor, and its drawings."""
    parts = [part for of in report.levels for part in _factor(of, report)]
    return v.Section(
        "levels", [v.Heading("What each level adds", 2), v.note(NOTE), *parts] if parts else []
    )


def _factor(of: FactorLevels, report: Report) -> Iterator[v.Part]:
    takes = _takes(of, report)
    said, means = _said(of), _means(of, takes)
    each = {level: _scenarios(of, level, takes) for level in of.levels}
    every = [row for level, rows in each.items() for row in [*rows, *means.get(level, [])]]
    summed = [row for level, rows in each.items() for row in means.get(level, rows)]
    columns = (
        v.Column(of.factor, "text", long="fold", key="level"),
        v.Column("other levels", "text", long="fold", key="levels"),
        v.Column(f"median, {of.reference}", on=v.PAGE),
        v.Column("median", on=v.PAGE),
        v.Column("difference of medians [95 %]", on=v.PAGE),
        v.Column("difference of p99 [95 %]", on=v.PAGE),
        v.Column("median [95 %]", on=v.TERMINAL),
        v.Column("p99 [95 %]", on=v.TERMINAL),
    )
    yield v.Heading(f"{of.factor}: each level against {of.reference}")
    yield v.note(said)
    yield v.Lazy(lambda _: [v.Charts(factor_charts(of, report.probed), titled=False)], on=v.PAGE)
    title = f"Levels of {of.factor}, against {of.reference}"
    yield v.Table(columns, summed, title, f"{NOTE} {said}", on=v.TERMINAL)
    share = (v.Value("factor", of.factor), v.Value("reference", of.reference))
    table = v.Table(columns, every, key="levels", share=share)
    yield v.unfolded("Each difference", [table], opened=len(every) <= OPENED)


@dataclass(frozen=True, slots=True)
class _Takes:
    """The packets that the p99 of each combination of levels takes, if too few carry it."""

    reference: Levels
    known: Mapping[Levels, Needs]

    def of(self, factor: str, found: Contrast) -> Needs | None:
        """Return what the difference of a contrast takes: the side that needs more."""
        level = frozenset({(factor, found.level), *found.scenario.items()})
        before = frozenset({*self.reference, *found.scenario.items()})
        return _most(self.known.get(each) for each in (level, before))


def _takes(of: FactorLevels, report: Report) -> _Takes:
    known = {
        frozenset(group.factors.items()): group.rtt["app"].p99.needs
        for group in report.probed
        if "app" in group.rtt
    }
    return _Takes(
        frozenset({(of.factor, of.reference)}),
        {levels: found for levels, found in known.items() if found is not None},
    )


def _most(found: Iterable[Needs | None]) -> Needs | None:
    known = [each for each in found if each is not None]
    return max(known, key=lambda each: each.packets, default=None)


def _scenarios(of: FactorLevels, level: str, takes: _Takes) -> list[v.Row]:
    """Return the rows of a level, one for each scenario."""
    pairs = zip(of.of(level, "median"), of.of(level, "p99"), strict=True)
    return [_row(median, p99, takes.of(of.factor, p99)) for median, p99 in pairs]


def _row(median: Contrast, p99: Contrast, takes: Needs | None) -> v.Row:
    doubts = "; ".join(median.doubts)
    shift, tail = _change(median, median.doubts), _change(p99, needs=takes)
    doubted = (v.Span("\n"), v.Span(f"in doubt: {doubts}", "small")) if doubts else ()
    delays = (
        v.Value("median_before_us", median.before, "us"),
        v.Value("median_after_us", median.after, "us"),
    )
    scenario = in_words(median.scenario) or ALL
    return [median.level, scenario, *delays, (shift, *doubted), (tail,), (shift,), (tail,)]


def study_json(report: Report) -> JsonObject:
    """Return what each level of each factor adds to the user RTT, in µs."""
    return {"levels": [_json(of) for of in report.levels]}


def _given(statistic: str, effect: Effect) -> bool:
    """Return True unless too few independent packets carry a tail quantile."""
    return statistic == "median" or isfinite(effect.interval[0])


def _change(
    found: Contrast | Mean, doubts: tuple[str, ...] = (), needs: Needs | None = None
) -> v.Value:
    """Return a difference of a statistic; None if too few independent packets carry it."""
    key, effect = f"{found.statistic}_change_us", found.effect
    if not _given(found.statistic, effect):
        return v.Value(key, None, "us", v.UNKNOWN, needs=needs)
    return v.Value(key, effect.value, "us", effect.interval, doubts, written.change)


def _means(of: FactorLevels, takes: _Takes) -> dict[str, list[v.Row]]:
    """Return the row of the mean of each level that has more than one scenario."""
    by = {(mean.level, mean.statistic): mean for mean in of.means}
    found: dict[str, list[v.Row]] = {}
    for level in of.levels:
        median = by.get((level, "median"))
        if median is not None and median.scenarios > 1:
            most = _most(takes.of(of.factor, each) for each in of.of(level, "p99"))
            shifts = [
                (_change(by[level, "median"]),),
                (_change(by[level, "p99"], needs=most),),
            ]
            found[level] = [[level, f"{MEAN} {median.scenarios}", "", "", *shifts, *shifts]]
    return found


def _said(of: FactorLevels) -> str:
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
                "level": contrast.level,
                "levels": dict(contrast.scenario),
                "statistic": contrast.statistic,
                "unit": "us",
                "before": contrast.before if _given(contrast.statistic, contrast.effect) else None,
                "after": contrast.after if _given(contrast.statistic, contrast.effect) else None,
                "change": contrast.effect.value
                if _given(contrast.statistic, contrast.effect)
                else None,
                "interval": interval(contrast.effect.interval),
                "blocks": contrast.blocks,
                "doubts": list(contrast.doubts),
            }
            for contrast in of.contrasts
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
