"""The records of a trial's events: what happened together is one event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from delaylab.api.forwarding import TablesVerdict
from delaylab.api.lab import Lab
from delaylab.api.running import Happened
from delaylab.api.timeline import CostEventSpec, HappeningSpec, LinkEventSpec, NodeEventSpec
from delaylab_study.dataset.records.events import EventRecord, Happening, WaitedForCpu

Waits = Mapping[str, int]
"""The time that each router's daemons have waited for a CPU so far, in ns."""


@dataclass(frozen=True)
class Moment:
    """The events of one time of a timeline: their places in it, and their steps by number.

    A `flap` or a `restart` has two steps, of which the second may come after other events. The
    moment begins at `first_ns`, its last step is at `last_ns`, and it ends at `until_ns`.
    """

    places: tuple[int, ...]
    steps: tuple[int, ...]
    first_ns: int
    last_ns: int
    until_ns: int | None


def moments(lab: Lab, happened: Sequence[Happened], until_ns: int | None) -> list[Moment]:
    """Return the events of a timeline by time; `until_ns` is the end of the last one."""
    by_time: dict[int, list[int]] = {}
    for place in sorted({place for each in happened for place in each.step.events}):
        by_time.setdefault(lab.timeline[place].at.ns, []).append(place)
    found = []
    for _, places in sorted(by_time.items()):
        mine = [i for i, each in enumerate(happened) if set(each.step.events) & set(places)]
        planned = [happened[i].planned_ns for i in mine]
        found.append(Moment(tuple(places), tuple(mine), min(planned), max(planned), None))
    ends = [each.first_ns for each in found[1:]] + [until_ns]
    return [
        Moment(each.places, each.steps, each.first_ns, each.last_ns, end)
        for each, end in zip(found, ends, strict=False)
    ]


def event_records(
    lab: Lab,
    moments: Sequence[Moment],
    happened: Sequence[Happened],
    ended: Mapping[int, TablesVerdict],
    spent: Mapping[int, tuple[Waits, Waits]],
) -> list[EventRecord]:
    """Return the record of each event.

    `ended` says how each step ended, `spent` for each event what daemons
    had waited for CPUs before and after.
    """
    return [
        _record(lab, moment, happened, ended, spent.get(number))
        for number, moment in enumerate(moments)
    ]


def _record(
    lab: Lab,
    moment: Moment,
    happened: Sequence[Happened],
    ended: Mapping[int, TablesVerdict],
    spent: tuple[Waits, Waits] | None,
) -> EventRecord:
    parts = [_part(lab, place, [happened[i] for i in moment.steps]) for place in moment.places]
    began = [each.began_ns for each in parts if each.began_ns is not None]
    event_ns = min(began, default=moment.first_ns)
    until_ns = moment.until_ns or moment.last_ns
    # A second half that comes after the next event tells nothing of this one alone.
    last = ended.get(moment.steps[-1]) if moment.last_ns < until_ns else None
    last = last or TablesVerdict()
    return EventRecord(
        parts=parts,
        event_ns=event_ns,
        until_ns=max(until_ns, event_ns),
        right_ns=None if last.right_ns is None else max(last.right_ns, event_ns),
        wrong=last.wrong,
        unforeseen=last.unforeseen,
        quiet_ns=last.quiet_ns,
        waited=_waited(*spent) if spent else None,
    )


def _part(lab: Lab, place: int, steps: Sequence[Happened]) -> Happening:
    """Return what happened of one entry of the timeline."""
    moment = lab.timeline[place]
    assert isinstance(moment, HappeningSpec)
    mine = [each for each in steps if place in each.step.events]
    began = [each.began_ns for each in mine if each.began_ns is not None]
    done = [each.done_ns for each in mine if each.done_ns is not None]
    return Happening(
        did=moment.did,
        names=_names(moment),
        programs=(moment.programs or []) if isinstance(moment, NodeEventSpec) else [],
        planned_ns=mine[0].planned_ns,
        began_ns=min(began, default=None),
        done_ns=max(done, default=None),
        failed="; ".join(each.failed for each in mine if each.failed) or None,
    )


def _names(moment: HappeningSpec) -> list[str]:
    """Return the links or nodes of an event; of a cost each link with it."""
    if isinstance(moment, CostEventSpec):
        return moment.names
    return moment.links if isinstance(moment, LinkEventSpec) else moment.nodes


def _waited(before: Waits, after: Waits) -> WaitedForCpu | None:
    """Return how long daemons waited between two readings; one that restarted counts anew.

    Routers that one of the readings lacks are left out: they did not answer in time.
    """
    spent = {
        node: ns - before[node] if ns >= before[node] else ns
        for node, ns in after.items()
        if node in before
    }
    if not spent:
        return None
    longest = max(spent, key=lambda node: spent[node])
    return WaitedForCpu(router=longest, longest_ns=spent[longest], all_ns=sum(spent.values()))
