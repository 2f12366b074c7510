"""Comparison of datasets or levels as sections, for the terminal and for a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from delaylab_study.analysis.claims.finding import Finding
from delaylab_study.analysis.compared.lines import LOST, OF_FAIR, ComparedLine
from delaylab_study.analysis.compared.many import Comparison
from delaylab_study.analysis.compared.measured import (
    AFTER_EVENT,
    AT_WORK,
    ROUND_TRIP,
    USER,
)
from delaylab_study.analysis.compared.two_sides import ComparedSides
from delaylab_study.analysis.group import in_words
from delaylab_study.charts import words
from delaylab_study.charts.levels import Curve, Dot, differences, rtt_curves
from delaylab_study.charts.numeric import ALL
from delaylab_study.charts.vega import Chart
from delaylab_study.papers.replicated import compared_claims
from delaylab_study.report import value as v
from delaylab_study.report import written
from delaylab_study.report.compared import ONCE, headline, named, note, verdicts

# Largest number of differences, and of lines without one, that a terminal shows.
SHOWN = 16
# Largest number of notes of one sort that it shows.
NOTES = 6
NO_DIFFERENCE = (
    "A difference of the size in the last column would have been seen in these data, in either "
    "direction. A smaller one may be there."
)
WORSE = ("slower", "more lost", "less")


def sections(found: Comparison) -> list[v.Section]:
    """Return the comparison of each side with the first: what differs, largest first, and doubts.

    On the page they follow a head, and drawings of all sides.
    """
    parts = [v.Section("", [v.Block([*_header(found)], "header")])]
    parts.append(v.Section("figures", [v.Lazy(lambda _: _drawn(found), on=v.PAGE)]))
    many = len(found.compared) > 1
    for number, each in enumerate(found.compared, start=1):
        first = [v.Line("", on=v.TERMINAL)] if number > 1 else []
        parts.append(v.Section(f"differences-{number}", [*first, *_compared(each, many=many)]))
    return parts


def title(found: Comparison) -> str:
    """Return the study's title."""
    record = found.sides[0].study.record
    return record.title or record.study


def _header(found: Comparison) -> Iterator[v.Part]:
    first, *others = found.sides
    yield v.Line("delaylab", style="brand")
    names = ", ".join(side.name for side in others)
    yield v.Heading(f"{title(found)}: {names} compared with {first.name}", 1)
    for side in found.sides:
        record = side.study.record
        machines = "".join(
            f"{label} ({dataset.cpu}, {dataset.cores} cores, {words.system(dataset.kernel)}), "
            for label, dataset in record.labelled.items()
        )
        created = record.created[:16].replace("T", " ")
        where = f": {side.study.directory}, on {machines}{created}"
        yield v.Line((v.Span(side.name, "strong"), where))


def _drawn(found: Comparison) -> Iterator[v.Part]:
    if charts := drawings(found):
        yield v.Heading("All on one axis", 2)
        yield v.Block([v.Charts(charts)], "charts")


def drawings(found: Comparison) -> list[Chart]:
    """Return the user RTTs of all sides on one axis, and the differences from the first."""
    factor = found.factor or "dataset"
    curves = [
        Curve(in_words(side.levels(group)) or ALL, side.short, group)
        for side in found.sides
        for group in side.groups
    ]
    dots = [
        Dot(in_words(line.pair.levels) or ALL, each.after.short, line.effect)
        for each in found.compared
        for line in each.lines
        if line.part.name == USER and line.statistic == "median"
    ]
    charts = (
        rtt_curves(curves, factor, "compared"),
        differences(dots, factor, found.sides[0].short, "differences", level="99 %"),
    )
    return [chart for chart in charts if chart is not None]


