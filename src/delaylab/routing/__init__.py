"""Routing daemons: their configuration, written from a lab, and their programs. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from delaylab.routing import bird, frr
from delaylab.routing.router import NodePrograms, Router
from delaylab.spec.routing import Daemons

WRITERS: Mapping[Daemons, Callable[[Router], NodePrograms]] = {
    "frr": frr.programs,
    "bird": bird.programs,
}


def programs(router: Router) -> NodePrograms:
    """Return the files and programs of a router's daemons."""
    return WRITERS[router.routing.by](router)


__all__ = ["NodePrograms", "Router", "programs"]
