"""How far one clock is ahead of another, as a line in time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Nanoseconds = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Line:
    """A clock is `base_ns + offset_ns + drift * (t - origin_ns)` ahead when the reference shows t.

    `origin_ns` and `base_ns` are whole numbers, so that times since the epoch lose no digit.
    """

    origin_ns: int
    base_ns: int
    offset_ns: float
    drift: float

    @property
    def drift_ppm(self) -> float:
        """The drift in µs per second."""
        return self.drift * 1e6

    def offset(self, reference_ns: NDArray[Any]) -> Floats:
        """Return how far the clock is ahead, less `base_ns`, when the reference shows these."""
        since = np.asarray(reference_ns - self.origin_ns, dtype=np.float64)
        return self.offset_ns + self.drift * since

    def ahead(self, reference_ns: int) -> int:
        """Return how many ns the clock is ahead when the reference shows this."""
        return self.base_ns + round(self.offset_ns + self.drift * (reference_ns - self.origin_ns))

    def forward(self, reference_ns: Nanoseconds) -> Nanoseconds:
        """Return what the clock shows when the reference shows these."""
        ahead = np.rint(self.offset(reference_ns)).astype(np.int64)
        return reference_ns + (ahead + self.base_ns)

    def back(self, clock_ns: Nanoseconds) -> Nanoseconds:
        """Return what the reference shows when the clock shows these."""
        since = np.asarray(clock_ns - (self.base_ns + self.origin_ns), dtype=np.float64)
        behind = -(self.offset_ns + self.drift * since) / (1 + self.drift)
        return clock_ns - self.base_ns + np.rint(behind).astype(np.int64)
