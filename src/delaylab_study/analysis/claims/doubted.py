"""Doubts about the trials that a verdict rests on, and those that leave it open."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from delaylab.api.records import DoubtKind
from delaylab_study.analysis.group import Group

# Doubts that say that something else than the study's levels made trials differ. Other doubts
# concern one value (a tail, a lost packet, a link), which a claim may be about.
UNDERMINING = frozenset(
    {
        DoubtKind.NOT_AT_REST,
        DoubtKind.STOLEN_TIME,
        DoubtKind.STOPPED_PROCESS,
        DoubtKind.CLOCK_STEP,
        DoubtKind.QUEUE_CHANGED,
    }
)
# What other work and a hypervisor took of the times after an event is known by itself: the kernel
# counts how long daemons waited for CPUs. `CPU_BOUND` then stands for these two.
OF_THE_MACHINE = frozenset({DoubtKind.NOT_AT_REST, DoubtKind.STOLEN_TIME})
CPU_BOUND = "cpu-bound"
# A verdict is left open if an undermining doubt concerns a larger share of the claim's trials.
MOST = 0.25


@dataclass(frozen=True, slots=True)
class ClaimDoubt:
    """A doubt about `trials` of the `of` trials that a verdict rests on.

    `undermines` is True if it leaves the verdict open.
    """

    kind: str
    trials: int
    of: int
    undermines: bool

    @property
    def text(self) -> str:
        """Return the doubt in words."""
        return f"{self.kind} in {self.trials} of {self.of} trials"


@dataclass(frozen=True, slots=True)
class GroupDoubts:
    """The doubts about a group's trials: in how many of them there is one of each kind.

    `cpu_bound` has for each event the number of trials in which it was bound by CPUs, and None for
    an event of which a trial does not know it. It is empty for trials without events.
    """

    trials: int
    counts: Mapping[str, int]
    cpu_bound: tuple[int | None, ...] = ()


def doubts_in(group: Group) -> GroupDoubts:
    """Return the doubts about a group's trials."""
    counts = Counter(kind for kinds in _kinds(group) for kind in kinds)
    events = max((len(trial.events) for trial in group.convergence), default=0)
    bound = tuple(_cpu_bound(group, number) for number in range(events))
    return GroupDoubts(len(group.trials), dict(counts), bound)


def doubts_of(used: Sequence[Group], event: int | None = None) -> tuple[ClaimDoubt, ...]:
    """Return the doubts about the trials of these groups, as `joined` does."""
    return joined([doubts_in(group) for group in used], event)


def joined(used: Sequence[GroupDoubts], event: int | None = None) -> tuple[ClaimDoubt, ...]:
    """Return the doubts about the trials of all groups, those that undermine a verdict first.

    With `event`, the number of an event from 0 on, they are doubts about the times after it.
    """
    undermining: frozenset[str] = UNDERMINING
    of = sum(group.trials for group in used)
    counts: Counter[str] = Counter()
    for group in used:
        counts.update(group.counts)
    waited = None if event is None else _waited(used, event)
    if waited is not None:
        undermining = (undermining - OF_THE_MACHINE) | {CPU_BOUND}
        counts.update({CPU_BOUND: waited} if waited else {})
    found = [
        ClaimDoubt(kind, trials, of, kind in undermining and trials > MOST * of)
        for kind, trials in counts.items()
    ]
    return tuple(sorted(found, key=lambda each: (not each.undermines, -each.trials, each.kind)))


def _waited(used: Sequence[GroupDoubts], event: int) -> int | None:
    """Return in how many trials an event was bound by CPUs; None if one does not know it."""
    found = [group.cpu_bound[event] for group in used if event < len(group.cpu_bound)]
    known = [each for each in found if each is not None]
    return sum(known) if found and len(known) == len(found) else None


def kinds_by_trial(groups: Sequence[Group]) -> dict[str, list[str]]:
    """Return the kinds of the doubts about each trial, by its id, in the order of the alphabet."""
    return {
        trial.id: sorted(kinds)
        for group in groups
        for trial, kinds in zip(group.trials, _kinds(group), strict=True)
    }


def _cpu_bound(group: Group, number: int) -> int | None:
    """Return in how many trials an event was bound by CPUs; None if a trial does not know it."""
    events = [trial.events[number] for trial in group.convergence if number < len(trial.events)]
    known = all(event.record.waited is not None for event in events)
    return sum(event.is_cpu_bound for event in events) if known else None


def _kinds(group: Group) -> Iterator[set[str]]:
    """Yield the kinds of each trial's doubts; one that names no trial concerns all of its group."""
    recorded = {doubt.identity for trial in group.trials for doubt in trial.warnings}
    by_name: dict[object, set[str]] = defaultdict(set)
    for doubt in group.doubts:
        if doubt.identity not in recorded:
            by_name[doubt.values.get("trial")].add(str(doubt.kind))
    for trial in group.trials:
        own = {str(doubt.kind) for doubt in trial.warnings}
        yield own | by_name[trial.id] | by_name[None]
