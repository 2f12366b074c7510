"""A ping for the API."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from delaylab.errors import BadInput
from delaylab.units import Duration
from delaylab.verbs.ping import run as verb
from delaylab.verbs.ping.result import PingResult

SMALLEST_PAYLOAD = 24


def ping(
    host: str,
    *,
    count: int = 5,
    interval: str = "200ms",
    size: int = 56,
    ip: Literal[4, 6] | None = None,
    realtime: bool = True,
    why: bool = False,
) -> PingResult:
    """Ping a host, and tell how much of the round trip this machine itself added.

    `interval` is the time between packets; "0" sends as fast as replies come. `size` is the payload
    in bytes, 24 at least, `ip` the version if only one is wanted; `realtime` asks for real-time
    scheduling, where it is allowed. `why` asks for the causes of late packets, in the result's
    `why`.
    Raise BadInput for a host without an address and for impossible options, DelaylabError if
    packets cannot be sent.
    """
    asked = options(host, count, interval, size, ip, realtime=realtime)
    return verb.run(replace(asked, why=why))


def options(
    host: str, count: int, interval: str, size: int, ip: int | None, *, realtime: bool
) -> verb.PingOptions:
    """Return the options of a ping; raise BadInput if one is impossible."""
    if not 0 < count <= verb.AT_MOST:
        raise BadInput(f"count is 1 to {verb.AT_MOST}, got {count}")
    if size < SMALLEST_PAYLOAD:
        raise BadInput(f"size is {SMALLEST_PAYLOAD} at least, got {size}")
    try:
        between = Duration.parse(interval)
    except ValueError as error:
        raise BadInput(str(error), "interval") from None
    return verb.PingOptions(host, count, between, size, ip, realtime)
