"""Answers of a link engine (docs/protocol.md), as types."""

from __future__ import annotations

from delaylab.agent.replies import Reply, Text
from delaylab.dataset.records.links import Direction, EngineReport


class Links(EngineReport):
    """A link engine's report as the agent sends it, which does not know the host's name."""

    host: Text = ""


class Changed(Reply):
    """The directions of a link engine after a change."""

    directions: list[Direction]
