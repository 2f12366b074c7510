"""Stamps of requests and answers from where taps saw bytes of TCP streams.

A tap sees segments, and does not know which bytes are a request or an answer: by TLS nobody but the
two ends does. The sender names the request's last byte and the answer's first by their TCP sequence
numbers. A packet's stamp at a point is the time at which that byte was first seen there.
"""

from __future__ import annotations

import polars as pl

from delaylab.api.points import LEGS

BYTES = ("asked", "first")
"""The columns of the table `exchanges` that name the byte of each leg that is stamped."""
MOST_SEGMENTS = 1 << 22
"""The most segments that a tap keeps."""
SEGMENTS_OF_PACKET = 64
"""Segments of an exchange that a tap keeps room for at each of its interfaces."""
_WRAP = 1 << 32


def room(packets: int, interfaces: int) -> int:
    """Return how many segments a tap of so many interfaces keeps."""
    return min(max(packets * interfaces * SEGMENTS_OF_PACKET, 1 << 16), MOST_SEGMENTS)


def stamped(segments: pl.DataFrame, exchanges: pl.DataFrame) -> pl.DataFrame:
    """Return the stamps of requests and answers, in the form of the agents' table `stamps`.

    `segments` are the runs of bytes that taps saw, each byte once at each point. `exchanges` are
    the sender's requests; one whose bytes it could not name has no stamps.
    """
    wanted = pl.concat(
        exchanges.select("probe", "seq", "port", pl.lit(leg, pl.UInt8).alias("leg"), byte=name)
        for leg, name in zip(range(len(LEGS)), BYTES, strict=True)
    ).drop_nulls("byte")
    # Sequence numbers wrap: positions count from one byte of the connection.
    base = wanted.group_by("port", "leg").agg(pl.col("byte").first().alias("base"))
    wanted = wanted.join(base, on=["port", "leg"])
    wanted = wanted.select("probe", "seq", "port", "leg", at=_from_base("byte")).sort("at")
    runs = segments.select("port", "leg", "sequence", "length", "point", "time_ns")
    runs = runs.join(base, on=["port", "leg"]).with_columns(at=_from_base("sequence")).sort("at")
    found = [
        wanted.join_asof(
            of_point.with_columns(begin=pl.col("at")),
            on="at",
            by=["port", "leg"],
            strategy="backward",
            check_sortedness=False,
        ).filter(pl.col("at") < pl.col("begin") + pl.col("length"))
        for of_point in runs.partition_by("point", maintain_order=True)
    ]
    columns = ("probe", "seq", "leg", "point", "time_ns")
    if not found:
        return segments.select("probe", pl.col("sequence").alias("seq"), *columns[2:]).clear()
    return pl.concat(found).select(columns)


def _from_base(column: str) -> pl.Expr:
    """Return the position of a sequence number, counted from that of `base`."""
    distance = pl.col(column).cast(pl.Int64) - pl.col("base").cast(pl.Int64)
    return (distance + _WRAP // 2) % _WRAP - _WRAP // 2
