"""Requests to services: their usual ports, and the form in which agents read them."""

from __future__ import annotations

from delaylab.agent.asking import PORTS, DnsRecord, certificates, dns_query, own_datagram
from delaylab.agent.wire.measuring import Ask

__all__ = [
    "PORTS",
    "Ask",
    "DnsRecord",
    "certificates",
    "dns_query",
    "own_datagram",
]
