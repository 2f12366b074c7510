"""Requests to a link engine (docs/protocol.md) and their answers, as types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from delaylab.agent import replies
from delaylab.agent.replies import Reply, Text
from delaylab.agent.requests import Request
from delaylab.dataset.records.links import Direction, EngineReport

if TYPE_CHECKING:
    from delaylab.plan.conditions.engine_links import Change


class Report(EngineReport):
    """A link engine's report as the agent sends it, which does not know the host's name."""

    host: Text = ""


class Changed(Reply):
    """The directions of a link engine after a change."""

    directions: list[Direction]


@dataclass(frozen=True, kw_only=True)
class Links(Request[Report]):
    """Ask a link engine for its report; `reset` starts its counters anew."""

    op = "links"
    reply = Report
    reset: bool = False


@dataclass(frozen=True, kw_only=True)
class LinkSet(Request[Changed]):
    """Change conditions; all changes are checked before one is made."""

    op = "link-set"
    reply = Changed
    changes: Sequence[Change]


@dataclass(frozen=True, kw_only=True)
class Neighbours(Request[replies.Nothing]):
    """Let an interface's stack ask `tries` times for each neighbour, once a second.

    `versions` are the IP versions of the interface's addresses.
    """

    op = "neighbours"
    reply = replies.Nothing
    on: str
    tries: int
    versions: Sequence[int]


@dataclass(frozen=True, kw_only=True)
class LinkTimeline(Request[replies.Nothing]):
    """Restore the conditions of the plan, and restart the link engine's timeline.

    It counts from `begins_ns`, in ns since 1970, or else from now on. With `hold` no change of it
    is made until it is restarted.
    """

    op = "link-timeline"
    reply = replies.Nothing
    begins_ns: int | None = None
    hold: bool = False


@dataclass(frozen=True, kw_only=True)
class LinkPace(Request[replies.Nothing]):
    """Let a link engine send frames up to a millisecond late, or on time again."""

    op = "link-pace"
    reply = replies.Nothing
    eased: bool


class LinkRestart(Request[replies.Nothing]):
    """Start a link engine that has ended."""

    op = "link-restart"
    reply = replies.Nothing
