"""Check that a probe that has ended accounts for each packet that was scheduled, once.

An agent in a guest is the guest's. What its tables may have is in `agent/table_schemas.py`.
"""

from __future__ import annotations

import polars as pl

from delaylab.api.agents import AgentError, Probe, ProbeDone, Result
from delaylab_study.trial.frames import frame


def asked_packets(result: Result[ProbeDone]) -> pl.DataFrame:
    """Return a probe's packets; raise AgentError if they are not those that were asked for."""
    packets, request = frame(result, "packets"), result.request
    if not isinstance(request, Probe):
        raise TypeError("not a probe")
    first, count = request.first_seq, request.count
    seqs = pl.int_range(first, first + count, dtype=pl.UInt32, eager=True)
    alike = packets.height == count and (packets["probe"] == request.probe).all()
    if not alike or not (packets["seq"].sort() == seqs).all():
        what = f"the agent sent other packets than the {count} that it was asked to send"
        raise AgentError(what, result.label)
    return packets
