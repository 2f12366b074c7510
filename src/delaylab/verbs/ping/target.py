"""The host, protocol, port and path of a ping, from the options of the command line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from delaylab.errors import BadInput

HTTP_PORT = 80
LONGEST_PATH = 800
NO_TLS = "--http has no TLS; --tcp --port 443 times the handshake of https"


@dataclass(frozen=True, slots=True)
class Target:
    """The destination of a ping; `port` is 0 and `path` unused for ICMP."""

    host: str
    protocol: Literal["icmp", "tcp", "http"]
    port: int = 0
    path: str = "/"


def find_target(host: str, *, tcp: bool, http: bool, port: int | None, path: str | None) -> Target:
    """Return the target of a ping; raise BadInput for options that contradict each other."""
    if tcp and http:
        raise BadInput("say either --tcp or --http")
    if path is not None and not http:
        raise BadInput("--path goes with --http")
    if tcp and port is None:
        raise BadInput("--tcp needs a port, such as --port 443")
    if http:
        return _of_http(host, port, path)
    if "://" in host:
        raise BadInput(f"{host} is a URL: say --http, or leave out all but the host")
    if port is None:
        return Target(host, "icmp")
    if not tcp:
        raise BadInput("--port goes with --tcp or --http")
    return Target(host, "tcp", port)


def _of_http(host: str, port: int | None, path: str | None) -> Target:
    """Return the target of HTTP requests, from a host or an address as http://HOST:PORT/PATH."""
    try:
        parts = urlsplit(host if "://" in host else f"http://{_bracketed(host)}")
        named, own_port = parts.hostname, parts.port
    except ValueError as error:
        raise BadInput(f"{host}: {error}") from None
    if parts.scheme != "http":
        raise BadInput(NO_TLS if parts.scheme == "https" else f"{parts.scheme} is not http")
    if named and ":" in named:
        # The % before a zone is written %25 in a URL (RFC 6874, section 2).
        named = named.replace("%25", "%", 1)
    if not named:
        raise BadInput(f"{host} names no host")
    query = f"?{parts.query}" if parts.query else ""
    wanted = path if path is not None else f"{parts.path or '/'}{query}"
    if not re.fullmatch(rf"/[!-~]{{0,{LONGEST_PATH - 1}}}", wanted):
        raise BadInput(f"a path begins with / and has at most {LONGEST_PATH} visible ASCII letters")
    return Target(named, "http", port or own_port or HTTP_PORT, wanted)


def _bracketed(host: str) -> str:
    """Return a host as it stands in an address of the web: IPv6 in brackets."""
    return f"[{host}]" if host.count(":") > 1 and not host.startswith("[") else host
