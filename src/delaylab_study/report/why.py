"""Causes of packets for a terminal and for scripts: a block of lines for each packet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from string import ascii_uppercase
from textwrap import wrap

from rich.console import Console
from rich.table import Table

from delaylab.api.causes import IDLE, CauseShare, cause, task_name
from delaylab.api.files import JsonObject, printable
from delaylab_study.analysis.causes.blocks import blocks_of, most_of, tasks_of
from delaylab_study.analysis.causes.drawn import SampleBias, sample_bias
from delaylab_study.analysis.causes.explained import LookedAt, LookedAtTrial
from delaylab_study.analysis.causes.quantiles import AtQuantile, at_quantiles
from delaylab_study.report import bias_words
from delaylab_study.report.sections.section import interval
from delaylab_study.report.why_words import cpu_name, named_causes, time, title

WIDTH, COLUMNS = 60, 80
"""The columns of a CPU's line, and those of a paragraph."""
INDENT = " " * 10
"""The space before the key of a drawing."""
HARD_SPACE = "\u00a0"
NOBODY, UNSEEN, OTHER = "·", "?", "+"
MOST_BLAMED, LEAST_BLAMED, LEAST_EXCESS_NS = 3, 0.1, 100_000
"""Those that are named near a quantile: so many at most, with such a share of the excess at least,
if there is so much of it."""
LEAST_SHOWN_NS = 1_000
"""The least time of a cause that has a row."""


def lines(packet: LookedAt) -> Iterator[str]:
    """Yield the lines of a packet: its causes by segment, and a line for each CPU."""
    yield title(packet)
    for ns, words in named_causes(packet):
        yield f"  {time(ns, signed=True):>10}  {words}"
    yield from timeline(packet)


