"""The programs that can be routing daemons, and who writes their configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePosixPath

from delaylab.routing import bird, frr
from delaylab.routing.node_programs import NodePrograms
from delaylab.routing.router import Router
from delaylab.spec.programs import FileSpec
from delaylab.spec.routing.model import Daemons

WRITERS: Mapping[Daemons, Callable[[Router, str | None], NodePrograms]] = {
    "frr": frr.programs,
    "bird": bird.programs,
}
CONFIGS: Mapping[Daemons, str] = {"frr": frr.CONFIG, "bird": bird.CONFIG}
"""The configuration file of each program, in a router."""


def programs(router: Router, files: Mapping[str, FileSpec]) -> NodePrograms:
    """Return the files and programs of a router's daemons.

    `files` are those that the lab file gives the node: a configuration among them takes the place
    of that made from the lab.
    """
    own = files.get(CONFIGS[router.routing.by])
    return WRITERS[router.routing.by](router, None if own is None else own.content)


def has_own_configuration(by: Daemons, files: Iterable[str]) -> bool:
    """Return True if one of a node's files takes the place of a configuration of its daemons."""
    folder = PurePosixPath(CONFIGS[by]).parent
    return any(path.endswith(".conf") and PurePosixPath(path).parent == folder for path in files)
