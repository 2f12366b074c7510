"""Arrangement of groups for a report: one panel per packet's way, one row per group."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from delaylab.api.points import router_number
from delaylab_study.analysis.group import Group, SegmentSummary, in_words
from delaylab_study.analysis.statistics.quantiles import Tail

SegmentKey = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Panel:
    """Groups whose packets passed the same points from the same kind of node, with row labels.

    `tail` is the quantile beside the median, which is the same in all panels of a report: readers
    compare them.
    """

    title: str
    groups: list[Group]
    labels: list[str]
    tail: Tail

    @property
    def heading(self) -> str:
        """Return the title with the statistics of every delay in the panel."""
        return f"{self.title}: median, {self.tail}"


def panels(groups: list[Group]) -> list[Panel]:
    """Return the groups with packets by the sender's kind and points, in the order given.

    A group whose packets went several ways is there once for each.
    """
    together: dict[tuple[str, ...], list[Group]] = {}
    for group in chain.from_iterable(each.by_way() for each in probed(groups)):
        way = group.trials[0].way
        together.setdefault((group.kind, *way.request, "|", *way.reply), []).append(group)
    name = tail(probed(groups))
    return [_panel(alike, name) for alike in together.values()]


def probed(groups: list[Group]) -> list[Group]:
    """Return the groups whose trials have a probe."""
    return [group for group in groups if group.probed]


def usual(group: Group) -> list[SegmentSummary]:
    """Return the slip, and the segments that at least half of the answered packets have."""
    answered = max((part.delay.n for part in group.segments[1:]), default=0)
    return [
        part
        for index, part in enumerate(group.segments)
        if index == 0 or part.delay.n * 2 >= answered
    ]


def layer_names(groups: list[Group]) -> dict[SegmentKey, str]:
    """Return each usual segment's layer, with the router or link that it lies in if there are many.

    If the groups pass different routers or links there, a router is named by its number on the way.
    """
    together: dict[SegmentKey, list[SegmentSummary]] = {}
    for part in (part for group in groups for part in usual(group)):
        together.setdefault(segment_key(part), []).append(part)
    return {key: _layer_name(parts) for key, parts in together.items()}


def tail(groups: list[Group]) -> Tail:
    """Return p99, or p90 if fewer than half of the groups' user RTTs carry a p99."""
    known = [group.rtt["app"].p99.value is not None for group in groups if "app" in group.rtt]
    return "p99" if known and 2 * sum(known) >= len(known) else "p90"


def segment_key(part: SegmentSummary) -> SegmentKey:
    """Return the leg and the ends of a segment, which tell it from all others of a way."""
    return part.leg, part.start, part.end


def _layer_name(parts: list[SegmentSummary]) -> str:
    names = {part.at for part in parts}
    at = names.pop() if len(names) == 1 else _numbers(parts[0])
    return f"{parts[0].layer} ({at})" if at else parts[0].layer


def _numbers(part: SegmentSummary) -> str:
    """Return the routers at a segment's ends by their numbers on the way."""
    sides = (point.partition(".")[0] for point in (part.start, part.end))
    return " to ".join(dict.fromkeys(side for side in sides if router_number(side) is not None))


def _panel(alike: list[Group], tail: Tail) -> Panel:
    shared = {
        name: level
        for name, level in alike[0].factors.items()
        if len(alike) > 1 and all(group.factors.get(name) == level for group in alike)
    }
    rows = [{k: v for k, v in group.factors.items() if k not in shared} for group in alike]
    labels = [
        ", ".join(part for part in (in_words(row), group.way) if part) or group.load
        for row, group in zip(rows, alike, strict=True)
    ]
    sender = alike[0].trials[0].sender
    kind = sender.kind if sender else "unknown"
    names = in_words({name: level for name, level in shared.items() if level != kind})
    emulation = next((group.emulation for group in alike if group.emulated), "")
    title = ", ".join(part for part in (kind, emulation, names) if part)
    return Panel(title, alike, labels, tail)
