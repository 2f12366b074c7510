"""Check that tables have what an agent was asked for, and nothing else.

An agent in a guest is the guest's. It can lie about its own stamps, but it stamps at no point of
another one, and each packet that was scheduled is accounted for once.
"""

from __future__ import annotations

from collections.abc import Collection

import polars as pl
from pydantic import BaseModel

from delaylab.agent import measuring_replies
from delaylab.agent.measuring_requests import Probe
from delaylab.agent.result import AgentError, Result


def asked_stamps(
    result: Result[BaseModel], points: Collection[str], name: str = "stamps"
) -> pl.DataFrame:
    """Return a table of stamps, its points as text; raise AgentError if it has other points."""
    table = result.table(name).with_columns(pl.col("point").cast(pl.String))
    others = sorted(set(table["point"].unique()) - set(points))
    if others:
        what = f"the agent sent stamps of {others[0]!r}, for which nobody asked it"
        raise AgentError(what, result.label)
    return table


def asked_packets(result: Result[measuring_replies.Probe]) -> pl.DataFrame:
    """Return a probe's packets; raise AgentError if they are not those that were asked for."""
    packets, request = result.table("packets"), result.request
    if not isinstance(request, Probe):
        raise TypeError("not a probe")
    first, count = request.first_seq, request.count
    seqs = pl.int_range(first, first + count, dtype=pl.UInt32, eager=True)
    alike = packets.height == count and (packets["probe"] == request.probe).all()
    if not alike or not (packets["seq"].sort() == seqs).all():
        what = f"the agent sent other packets than the {count} that it was asked to send"
        raise AgentError(what, result.label)
    return packets
