"""Packets of a ping that was not watched: from the agent's tables, which it sends at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from delaylab.agent.result import Result
from delaylab.agent.wire import measuring
from delaylab.verbs.ping.result import REDIRECT, PingPacket

REQUEST, REPLY = 0, 1
STAMPS = {
    "sent": ("app", REQUEST),
    "left": ("stack", REQUEST),
    "arrived": ("stack", REPLY),
    "replied": ("app", REPLY),
}


def packets_of(result: Result[measuring.ProbeDone]) -> tuple[PingPacket, ...]:
    """Return the packets that were sent or refused; tables have no TTL and no sender."""
    import polars as pl  # noqa: PLC0415  slow to load, and only a quiet ping needs it

    packets, stamps = result.table("packets"), result.table("stamps")
    stamps = stamps.with_columns(pl.col("point").cast(pl.String))
    for name, (point, leg) in STAMPS.items():
        taken = stamps.filter((pl.col("point") == point) & (pl.col("leg") == leg))
        packets = packets.join(taken.select("seq", pl.col("time_ns").alias(name)), "seq", "left")
    opening = pl.col("sent") - pl.col("sent_ns")
    error = pl.col("error").cast(pl.String)
    redirects = error.str.starts_with(REDIRECT).fill_null(value=False)
    rows = packets.filter(pl.col("outcome") != "unsent").select(
        "seq",
        pl.col("replied") - pl.col("sent"),
        (pl.col("arrived") - pl.col("left")).alias("kernel"),
        (pl.col("sent_ns") - pl.col("intended_ns")).alias("slip"),
        pl.col("outcome").cast(pl.String),
        pl.lit(None).alias("from"),
        pl.lit(None).alias("ttl"),
        pl.when(~redirects).then(error).alias("error"),
        # The connection of an HTTP request is opened first; any other packet is sent at once.
        pl.when(opening > 0).then(opening).alias("handshake"),
        "duplicates",
        pl.when(redirects).then(error).alias("redirect"),
    )
    return tuple(PingPacket(*row) for row in rows.sort("seq").iter_rows())


def merged(
    packets: Iterable[PingPacket], reported: Mapping[int, PingPacket]
) -> Iterator[PingPacket]:
    """Yield packets of tables, with the sender and the TTL of those that were reported live."""
    for packet in packets:
        known = reported.get(packet.seq)
        yield replace(packet, sender=known.sender, ttl=known.ttl) if known else packet
