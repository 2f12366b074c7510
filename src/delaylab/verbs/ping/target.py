"""The host of a ping, and what is asked there, from the options of the command line."""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from delaylab.agent.wire.measuring import Ask, Question
from delaylab.errors import BadInput
from delaylab.io.files import check_file

Protocol = Literal["icmp", "tcp", "http", "https", "dns", "datagram"]
PORTS: dict[str, int] = {"http": 80, "https": 443, "dns": 53}
"""The port of a protocol, unless the command line says another."""
RECORDS = {"A": 1, "NS": 2, "CNAME": 5, "SOA": 6, "PTR": 12, "MX": 15, "TXT": 16, "AAAA": 28}
"""The types of DNS records by name (RFC 1035, RFC 3596)."""
LONGEST_PATH = 800
LARGEST_STORE = 16 << 20
"""The most bytes of a file with certificates."""
ANY_BYTES = "*"


@dataclass(frozen=True, slots=True)
class Target:
    """The destination of a ping; `port` is 0 and `path` unused for ICMP."""

    host: str
    protocol: Protocol
    port: int = 0
    path: str = "/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """The options of the command line on packets, beyond host and port, as they were typed.

    `dns` is a name to ask for, `udp` the payload of datagrams, `answer` the pattern of what answers
    these. `unchecked` is True for certificates that need not be valid; `authorities` names a file.
    """

    tcp: bool = False
    http: bool = False
    dns: str | None = None
    record: str | None = None
    udp: str | None = None
    answer: str | None = None
    path: str | None = None
    keep_alive: bool = False
    unchecked: bool = False
    authorities: str | None = None

    def check(self) -> None:
        """Raise BadInput for options that contradict each other."""
        several = [
            name
            for name, said in (
                ("--tcp", self.tcp),
                ("--http", self.http),
                ("--dns", self.dns is not None),
                ("--udp", self.udp is not None),
            )
            if said
        ]
        if len(several) > 1:
            raise BadInput(f"say only one of {' and '.join(several)}")
        if self.record is not None and (self.dns is None or self.record not in RECORDS):
            raise BadInput(f"--record goes with --dns, and is one of {', '.join(RECORDS)}")
        if self.answer is not None and self.udp is None:
            raise BadInput("--answer goes with --udp")

    def request(self, target: Target) -> Ask | None:
        """Return what is asked of a service at a target; None if its protocol asks none."""
        match target.protocol:
            case "http" | "https":
                return Ask(
                    path=target.path,
                    host=target.host.partition("%")[0],
                    keep_alive=self.keep_alive,
                    trusted=self._trusted() if target.protocol == "https" else None,
                )
            case "dns":
                record = RECORDS[self.record or "A"]
                return Ask(question=Question(name=self.dns or "", record=record))
            case "datagram":
                parts = (self.answer or "").split(ANY_BYTES)
                return Ask(
                    payload=(self.udp or "").encode().hex(),
                    answer=ANY_BYTES.join(part.encode().hex() for part in parts),
                )
            case _:
                return None

    def _trusted(self) -> str | None:
        """Return the certificates of the authorities that are trusted; None for any certificate."""
        if self.unchecked:
            return None
        store = self.authorities or ssl.get_default_verify_paths().cafile
        if store is None:
            fix = "install ca-certificates, or say --insecure or --authorities FILE"
            raise BadInput("this machine has no file of authorities that it trusts", fix=fix)
        check_file(Path(store), LARGEST_STORE)
        return Path(store).read_text(encoding="utf-8")


def find_target(host: str, asking: Asking, port: int | None) -> Target:
    """Return the target of a ping; raise BadInput for options that contradict each other.

    An address of the web says by itself that it is HTTP.
    """
    asking.check()
    web = asking.http or re.match(r"https?://", host) is not None
    other = asking.tcp or asking.dns is not None or asking.udp is not None
    if asking.path is not None and not web:
        raise BadInput("--path goes with --http")
    if asking.keep_alive and not web:
        raise BadInput("--keep-alive goes with --http, http://… or https://…")
    if web and not other:
        return _of_web(host, port, asking)
    if "://" in host:
        raise BadInput(f"{host} is a URL: leave out all but the host")
    if asking.unchecked or asking.authorities:
        raise BadInput("--insecure and --authorities go with https://…")
    if asking.dns is not None:
        return Target(host, "dns", port or PORTS["dns"])
    if port is None:
        if asking.tcp or asking.udp is not None:
            example = "--tcp needs a port, such as --port 443"
            raise BadInput(example if asking.tcp else "--udp needs a port, such as --port 9000")
        return Target(host, "icmp")
    if not other:
        raise BadInput("--port goes with --tcp, --http, --dns or --udp")
    return Target(host, "tcp" if asking.tcp else "datagram", port)


def _of_web(host: str, port: int | None, asking: Asking) -> Target:
    """Return the target of HTTP requests, from a host or an address as https://HOST:PORT/PATH."""
    try:
        parts = urlsplit(host if "://" in host else f"http://{_bracketed(host)}")
        named, own_port = parts.hostname, parts.port
    except ValueError as error:
        raise BadInput(f"{host}: {error}") from None
    if parts.scheme not in ("http", "https"):
        raise BadInput(f"{parts.scheme} is neither http nor https")
    if parts.scheme == "http" and (asking.unchecked or asking.authorities):
        raise BadInput("--insecure and --authorities go with https://…")
    if named and ":" in named:
        # The % before a zone is written %25 in a URL (RFC 6874, section 2).
        named = named.replace("%25", "%", 1)
    if not named:
        raise BadInput(f"{host} names no host")
    query = f"?{parts.query}" if parts.query else ""
    wanted = asking.path if asking.path is not None else f"{parts.path or '/'}{query}"
    if not re.fullmatch(rf"/[!-~]{{0,{LONGEST_PATH - 1}}}", wanted):
        raise BadInput(f"a path begins with / and has at most {LONGEST_PATH} visible ASCII letters")
    protocol: Protocol = "https" if parts.scheme == "https" else "http"
    return Target(named, protocol, port or own_port or PORTS[protocol], wanted)


def _bracketed(host: str) -> str:
    """Return a host as it stands in an address of the web: IPv6 in brackets."""
    return f"[{host}]" if host.count(":") > 1 and not host.startswith("[") else host
