"""A share that was asked, and whether what happened can have come of it."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

# 95 %, for a reader; and 99.9 %, for a verdict, of which one study may need hundreds.
SHOWN, JUDGED = 1.959964, 3.290527


@dataclass(frozen=True, slots=True)
class ShareCheck:
    """A share: asked, achieved, and Wilson's intervals of the achieved one (Wilson 1927, JASA
    22:209), of 95 % to show and of 99.9 % to judge by."""

    asked: float
    achieved: float
    interval: tuple[float, float]
    judged: tuple[float, float]

    @property
    def agrees(self) -> bool:
        """Whether what was asked lies within what was seen."""
        low, high = self.judged
        return low <= self.asked <= high

    def text(self, name: str) -> str:
        """Say what was seen."""
        low, high = self.interval
        seen = f"{100 * self.achieved:.3g} % [{100 * low:.3g}, {100 * high:.3g}]"
        return f"{name} was {seen} where {100 * self.asked:.3g} % is asked"


@dataclass(frozen=True, slots=True)
class Expected:
    """A share and by how much neighbours' fates hang together: their autocorrelation."""

    share: float
    correlation: float = 0.0

    def check(self, count: int, n: int) -> ShareCheck:
        """Compare with `count` of `n`, as many as are independent of each other counted."""
        alone = (1 - self.correlation) / (1 + self.correlation)
        return check_share(self.share, count, n, max(1.0, n * alone))


def expected_loss(loss: dict[str, Any]) -> Expected:
    """Return what a loss asks in the long run, in the form that the link engine reads."""
    if loss["model"] == "gilbert-elliott":
        to_bad, to_good = loss["to_bad"], loss["to_good"]
        bad = to_bad / (to_bad + to_good) if to_bad + to_good else 0.0
        lost_in_bad, lost_in_good = loss.get("lost_in_bad", 1.0), loss.get("lost_in_good", 0.0)
        # Fates hang together no more than states do, whose autocorrelation this is.
        kept_state = min(max(1 - to_bad - to_good, 0.0), 0.999)
        return Expected(bad * lost_in_bad + (1 - bad) * lost_in_good, kept_state)
    if loss["model"] == "pattern":
        runs = loss["runs"]
        # No chance at all; a part of a period may be too many or too few.
        return Expected(sum(runs[1::2]) / sum(runs), 1 - 1 / max(2, *runs))
    return Expected(loss["share"], loss.get("correlation", 0.0))


def check_share(asked: float, count: int, n: int, alone: float | None = None) -> ShareCheck:
    """Compare `count` of `n` with what was asked; `alone`: how many were independent."""
    share = count / n
    independent = n if alone is None else alone
    shown, judged = (wilson(share, independent, z) for z in (SHOWN, JUDGED))
    return ShareCheck(asked, share, shown, judged)


def wilson(share: float, n: float, z: float = SHOWN) -> tuple[float, float]:
    """Return Wilson's interval of a share seen in n trials."""
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * sqrt(max(0.0, share * (1 - share)) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)
