"""A small lab whose forwarding tables are observed, and what its kernels say about them."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from delaylab.forwarding.tables import Hops, NextHop
from delaylab.lab.running import LiveLab
from delaylab.resolve.lab import Lab
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse
from delaylab.verbs.execute import captured
from tests.doing.labs.test_kill import children

CHAIN = """
lab: watched
ip: [4, 6]
nodes: {a: {}, r1: {forwards: true}, r2: {forwards: true}, b: {}}
links:
  - {between: [a, r1], name: near}
  - {between: [r1, r2], name: middle}
  - {between: [r2, b], name: far}
"""
QUIET_S = 0.3
"""Seconds without a change after which all changes are taken to have come."""


def lab_of(text: str) -> Lab:
    return lab_from(parse(text, "lab.yaml"))


def said(lab: LiveLab, node: str, *argv: str) -> str:
    code, out, err = captured(lab, node, list(argv))
    assert code == 0, err
    return out.decode()


def address(lab: LiveLab, node: str, link: str) -> str:
    return lab.plan.attachment(node, link).address


def hops(*each: tuple[str, str | None]) -> Hops:
    return frozenset(NextHop(*one) for one in each)


def shown(lab: LiveLab, node: str) -> dict[str, Hops]:
    """A node's tables as `ip` shows them, with routes over links that are up alone."""
    found: dict[str, Hops] = {}
    for version in ("-4", "-6"):
        for route in json.loads(said(lab, node, "ip", version, "-json", "route") or "[]"):
            prefix = {"default": "0.0.0.0/0" if version == "-4" else "::/0"}.get(
                route["dst"], route["dst"]
            )
            if prefix.startswith("fe80"):
                continue
            if "/" not in prefix:
                prefix += "/32" if version == "-4" else "/128"
            several = [
                hop
                for hop in route.get("nexthops", [route])
                if "linkdown" not in (*hop["flags"], *route["flags"])
            ]
            if not several:
                continue
            found[prefix] = (
                frozenset(NextHop(hop["dev"], hop.get("gateway")) for hop in several)
                if route.get("type", "unicast") == "unicast"
                else frozenset()
            )
    return found


def everywhere(lab: LiveLab) -> dict[str, dict[str, Hops]]:
    return {node: shown(lab, node) for node in lab.plan.nodes}


def observers() -> list[int]:
    """Processes of agents that this process started."""
    return [pid for pid in children(os.getpid()) if _arguments(pid)[1:] == ["serve"]]


def _arguments(pid: int) -> list[str]:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1]
    return []
