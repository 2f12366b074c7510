"""Description of a node for the program that starts containers."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Container:
    """A container to start.

    `agent` is its monitor's name, `capabilities` are those that its programs may have, `cpu_weight`
    is as in the lab file, `cpu_quota_us` the CPU time that it may use in each 100 ms.
    """

    name: str
    agent: str
    image: str
    capabilities: tuple[str, ...] = ()
    cpus: tuple[int, ...] | None = None
    memory_bytes: int | None = None
    cpu_weight: int | None = None
    cpu_quota_us: int | None = None

    @property
    def has_cpu_policy(self) -> bool:
        """Return True if its CPU time is weighed or limited."""
        return self.cpu_weight is not None or self.cpu_quota_us is not None

    @classmethod
    def parse(cls, text: str) -> Container:
        """Read the description back from `text`."""
        return cls(**json.loads(text))

    def text(self) -> str:
        """Return the description as JSON, one word of a command line."""
        return json.dumps(asdict(self))


def cpu_shares(weight: int) -> int:
    """Return a cgroup v2 weight (default 100) as cgroup v1 CPU shares (default 1024)."""
    return max(2, round(weight * 1024 / 100))
