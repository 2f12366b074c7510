"""The host of a ping, and what is asked there, from the options of the command line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from delaylab.agent.asking import PORTS, RECORDS, certificates, dns_query, own_datagram
from delaylab.agent.wire.measuring import Ask
from delaylab.errors import BadInput

Protocol = Literal["icmp", "tcp", "http", "https", "dns", "datagram"]
LONGEST_PATH = 800


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
                checked = target.protocol == "https" and not self.unchecked
                return Ask(
                    path=target.path,
                    host=target.host.partition("%")[0],
                    keep_alive=self.keep_alive,
                    trusted=certificates(self.authorities) if checked else None,
                )
            case "dns":
                return dns_query(self.dns or "", self.record or "A")
            case "datagram":
                return own_datagram(self.udp or "", self.answer)
            case _:
                return None


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
