"""Events of a running request."""

from __future__ import annotations

from delaylab.agent.replies import Count, Port, Reply
from delaylab.agent.wire.sessions import LivePacket


class ReadyPort(Reply):
    """The UDP or TCP port at which a reflector or a sink listens."""

    port: Port


class RecordedWindow(Reply):
    """The window of which all records were sent; its times are in ns since the Unix epoch."""

    from_ns: Count
    to_ns: Count


class Event(Reply):
    """One event of a running request; one of the fields is set."""

    ready: bool | ReadyPort | None = None
    started: Count | None = None
    paused: bool | None = None
    used: Count | None = None
    packet: LivePacket | None = None
    recorded: RecordedWindow | None = None
