"""What the container engine's helper is told of a node."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Container:
    """A container to start. `agent`: its monitor. `cpu_weight`: as in the lab file.

    `capabilities`: what its programs may have.
    """

    name: str
    agent: str
    image: str
    capabilities: tuple[str, ...] = ()
    cpus: tuple[int, ...] | None = None
    memory_bytes: int | None = None
    cpu_weight: int | None = None

    @classmethod
    def parse(cls, text: str) -> Container:
        """Back from `text`."""
        return cls(**json.loads(text))

    def text(self) -> str:
        """As one word of a command line."""
        return json.dumps(asdict(self))


def cpu_shares(weight: int) -> int:
    """A weight of cgroups version 2, of which 100 is usual, as shares of version 1 (1024)."""
    return max(2, round(weight * 1024 / 100))
