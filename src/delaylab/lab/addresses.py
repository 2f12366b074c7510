"""Addresses that the nodes of a running lab have now; `ip addr` in a node may change them."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from ipaddress import IPv4Interface, IPv6Interface, ip_interface

from delaylab.agent.result import AgentError
from delaylab.agent.wire.sessions import Addresses
from delaylab.lab.running import LiveLab

ANSWER_S = 5.0
"""Seconds that the nodes that are asked together have to answer."""
AT_ONCE = 200
"""The most nodes that are asked together: a session takes a file each."""
MOST_OTHERS = 16
"""The most addresses of an interface that are known beside the planned ones."""


def present(lab: LiveLab, nodes: Collection[str]) -> dict[str, Mapping[str, list[str]]]:
    """Return the addresses of nodes by interface; nodes that do not answer are left out."""
    found: dict[str, Mapping[str, list[str]]] = {}
    names = [*nodes]
    for first in range(0, len(names), AT_ONCE):
        sessions = {}
        for node in names[first : first + AT_ONCE]:
            with suppress(AgentError):
                session = lab.node_session(node)
                sessions[node] = session, session.start(Addresses())
        asked_s = time.monotonic()
        for node, (session, result) in sessions.items():
            with suppress(AgentError):
                session.finish(ANSWER_S, since_s=asked_s)
                found[node] = result.done.addresses
            session.close()
    return found


def compared(planned: Collection[str], now: Collection[str]) -> tuple[list[str], list[str]]:
    """Return the addresses that an interface has, the planned ones first, and those that it lost.

    What a guest's agent says is not trusted: anything else than an address is left out.
    """
    wanted = {ip_interface(each): each for each in planned}
    have = {found: None for each in now if (found := _parsed(each)) is not None}
    kept = [text for each, text in wanted.items() if each in have]
    lost = [text for each, text in wanted.items() if each not in have]
    others = [str(each) for each in have if each not in wanted]
    return [*kept, *others[:MOST_OTHERS]], lost


def _parsed(text: str) -> IPv4Interface | IPv6Interface | None:
    try:
        # A zone may be any text.
        return None if "%" in text else ip_interface(text)
    except ValueError:
        return None
