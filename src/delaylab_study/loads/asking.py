"""The request that a probe or a load makes of a service, in the form that agents read."""

from __future__ import annotations

from delaylab.api.agents import AgentProtocol
from delaylab.api.services import Ask, certificates, dns_query, own_datagram
from delaylab_study.study_file.probe import STREAMS, AsksService


def agent_protocol(asked: AsksService) -> AgentProtocol:
    """Return the name that agents have for the protocol of a probe's packets, or a load's."""
    return "datagram" if asked.payload is not None else asked.protocol


def ask(asked: AsksService) -> Ask | None:
    """Return the request that is made of a service; None if the protocol makes none.

    Raises NotHere if certificates are to be checked and this machine trusts no authority.
    """
    if asked.query is not None:
        return dns_query(asked.query, asked.record)
    if asked.payload is not None:
        return own_datagram(asked.payload, asked.answer)
    if asked.protocol not in STREAMS:
        return None
    return Ask(
        path=asked.path,
        host=asked.host or asked.to,
        keep_alive=asked.connections == "keep-alive",
        trusted=_trusted(asked),
    )


def _trusted(asked: AsksService) -> str | None:
    """Return the certificates of the authorities that are trusted, None for any certificate."""
    if asked.protocol != "https" or asked.trust == "any":
        return None
    return certificates() if asked.trust == "system" else asked.trust
