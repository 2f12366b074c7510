"""Requests to a link engine (docs/protocol.md), as types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from delaylab.agent import link_replies, replies
from delaylab.agent.requests import Request

if TYPE_CHECKING:
    from delaylab.plan.engine_links import Change


@dataclass(frozen=True, kw_only=True)
class Links(Request[link_replies.Links]):
    """Ask a link engine for its report; `reset` starts its counters anew."""

    op = "links"
    reply = link_replies.Links
    reset: bool = False


@dataclass(frozen=True, kw_only=True)
class LinkSet(Request[link_replies.Changed]):
    """Change conditions; all changes are checked before one is made."""

    op = "link-set"
    reply = link_replies.Changed
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


class LinkTimeline(Request[replies.Nothing]):
    """Restore the conditions of the plan, and restart the link engine's timeline."""

    op = "link-timeline"
    reply = replies.Nothing


class LinkRestart(Request[replies.Nothing]):
    """Start a link engine that has ended."""

    op = "link-restart"
    reply = replies.Nothing