def _compared(found: ComparedSides, *, many: bool) -> Iterator[v.Part]:
    names = f"{found.after.name} against {found.before.name}"
    if found.before.factor:
        yield v.Line(names, "strong", on=v.TERMINAL)
    if found.once:
        yield v.Line(ONCE, "open", on=v.TERMINAL)
    yield from _claims(found)
    yield v.Line(headline(found), "strong", on=v.TERMINAL)
    if found.once:
        yield v.note((v.Span(ONCE, "strong"),))
    yield v.Heading(f"{names}: {headline(found)}" if many else headline(found), 2)
    for side, _ in named(found):
        machines = side.study.record.labelled.items()
        on = "; ".join(f"{label}, {each.kernel}" for label, each in machines)
        place = f"{side.study.directory}  ({on})"
        # With several datasets a side is named by its directory.
        said = place if side.name in place else f"{side.name:6}  {place}"
        yield v.Line(said, "faint", on=v.TERMINAL)
    yield v.note(note(found))
    yield from _lines(found)
    yield from _unlike(found)
    yield v.Heading("Doubts")
    for side, doubts in named(found):
        yield from _notes(f"doubt, {side.name}", [doubt.text for doubt in doubts])
        for doubt in doubts:
            undermines = ": it may be the cause of a difference" if doubt.undermines else ""
            trials = f"{doubt.trials} of {doubt.of} trials{undermines}"
            yield v.Noticed(doubt.kind, trials, about=side.name)
        if not doubts:
            yield v.note(f"No doubts about {side.name}.")


def _claims(found: ComparedSides) -> Iterator[v.Part]:
    """Yield the verdicts that changed, each with its effects, and the names of the others."""
    claims = compared_claims(found.before, found.after)
    if not claims:
        return
    changed = [each for each in claims if each.changed]
    yield v.Heading(verdicts(claims), 2)
    yield v.Line(verdicts(claims), "strong", on=v.TERMINAL)
    heads = (found.before.name, found.after.name)
    columns = (
        v.Column("claim", "text", long="fold", ratio=1),
        *(v.Column(head, "text", long="fold", ratio=1) for head in heads),
    )
    if changed:
        rows: list[v.Row] = [
            [each.claim, _verdict(each.before), _verdict(each.after)] for each in changed
        ]
        yield v.Table(columns, rows, "Verdicts that changed")
    same = [f"{each.claim} ({each.before.verdict})" for each in claims if not each.changed]
    if same:
        yield v.Line(f"the same: {', '.join(same)}", on=v.ALL)


def _verdict(found: Finding) -> v.Parts:
    effect = words.with_interval(
        found.effect, found.interval, found.unit, is_difference=found.is_difference
    )
    return (v.Span(found.verdict, "strong"), f"\n{effect}" if found.effect is not None else "")


def _lines(found: ComparedSides) -> Iterator[v.Part]:
    """Yield the lines that differ, largest first, then those that do not."""
    seen = [*found.seen]
    same = [line for line in found.lines if not line.differs]
    chief = [line for line in same if line.chief][:SHOWN]
    more = len(seen) - SHOWN
    rest = f" {more} smaller ones are in --json and --report." if more > 0 else ""
    if seen:
        title, caption = "Differences seen, largest first", f"{note(found)}{rest}"
        yield _table(found, seen[:SHOWN], v.TERMINAL, title, caption)
        yield _table(found, seen, v.PAGE)
    if chief:
        more = len(same) - len(chief)
        rest = f"{more} more lines without a difference are in --json and --report."
        yield _table(found, chief, v.TERMINAL, "No difference seen", rest if more else "")
    if same:
        yield v.Heading("No difference seen")
        yield v.note(NO_DIFFERENCE)
        yield _table(found, same, v.PAGE)


def _table(
    found: ComparedSides,
    lines: Sequence[ComparedLine],
    on: v.Forms,
    title: str = "",
    caption: str = "",
) -> v.Table:
    factor = found.before.factor
    ends = (found.before.short, found.after.short) if factor else ("before", "after")
    sides, shift = " → ".join(ends), "change [99 %]"
    verdict = "verdict" if lines[0].differs else "would have been seen from"
    columns = (
        v.Column("levels, quantity", "label", v.TERMINAL, ratio=2, long="fold"),
        v.Column(sides, on=v.WIDE),
        v.Column(shift, on=v.WIDE),
        v.Column("verdict", "label", v.WIDE, ratio=1),
        v.Column(f"{sides}, {shift}, verdict", "label", v.NARROW, ratio=3, long="fold"),
        *(v.Column(head, "flat", v.PAGE) for head in ("levels", "quantity", "statistic")),
        *(v.Column(head, on=v.PAGE) for head in (found.before.name, found.after.name, shift)),
        v.Column(verdict, "flat", v.PAGE),
    )
    return v.Table(columns, [_row(line) for line in lines], title, caption, on=on)


