"""The programs that can be routing daemons, and who writes their configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from delaylab.routing import bird, frr
from delaylab.routing.node_programs import NodePrograms
from delaylab.routing.router import Router
from delaylab.spec.routing.model import Daemons

WRITERS: Mapping[Daemons, Callable[[Router], NodePrograms]] = {
    "frr": frr.programs,
    "bird": bird.programs,
}
CONFIGS: Mapping[Daemons, str] = {"frr": frr.CONFIG, "bird": bird.CONFIG}
"""The configuration file of each program, in a router."""


def programs(router: Router) -> NodePrograms:
    """Return the files and programs of a router's daemons."""
    return WRITERS[router.routing.by](router)
