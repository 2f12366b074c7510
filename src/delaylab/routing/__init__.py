"""Routing daemons: their configuration, written from a lab, and their programs. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from delaylab.routing import bird, frr
from delaylab.routing.router import NodePrograms, Router
from delaylab.spec.routing.model import Daemons

WRITERS: Mapping[Daemons, Callable[[Router], NodePrograms]] = {
    "frr": frr.programs,
    "bird": bird.programs,
}
CONFIGS: Mapping[Daemons, str] = {"frr": frr.CONFIG, "bird": bird.CONFIG}
"""The configuration file of each program, in a router."""
SPEAKERS = frozenset({"ospfd", "ospf6d", "isisd", "bgpd", "bird"})
"""The names of daemons that speak a routing protocol; zebra sets what they find."""


def programs(router: Router) -> NodePrograms:
    """Return the files and programs of a router's daemons."""
    return WRITERS[router.routing.by](router)


__all__ = ["CONFIGS", "SPEAKERS", "NodePrograms", "Router", "programs"]
