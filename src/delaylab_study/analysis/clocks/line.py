"""Offset of one clock from another, as a line in time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from delaylab_study.analysis.statistics.runs import Floats, Numbers

Nanoseconds = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ClockLine:
    """The offset of a clock at t of its reference: `base_ns + offset_ns + drift * (t - origin_ns)`.

    A positive offset means that the clock is ahead. `origin_ns` and `base_ns` are whole numbers, so
    that times since the epoch lose no digit.
    """

    origin_ns: int
    base_ns: int
    offset_ns: float
    drift: float

    @property
    def drift_ppm(self) -> float:
        """Return the drift in ppm: µs per second."""
        return self.drift * 1e6

    def offset(self, reference_ns: Numbers) -> Floats:
        """Return the clock's offset in ns, less `base_ns`, at these times of the reference."""
        since = np.asarray(reference_ns - self.origin_ns, dtype=np.float64)
        return self.offset_ns + self.drift * since

    def ahead(self, reference_ns: int) -> int:
        """Return the clock's offset in whole ns at this time of the reference."""
        return self.base_ns + round(self.offset_ns + self.drift * (reference_ns - self.origin_ns))

    def forward(self, reference_ns: Nanoseconds) -> Nanoseconds:
        """Convert times of the reference to times of the clock."""
        ahead = np.rint(self.offset(reference_ns)).astype(np.int64)
        return reference_ns + (ahead + self.base_ns)

    def back(self, clock_ns: Nanoseconds) -> Nanoseconds:
        """Convert times of the clock to times of the reference."""
        since = np.asarray(clock_ns - (self.base_ns + self.origin_ns), dtype=np.float64)
        behind = -(self.offset_ns + self.drift * since) / (1 + self.drift)
        return clock_ns - self.base_ns + np.rint(behind).astype(np.int64)
