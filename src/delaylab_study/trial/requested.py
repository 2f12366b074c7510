"""The request that a probe makes of a service, in the form that agents read."""

from __future__ import annotations

import polars as pl

from delaylab.api.agents import AgentProtocol
from delaylab.api.records import Doubt, DoubtKind, doubt
from delaylab.api.services import Ask, certificates, dns_query, own_datagram
from delaylab_study.study_file.probe import ProbeSpec

MOST_REASONS = 3
"""The most reasons that a doubt on failed requests names."""


def agent_protocol(probe: ProbeSpec) -> AgentProtocol:
    """Return the name that agents have for the protocol of a probe's packets."""
    return "datagram" if probe.payload is not None else probe.protocol


def ask(probe: ProbeSpec) -> Ask | None:
    """Return the request that a probe makes of a service; None if its protocol makes none.

    Raises NotHere if certificates are to be checked and this machine trusts no authority.
    """
    if probe.query is not None:
        return dns_query(probe.query, probe.record)
    if probe.payload is not None:
        return own_datagram(probe.payload, probe.answer)
    if not probe.is_stream:
        return None
    return Ask(
        path=probe.path,
        host=probe.host or probe.to,
        keep_alive=probe.connections == "keep-alive",
        trusted=_trusted(probe),
    )


def failed(packets: pl.DataFrame) -> list[Doubt]:
    """Return the doubt that requests failed, with the most frequent reasons, if any did.

    `packets` are the agent's tables of the packets of all phases: an answer with an error counts as
    failed, too.
    """
    errors = packets.filter(pl.col("error").is_not_null())
    if errors.is_empty():
        return []
    counts = errors.group_by("error").len().sort("len", "error", descending=[True, False])
    most = counts.head(MOST_REASONS).iter_rows()
    reasons = "; ".join(f"{why} ({count})" for why, count in most)
    return [
        doubt(
            DoubtKind.FAILED_REQUESTS,
            f"{len(errors)} of {len(packets)} requests failed: {reasons}",
            "see what the service says: delaylab logs, or its own log",
            failed=len(errors),
            requests=len(packets),
        )
    ]


def _trusted(probe: ProbeSpec) -> str | None:
    """Return the certificates of the authorities that are trusted, None for any certificate."""
    if probe.protocol != "https" or probe.trust == "any":
        return None
    return certificates() if probe.trust == "system" else probe.trust
