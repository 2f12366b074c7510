"""Packets that the use of the sender's machine may have biased, and the estimate without them."""

from __future__ import annotations

from collections.abc import Iterator

from delaylab.api.verdicts import BIAS_RULE
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.over_time.clean import Between, CleanSeen
from delaylab_study.charts import words
from delaylab_study.report import value as v
from delaylab_study.report import written
from delaylab_study.report.sections.section import Report, quantile

NOTE = (
    "A packet is biased, and refused, if one of these holds, and clean if not: "
    + "; ".join(BIAS_RULE.values())
    + ". No delay decides. Packets on schedule are those of all other sections. For those that "
    "were refused others were sent again, when the machine was not in use. User RTTs (round trip) "
    "are medians with their 95 % intervals. Clean packets are of the times at which the machine "
    "was clean: the time between them says how waiting changed the sampling."
)
ENDS = {
    "budget": "the budget was used up",
    "deadline": "the deadline came first",
    "unknown": "the use of the machine was not known",
}
COLUMNS = (
    v.Column("levels", "label", key="levels"),
    *map(v.Column, ("kept", "refused", "sent again", "clean median", "raw median")),
    *map(
        v.Column, ("on schedule", "again", "clean time", "between raw (longest)", "between clean")
    ),
)


def section(report: Report) -> v.Section:
    """Return packets kept and refused, and the medians with and without those refused."""
    found = [(group.label, seen) for group in report.groups if (seen := seen_in(group))]
    if not found:
        return v.Section("clean", [])
    lines = [
        v.Line(f"{label}: {line}", tone, on=v.TERMINAL)
        for label, seen in found
        for line, tone in _lines(seen)
    ]
    page = [
        v.Heading("Clean and biased packets", 2),
        v.note(NOTE),
        v.Table(COLUMNS, [_row(*each) for each in found], key="clean", on=v.PAGE),
        *(v.note(f"{label}: {line}") for label, seen in found for line in _short(seen)),
    ]
    return v.Section("clean", [*lines, *page])


def seen_in(group: Group) -> CleanSeen | None:
    """Return what the machine's use says of a group's packets, None if it was not judged."""
    return group.packets.clean if group.packets else None


def _lines(seen: CleanSeen) -> Iterator[tuple[str, v.Tone]]:
    why = ", ".join(f"{reason} {n}" for reason, n in seen.refused_for.items())
    unknown = f", {seen.unknown} not known" if seen.unknown else ""
    yield (
        f"clean: {seen.kept} packets kept, {seen.refused} refused{f' ({why})' if why else ''}"
        f"{unknown}; {seen.again} of at most {seen.budget} sent again",
        "",
    )
    clean, raw = (words.quantile(each.median) for each in (seen.clean, seen.raw))
    yield f"median user RTT: clean {clean} (n={seen.clean.n}), raw {raw} (n={seen.raw.n})", ""
    share = "an unknown share" if seen.share_of_time is None else words.share(seen.share_of_time)
    yield (
        f"the machine was clean for {share} of the time; packets every {_words(seen.every_raw)}, "
        f"clean ones every {_words(seen.every_clean)}; waited {words.seconds(seen.waited_s)}",
        "faint",
    )
    yield from ((line, "open") for line in _short(seen))


def _short(seen: CleanSeen) -> Iterator[str]:
    """Yield the reasons why some trials have fewer clean packets than were asked for."""
    for end, trials in seen.ended_by.items():
        if end in ENDS:
            which = "in one trial" if trials == 1 else f"in {trials} trials"
            yield f"{which} fewer clean packets than asked for: {ENDS[end]}"


def _words(between: Between | None) -> str:
    if between is None:
        return "–"
    return f"{between.median:.0f} ms (90 %: {between.p90:.0f}, longest {between.longest:.0f} ms)"


def _row(label: str, seen: CleanSeen) -> v.Row:
    counts = {"kept": seen.kept, "refused": seen.refused, "again": seen.again}
    why = v.values({f"refused_for_{name}": n for name, n in seen.refused_for.items()})
    rest = {"unknown": seen.unknown, "asked": seen.asked, "budget": seen.budget}
    kept, refused, again = v.values(counts)
    share = v.Value("clean_share_of_time", seen.share_of_time, how=written.percent(".0f"))
    return [
        label,
        (kept, *v.unseen(*v.values(rest))),
        (refused, *v.unseen(*why)),
        (again, *v.unseen(v.Value("waited_s", seen.waited_s, "s"))),
        (quantile("clean_median_us", seen.clean.median),),
        (quantile("raw_median_us", seen.raw.median),),
        (quantile("clean_on_schedule_median_us", seen.clean_on_schedule.median),),
        (quantile("clean_again_median_us", seen.clean_again.median),),
        (share,),
        _between("raw", seen.every_raw),
        _between("clean", seen.every_clean),
    ]


def _between(name: str, found: Between | None) -> v.Words:
    if found is None:
        return ""
    median, longest, p90 = (
        v.Value(f"between_{name}_{key}_ms", value, how=written.fixed(".0f"))
        for key, value in (("median", found.median), ("longest", found.longest), ("p90", found.p90))
    )
    return (median, " ms (", longest, " ms)", *v.unseen(p90))
