"""The answer to a request for forwarding tables (docs/protocol.md), as a type."""

from __future__ import annotations

from delaylab.agent.replies import Count, Reply


class Observed(Reply):
    """The end of an observation.

    `changes` are the rows after the tables of the start, `messages` those of the kernel that were
    read, `lost` how often it had no room for one, and `read_again` how often a node's tables were
    read again to learn what the kernel does not tell. `realtime` is True if the observer ran with
    real-time priority.
    """

    changes: Count
    messages: Count
    lost: Count
    read_again: Count
    realtime: bool