def timeline(packet: LookedAt) -> Iterator[str]:
    """Yield a line for each CPU: who had it most of each part of the packet's time."""
    start_ns, end_ns = packet.start_ns, packet.end_ns
    step = max(1, (end_ns - start_ns) // WIDTH)
    runs = {
        cpu: [
            most_of(found, at_ns, at_ns + step)
            for at_ns in range(start_ns, end_ns - step + 1, step)
        ]
        for cpu, found in blocks_of(packet).items()
    }
    tasks = tasks_of(packet)
    names = {
        task: task_name(task, tasks, packet.explained.lab)
        for each in runs.values()
        for task in each
        if task
    }
    seen = Counter(names[task] for each in runs.values() for task in each if task)
    letters = dict(zip((name for name, _ in seen.most_common()), ascii_uppercase, strict=False))
    for cpu, found in runs.items():
        yield f"  {cpu_name(cpu):<7} {''.join(_letter(task, names, letters) for task in found)}"
    named = [f"{letter} {name}" for name, letter in letters.items()]
    yield from _key([f"{time(step)} each", f"{NOBODY} idle", *named])


def _key(entries: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the key; none ends within an entry."""
    whole = "; ".join(entry.replace(" ", HARD_SPACE) for entry in entries)
    for line in wrap(whole, COLUMNS - len(INDENT), break_long_words=False, break_on_hyphens=False):
        yield INDENT + line.replace(HARD_SPACE, " ")


def _letter(task: int | None, names: Mapping[int, str], letters: Mapping[str, str]) -> str:
    """Return the letter of a task; tasks of the same name have the same one."""
    if task is None:
        return UNSEEN
    return NOBODY if task == IDLE else letters.get(names[task], OTHER)


def show(trials: Sequence[LookedAtTrial], slowest: Sequence[LookedAt], console: Console) -> None:
    """Print the causes at quantiles for each combination of levels, then the slowest packets."""
    for levels, together in _by_levels(trials).items():
        looked = sum(len(each.packets) for each in together)
        usual = sum(each.usual for each in together)
        console.print(
            f"{levels}: {looked} packets were looked at, and {usual} usual ones",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
        if quantiles := at_quantiles(together):
            console.print(_table(quantiles))
            for line in blamed(quantiles[-1]):
                console.print(printable(line), highlight=False, markup=False, soft_wrap=True)
        if bias := _bias(together):
            paragraph = " ".join(bias_words.sentences(bias))
            for line in wrap(paragraph, COLUMNS):
                console.print(line, highlight=False, markup=False, soft_wrap=True)
        for text, packets in _lost(together).most_common():
            said = f"{packets} packets lost: {text}"
            console.print(printable(said), highlight=False, markup=False, soft_wrap=True)
    for packet in slowest:
        console.print()
        for line in lines(packet):
            console.print(printable(line), highlight=False, markup=False, soft_wrap=True)


def _by_levels(trials: Sequence[LookedAtTrial]) -> dict[str, list[LookedAtTrial]]:
    found: dict[str, list[LookedAtTrial]] = {}
    for each in trials:
        levels = ", ".join(f"{name}={level}" for name, level in each.trial.factors.items())
        found.setdefault(levels or "all trials", []).append(each)
    return found


def _bias(trials: Sequence[LookedAtTrial]) -> SampleBias | None:
    """Return what the drawn packets of trials say of all; None if none were drawn."""
    return sample_bias([each.drawn for each in trials])


def _lost(trials: Sequence[LookedAtTrial]) -> Counter[str]:
    """Return the lost packets of trials, by how."""
    total = Counter[str]()
    for each in trials:
        total.update(each.lost)
    return total


def blamed(near: AtQuantile) -> Iterator[str]:
    """Yield who is to blame near a quantile, the largest part first; nothing for a small excess."""
    whole = sum(near.named.values())
    for words, ns in [*near.named.items()][:MOST_BLAMED]:
        if whole >= LEAST_EXCESS_NS and ns >= LEAST_BLAMED * whole:
            yield f"near the {near.name}: {ns / whole:.0%} {words}"


def _table(quantiles: Sequence[AtQuantile]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("more than usual near the")
    for each in quantiles:
        table.add_column(f"{each.name}, {time(each.rtt_ns)}", justify="right")
    causes = dict.fromkeys(cause for each in reversed(quantiles) for cause in each.causes)
    for cause_of in causes:
        cells = [each.causes.get(cause_of, 0.0) for each in quantiles]
        if max(map(abs, cells)) >= LEAST_SHOWN_NS:
            table.add_row(cause_of.value, *(time(ns, signed=True) for ns in cells))
    return table


def as_json(trials: Sequence[LookedAtTrial], slowest: Sequence[LookedAt]) -> JsonObject:
    """Return all of it for scripts."""
    return {
        "levels": [
            {
                "levels": levels,
                "trials": [each.trial.id for each in together],
                "usual": sum(each.usual for each in together),
                "lost": dict(_lost(together)),
                "drawn": None if (bias := _bias(together)) is None else bias_json(bias),
                "at": [
                    {
                        "quantile": each.name,
                        "rtt_ns": each.rtt_ns,
                        "named_ns": dict(each.named),
                        "more_than_usual_ns": {
                            cause_of.value: ns for cause_of, ns in each.causes.items()
                        },
                    }
                    for each in at_quantiles(together)
                ],
            }
            for levels, together in _by_levels(trials).items()
        ],
        "slowest": [packet_json(each) for each in slowest],
    }


def bias_json(found: SampleBias) -> JsonObject:
    """Return what drawn packets say of all, for scripts; an interval that is not known is None."""
    return {
        "packets": found.drawn,
        "clean": found.clean,
        "biased_share": found.biased.value,
        "biased_share_interval": list(found.biased.interval),
        "unknown_share": found.unknown.value,
        "unknown_share_interval": list(found.unknown.interval),
        "biased_by": {
            each.cause.value: {"packets": each.packets, "median_ns": each.median_ns}
            for each in found.reasons
        },
        "clean_median_us": found.clean_median.value,
        "clean_median_us_interval": interval(found.clean_median.interval),
        "raw_median_us": found.raw.median.value,
        "raw_median_us_interval": interval(found.raw.median.interval),
        "raw_packets": found.raw.n,
    }


def packet_json(packet: LookedAt) -> JsonObject:
    """Return a packet with its causes, for scripts."""
    found = packet.explained
    return {
        "trial": packet.trial.id,
        "seq": packet.seq,
        "rtt_ns": packet.rtt_ns,
        "excess_ns": found.excess_ns,
        "shares": [_share_json(packet, share) for share in found.shares],
    }


def _share_json(packet: LookedAt, share: CauseShare) -> JsonObject:
    found = packet.explained
    return {
        "segment": packet.segments[share.segment],
        "cause": share.cause.value,
        "ns": share.ns,
        "by": task_name(share.task, found.tasks, found.lab),
        "waited": task_name(share.of, found.tasks, found.lab),
        "held_by": share.where or None,
        "text": cause(share, found),
    }
