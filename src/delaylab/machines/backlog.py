"""The kernel's backlog of each CPU: frames that came in and wait to be worked on (softnet_stat)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SOURCE = Path("/proc/net/softnet_stat")


@dataclass(frozen=True, slots=True)
class Backlog:
    """Backlogs of a machine's CPUs since it booted.

    `dropped` are the frames that found one full, by the number of the CPU, without zeros.
    `squeezed` is how often a CPU had no time left for frames that waited.
    """

    dropped: dict[int, int]
    squeezed: int

    @property
    def text(self) -> str:
        """Return both in words."""
        frames = sum(self.dropped.values())
        which = ", ".join(f"CPU {cpu}: {count}" for cpu, count in self.dropped.items())
        where = f" ({which}; net.core.netdev_max_backlog is their length)" if which else ""
        return (
            f"frames dropped {frames}{where}, CPUs out of time for frames {self.squeezed} times "
            "since boot"
        )


def backlog(source: Path = SOURCE) -> Backlog | None:
    """Return the backlogs of this machine, None if its kernel does not say."""
    try:
        lines = source.read_text().splitlines()
        rows = [[int(word, 16) for word in line.split()] for line in lines]
        # Kernels since 5.10 name the CPU in the last of 13 columns or more.
        dropped = {row[12] if len(row) > 12 else at: row[1] for at, row in enumerate(rows)}
        return Backlog({cpu: n for cpu, n in dropped.items() if n}, sum(row[2] for row in rows))
    except (OSError, ValueError, IndexError):
        return None
