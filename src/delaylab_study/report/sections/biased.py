"""Share of biased samples, by packets drawn at random, and the estimate from the clean ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from delaylab.api.causes import BIAS_RULE, Cause
from delaylab_study.analysis.causes.drawn import BiasReason, SampleBias
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.statistics.quantiles import Quantile
from delaylab_study.charts import words
from delaylab_study.report import bias_words, written
from delaylab_study.report import value as v
from delaylab_study.report.sections.section import Report, quantile

NOTE = (
    "Packets drawn at random from those answered under load, judged by what they waited for: "
    f"{BIAS_RULE.text}. These are: {', '.join(BIAS_RULE.reasons)}. No delay decides. Shares are of "
    "all drawn packets; user RTTs (round trip) are medians. Intervals are of 95 %. A packet may "
    "have several reasons; how much each took is a median, and a lower bound."
)
COLUMNS = (
    v.Column("levels", "label", key="levels"),
    *map(v.Column, ("drawn", "biased", "unknown", "clean", "clean median", "raw median")),
    v.Column("biased by", "text"),
)


def section(report: Report) -> v.Section:
    """Return the shares of biased and unknown packets, and the clean median beside the raw one."""
    found = [(group.label, bias) for group in report.groups if (bias := bias_of(group))]
    if not found:
        return v.Section("biased", [])
    lines = [
        v.Line(f"{label}: {' '.join(bias_words.sentences(bias))}", on=v.TERMINAL)
        for label, bias in found
    ]
    page = [
        v.Heading("Biased samples", 2),
        v.note(NOTE),
        v.Table(COLUMNS, [_row(*each) for each in found], key="biased", on=v.PAGE),
    ]
    return v.Section("biased", [*lines, *page])


def bias_of(group: Group) -> SampleBias | None:
    """Return what the drawn packets of a group say; None if none were drawn."""
    return group.packets.causes.bias if group.packets else None


def _row(label: str, found: SampleBias) -> v.Row:
    shares = (("biased_share", found.biased), ("unknown_share", found.unknown))
    biased, unknown = (
        v.Value(key, share.value, "share", share.interval, how=_share) for key, share in shares
    )
    drawn, clean, raw = v.values(
        {"drawn": found.drawn, "clean": found.clean, "raw_packets": found.raw.n}
    )
    return [
        label,
        (drawn,),
        (biased,),
        (unknown,),
        (clean,),
        (_median("clean_median_us", found.clean_median),),
        (_median("raw_median_us", found.raw.median), *v.unseen(raw)),
        tuple(_reasons(found.reasons)),
    ]


def _median(key: str, found: Quantile) -> v.Value:
    return replace(quantile(key, found), how=written.said(bias_words.median(found)))


def _share(value: v.Value) -> str:
    return words.with_interval(value.number, value.interval, "share")


def _reasons(reasons: Sequence[BiasReason]) -> Iterator[str | v.Value]:
    """Yield the reasons in words and numbers; scripts have those of all causes by their names."""
    for number, reason in enumerate(reasons):
        key = f"by_{_key(reason.cause)}"
        yield f"{'; ' if number else ''}{reason.cause.value}: "
        yield v.Value(f"{key}_packets", reason.packets)
        yield ", at least "
        yield v.Value(f"{key}_at_least_us", reason.median_ns / 1000, "us")


def _key(cause: Cause) -> str:
    return cause.value.lower().replace(" ", "_").replace("-", "_")
