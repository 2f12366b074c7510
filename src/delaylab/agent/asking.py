"""Requests to services, in the form that the agent's request `probe` has them."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Literal

from delaylab.agent.wire.measuring import Ask, Question
from delaylab.errors import NotHere
from delaylab.io.files import check_file

PORTS: dict[str, int] = {"http": 80, "https": 443, "dns": 53}
"""The usual port of each protocol."""
DnsRecord = Literal["A", "NS", "CNAME", "SOA", "PTR", "MX", "TXT", "AAAA"]
RECORDS: dict[str, int] = {
    "A": 1,
    "NS": 2,
    "CNAME": 5,
    "SOA": 6,
    "PTR": 12,
    "MX": 15,
    "TXT": 16,
    "AAAA": 28,
}
"""The types of DNS records by name (RFC 1035, RFC 3596)."""
ANY_BYTES = "*"
"""The letter that stands for any bytes in the pattern of an answer."""
LARGEST_STORE = 16 << 20
"""The most bytes of a file with certificates."""


def dns_query(name: str, record: str) -> Ask:
    """Return the request for a record of a name; its type is one of `RECORDS`."""
    return Ask(question=Question(name=name, record=RECORDS[record]))


def own_datagram(payload: str, answer: str | None) -> Ask:
    """Return the request by a payload; `answer` is the pattern of what answers it, None for any."""
    parts = (answer or "").split(ANY_BYTES)
    return Ask(
        payload=payload.encode().hex(),
        answer=ANY_BYTES.join(part.encode().hex() for part in parts),
    )


def certificates(file: str | None = None) -> str:
    """Return the PEM certificates of the authorities that a file, or this machine, trusts.

    Raises NotHere if this machine has no file of them, BadInput if the file cannot be read.
    """
    store = file or ssl.get_default_verify_paths().cafile
    if store is None:
        what = "this machine has no file of authorities that it trusts"
        raise NotHere(what, fix="install ca-certificates, or name the certificates to trust")
    check_file(Path(store), LARGEST_STORE)
    return Path(store).read_text(encoding="utf-8")
