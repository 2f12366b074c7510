"""The request that a probe makes of a service, in the form that agents read."""

from __future__ import annotations

import ssl
from pathlib import Path

import polars as pl

from delaylab.api.agents import AgentProtocol, Ask, Question
from delaylab.api.errors import DelaylabError
from delaylab.api.records import Doubt, DoubtKind, doubt
from delaylab_study.study_file.probe import RECORDS, ProbeSpec

ASKING = frozenset({"http", "https", "dns", "datagram"})
"""The agents' protocols that ask a service."""
MOST_REASONS = 3
"""The most reasons that a doubt on failed requests names."""
ANY_BYTES = "*"
"""The letter that stands for any bytes in the pattern of an answer."""


def agent_protocol(probe: ProbeSpec) -> AgentProtocol:
    """Return the name that agents have for the protocol of a probe's packets."""
    return "datagram" if probe.payload is not None else probe.protocol


def ask(probe: ProbeSpec) -> Ask | None:
    """Return what a probe asks of a service; None if its protocol asks none.

    Raises DelaylabError if certificates are to be checked and this machine trusts no authority.
    """
    if agent_protocol(probe) not in ASKING:
        return None
    parts = (probe.answer or "").split(ANY_BYTES)
    return Ask(
        path=probe.path,
        host=(probe.host or probe.to) if probe.is_stream else "",
        keep_alive=probe.connections == "keep-alive",
        trusted=_trusted(probe),
        question=Question(name=probe.query, record=RECORDS[probe.record]) if probe.query else None,
        payload=(probe.payload or "").encode().hex(),
        answer=ANY_BYTES.join(part.encode().hex() for part in parts),
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
    """Return the certificates of the authorities that are trusted, None for any certificate.

    Raises DelaylabError if this machine has none.
    """
    if probe.protocol != "https" or probe.trust == "any":
        return None
    if probe.trust != "system":
        return probe.trust
    store = ssl.get_default_verify_paths().cafile
    if store is None:
        what = "this machine trusts no authority: it has no file of their certificates"
        raise DelaylabError(what, fix="install ca-certificates, or say `trust:` in the probe")
    return Path(store).read_text(encoding="utf-8")
