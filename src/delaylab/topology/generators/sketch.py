"""A generated network: nodes with their places, and the pairs that links join."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import cos, pi, sin

from delaylab.errors import BadInput
from delaylab.spec.counts import MOST_NODES
from delaylab.topology.model import Position

RADIUS = 100.0


@dataclass
class Sketch:
    """A network in the making."""

    nodes: dict[str, tuple[Position | None, bool]] = field(default_factory=dict)
    """Name -> its place, and whether it forwards."""
    links: list[tuple[str, str]] = field(default_factory=list)

    def node(self, name: str, x: float | None = None, y: float = 0, *, router: bool = True) -> str:
        """Add a node; return its name. Raise BadInput if a map has no room for it."""
        if len(self.nodes) >= MOST_NODES:
            raise BadInput(f"the map has more than {MOST_NODES} nodes", fix="see docs/limits.md")
        place = (
            None if x is None else Position(float(round(x, 2)), float(round(y, 2)), on_earth=False)
        )
        self.nodes[name] = (place, router)
        return name

    def circle(self, names: Iterable[str]) -> list[str]:
        """Add nodes on a circle."""
        listed = list(names)
        for index, name in enumerate(listed):
            angle = 2 * pi * index / len(listed)
            self.node(name, RADIUS * sin(angle), -RADIUS * cos(angle))
        return listed

    def link(self, a: str, b: str) -> None:
        """Add a link."""
        self.links.append((a, b))


def numbered(word: str, number: int) -> list[str]:
    """Return `r1`, `r2` and so on."""
    return [f"{word}{index}" for index in range(1, number + 1)]