def _row(line: ComparedLine) -> v.Row:
    """Return a line of a comparison; a doubt names what undermines its verdict."""
    way = (
        ""
        if line.part.direction in (ROUND_TRIP, AT_WORK, AFTER_EVENT)
        else f", {line.part.direction}"
    )
    part = f"{line.part.name}{f' ({line.part.at})' if line.part.at else ''}{way}"
    statistic = "" if line.part == LOST else line.statistic
    levels = in_words(line.pair.levels) or "all trials"
    head = (v.Span(levels, "strong"), f"\n{part} {statistic}".rstrip())
    before, after, shift, sees = _values(line)
    values: v.Parts = (before, " → ", after)
    said: v.Parts
    page: v.Words = sees
    if line.differs:
        verdict = v.Span(line.verdict, "bad" if line.verdict in WORSE else "good")
        said, page = (verdict,), (verdict,)
        if line.pair.doubts:
            doubt = f"in doubt: {', '.join(line.pair.doubts)}"
            said = (verdict, v.Span(f"\n{doubt}", "open"))
            page = (verdict, v.Span("\n"), v.Span(doubt, "small"))
    else:
        said = ("no difference seen; a difference of ", sees, " would have been seen")
    folded = (*values, "\n", shift, "\n", *said)
    return [
        *(head, values, shift, said, folded),
        *(levels, part, statistic or "share", before, after, shift, page),
    ]


def _values(line: ComparedLine) -> list[v.Value]:
    """Return both sides, the change, and the least change that would have been seen."""
    value, difference, change = _hows(line)
    least = written.number(lambda sees: difference(sees).removeprefix("+"))
    return [
        v.Value("before", line.before, line.unit, how=value),
        v.Value("after", line.after, line.unit, how=value),
        v.Value("change", line.effect.value, line.unit, line.effect.interval, how=change),
        v.Value("would_have_seen", line.sees, line.unit, how=least),
    ]


def _hows(line: ComparedLine) -> tuple[written.How, Callable[[float], str], written.How]:
    """Return how a value, a difference, and a difference with its interval are written."""

    def of_points(share: float) -> str:
        return f"{written.points(share)} points"

    def of_rate(per_second: float) -> str:
        return written.signed_rate(per_second, line.unit)

    if line.part == LOST:
        return written.percent(".2f"), of_points, written.between(written.points, " points")
    if not line.of_work:
        return written.number(words.delay), words.signed, written.change
    if line.unit == OF_FAIR:
        return written.percent(".1f"), of_points, written.between(of_points)
    return written.rate, of_rate, written.between(of_rate)


def _unlike(found: ComparedSides) -> Iterator[v.Part]:
    """Yield what is not alike in the circumstances of the two sides, and what was not compared."""
    alike = [[each.name, each.before, each.after] for each in found.circumstances]
    yield from _notes("not alike", [f"{name}: {one} → {two}" for name, one, two in alike])
    yield from _notes("not compared", found.unlike)
    if alike:
        heads = ("circumstance", found.before.name, found.after.name)
        yield v.Heading("What is not alike")
        yield v.Table([v.Column(head, "flat") for head in heads], alike, on=v.PAGE)
    if found.unlike:
        yield v.Heading("Not compared")
        yield v.Items(found.unlike)


def _notes(name: str, texts: Sequence[str]) -> Iterator[v.Line]:
    for text in texts[:NOTES]:
        yield v.Line((v.Span(name, "open"), f" {text}"), on=v.TERMINAL)
    if len(texts) > NOTES:
        more = f"  and {len(texts) - NOTES} more in --json and --report"
        yield v.Line(more, "faint", on=v.TERMINAL)
