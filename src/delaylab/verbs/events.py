"""Verbs that break a running lab, and mend it: links and nodes that go down and up."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from rich.console import Console

from delaylab.io.values import JsonObject
from delaylab.lab import node_events
from delaylab.lab.links import link_changes
from delaylab.lab.links.link_changes import ChangedConditions
from delaylab.lab.node_events import DOWN, SILENT, UP, NodeDeed, NodeEvent
from delaylab.lab.running import LiveLab
from delaylab.units import Duration
from delaylab.verbs.time_of_day import time_of_day

LinkDeed = Literal["down", "up", "silent"]
_STATES = {"down": DOWN, "up": UP, "silent": SILENT}


@dataclass(frozen=True)
class LinkEvent:
    """An event of a link: when its first and its last end changed, in ns since 1970.

    They are None if it was so before.
    """

    link: str
    did: LinkDeed
    began_ns: int | None
    done_ns: int | None


def change_links(
    lab: LiveLab, links: Sequence[str], do: LinkDeed, node: str | None = None
) -> list[LinkEvent]:
    """Take links down or up, or silence them, at one moment; with `node` only that node's ends."""
    began = time.time_ns()
    now = link_changes.change_all(
        lab, [ChangedConditions(link, node, _STATES[do]) for link in links]
    )
    found = {link: link_changes.changed_at(now, {link}, began) for link in links}
    return [LinkEvent(link, do, *(times or (None, None))) for link, times in found.items()]


def flap(lab: LiveLab, links: Sequence[str], length: Duration) -> list[LinkEvent]:
    """Take links down, and up again after a time, counted from when they were down."""
    events = change_links(lab, links, "down")
    # The length of the outage is what the user asks for: nothing signals its end.
    time.sleep(length.ns / 1e9)
    return [*events, *change_links(lab, links, "up")]


def change_nodes(
    lab: LiveLab, nodes: Sequence[str], do: NodeDeed, programs: Sequence[str]
) -> list[NodeEvent]:
    """Stop, start, kill or restart nodes one after the other, or only some of their programs."""
    return [node_events.act(lab, node, do, programs) for node in nodes]


def as_json(events: Iterable[LinkEvent | NodeEvent]) -> list[JsonObject]:
    """Return events for `--json`."""
    return [asdict(event) for event in events]


def print_events(events: Iterable[LinkEvent | NodeEvent], console: Console) -> None:
    """Print a line for each event: what, when, and what else changed."""
    for event in events:
        console.print(_line(event), soft_wrap=True)


def _line(event: LinkEvent | NodeEvent) -> str:
    if isinstance(event, LinkEvent):
        if event.began_ns is None or event.done_ns is None:
            return f"link {event.link}: {event.did} as before"
        return f"link {event.link}: {event.did} {_when(event.began_ns, event.done_ns)}"
    past = {"stop": "stopped", "start": "started", "kill": "killed", "restart": "restarted"}
    parts = [
        f"{what}: {', '.join(names)}"
        for what, names in (("programs", event.programs), ("links", event.links))
        if names
    ]
    when = _when(event.began_ns, event.done_ns)
    return f"node {event.node}: {past[event.did]} {when}" + (
        f" ({'; '.join(parts)})" if parts else ""
    )


def _when(began_ns: int, done_ns: int) -> str:
    """Return a moment, and how long it took."""
    return f"at {time_of_day(began_ns)}, within {(done_ns - began_ns) / 1e6:.1f} ms"
