"""Check of a share that happened against the share that was configured."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from delaylab.spec.link_conditions import GilbertElliott, Loss, Pattern

# Standard normal quantiles: 95 % for readers; 99.9 % for verdicts, since one study may need
# hundreds of them and each could fail by chance.
SHOWN, JUDGED = 1.959964, 3.290527


@dataclass(frozen=True, slots=True)
class ShareCheck:
    """Share configured and share achieved, with Wilson's intervals of the latter.

    `interval` is the 95 % interval, to be shown, `judged` the 99.9 % interval, by which `agrees`
    decides (Wilson 1927, JASA 22:209).
    """

    configured: float
    achieved: float
    interval: tuple[float, float]
    judged: tuple[float, float]

    @property
    def agrees(self) -> bool:
        """Return True if the configured share lies in the 99.9 % interval of the achieved one."""
        low, high = self.judged
        return low <= self.configured <= high

    def text(self, name: str) -> str:
        """Return the check in words; `name` says what happened to the frames."""
        low, high = self.interval
        seen = f"{100 * self.achieved:.3g} % [{100 * low:.3g}, {100 * high:.3g}]"
        return f"{name} was {seen}; {100 * self.configured:.3g} % is configured"


@dataclass(frozen=True, slots=True)
class Expected:
    """Expected share of frames, and the autocorrelation of neighbouring frames' fates."""

    share: float
    correlation: float = 0.0

    def check(self, count: int, n: int) -> ShareCheck:
        """Check `count` of `n` frames against the share, counting only independent frames."""
        alone = (1 - self.correlation) / (1 + self.correlation)
        return check_share(self.share, count, n, max(1.0, n * alone))


def expected_loss(loss: Loss) -> Expected:
    """Return the long-run share of frames that a loss condition loses."""
    if isinstance(loss, GilbertElliott):
        to_bad, to_good = loss.to_bad, loss.to_good
        bad = to_bad / (to_bad + to_good) if to_bad + to_good else 0.0
        # The fates of neighbouring frames are correlated at most as strongly as the states are,
        # whose autocorrelation this is.
        kept_state = min(max(1 - to_bad - to_good, 0.0), 0.999)
        return Expected(bad * loss.lost_in_bad + (1 - bad) * loss.lost_in_good, kept_state)
    if isinstance(loss, Pattern):
        # A pattern involves no chance, but the count can be off by a part of a period.
        return Expected(sum(loss.runs[1::2]) / sum(loss.runs), 1 - 1 / max(2, *loss.runs))
    return Expected(loss.share, loss.correlation)


def check_share(configured: float, count: int, n: int, alone: float | None = None) -> ShareCheck:
    """Check `count` of `n` against the configured share; `alone`: number of independent ones."""
    share = count / n
    independent = n if alone is None else alone
    shown, judged = (wilson(share, independent, z) for z in (SHOWN, JUDGED))
    return ShareCheck(configured, share, shown, judged)


def wilson(share: float, n: float, z: float = SHOWN) -> tuple[float, float]:
    """Return Wilson's interval of a share seen in n trials."""
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * sqrt(max(0.0, share * (1 - share)) / n + z * z / (4 * n * n))
    # Where none or all are seen, that end is 0 or 1 exactly; floats miss it by a little.
    low = 0.0 if share <= 0 else max(0.0, middle - half)
    return low, 1.0 if share >= 1 else min(1.0, middle + half)
