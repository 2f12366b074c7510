"""Check of a share that happened against the share that was configured, and intervals of shares."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, floor, lgamma, log, log1p

from delaylab.spec.conditions.engine import GilbertElliott, Loss, Pattern

SHOWN, JUDGED = 0.95, 0.999
"""The levels of intervals for readers, and of those that decide: one study may need hundreds of
verdicts, and each could fail by chance."""
NEGLIGIBLE = 1e-9
"""The part of a sum from which on further terms, which fall faster and faster, do not count."""
PRECISE = 1e-9
"""The part of an interval's end to which it is worked out."""
MOST_TERMS = 1_000_000
"""The most terms of a fraction: about the square root of the number of frames is needed."""


@dataclass(frozen=True, slots=True)
class ShareCheck:
    """The configured and the achieved share, with exact intervals of the latter.

    `count` of `n` independent frames decide (Clopper and Pearson 1934, Biometrika 26:404). Wilson's
    interval is too short where few frames are expected to be hit: one of 20 frames, lost at 0.1 %,
    lies beyond its 99.9 % interval, and happens in one of 50 series.
    """

    configured: float
    achieved: float
    count: int
    n: int

    @property
    def agrees(self) -> bool:
        """Return True if the configured share lies in the 99.9 % interval of the achieved one."""
        return _agree(self.count, self.n, self.configured)

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 95 % interval of the achieved share, to be shown."""
        return exact(self.count, self.n, SHOWN)

    @property
    def judged(self) -> tuple[float, float]:
        """Return the 99.9 % interval of the achieved share; `agrees` decides by it."""
        return exact(self.count, self.n, JUDGED)

    def text(self, name: str) -> str:
        """Return the check in words; `name` says what happened to the frames."""
        low, high = self.interval
        seen = f"{100 * self.achieved:.3g} % [{100 * low:.3g}, {100 * high:.3g}]"
        return f"{name} was {seen}; {100 * self.configured:.3g} % is configured"


@dataclass(frozen=True, slots=True)
class ExpectedShare:
    """The expected share of frames, and the autocorrelation of neighbouring frames' fates."""

    share: float
    correlation: float = 0.0

    def check(self, count: int, n: int) -> ShareCheck:
        """Check `count` of `n` frames against the share, counting only independent frames."""
        alone = (1 - self.correlation) / (1 + self.correlation)
        return check_share(self.share, count, n, max(1.0, n * alone))


def expected_loss(loss: Loss) -> ExpectedShare:
    """Return the long-run share of frames that a loss condition loses."""
    if isinstance(loss, GilbertElliott):
        to_bad, to_good = loss.to_bad, loss.to_good
        bad = to_bad / (to_bad + to_good) if to_bad + to_good else 0.0
        # The fates of neighbouring frames are correlated at most as strongly as the states are,
        # whose autocorrelation this is.
        kept_state = min(max(1 - to_bad - to_good, 0.0), 0.999)
        return ExpectedShare(bad * loss.lost_in_bad + (1 - bad) * loss.lost_in_good, kept_state)
    if isinstance(loss, Pattern):
        # A pattern involves no chance, but the count can be off by a part of a period.
        return ExpectedShare(sum(loss.runs[1::2]) / sum(loss.runs), 1 - 1 / max(2, *loss.runs))
    return ExpectedShare(loss.share, loss.correlation)


def check_share(configured: float, count: int, n: int, alone: float | None = None) -> ShareCheck:
    """Check `count` of `n` against the configured share; `alone`: number of independent ones.

    Parts of independent frames are left out on the side of the configured share.
    """
    achieved = count / n
    if alone is None:
        return ShareCheck(configured, achieved, count, n)
    independent = max(1, floor(alone))
    hit = achieved * independent
    whole = floor(hit) if achieved > configured else ceil(hit)
    return ShareCheck(configured, achieved, whole, independent)


def exact(count: int, n: int, level: float) -> tuple[float, float]:
    """Return the interval of Clopper and Pearson of a share that was seen in `count` of `n`."""
    rest = (1 - level) / 2
    low = _beta_quantile(count, n - count + 1, rest) if count else 0.0
    high = _beta_quantile(count + 1, n - count, 1 - rest) if count < n else 1.0
    return low, high


def _beta_quantile(a: float, b: float, p: float) -> float:
    """Return the value below which a beta distribution has the probability p, by bisection."""
    low, high = 0.0, 1.0
    while high - low > PRECISE * high:
        middle = (low + high) / 2
        if _beta_below(a, b, middle) < p:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _beta_below(a: float, b: float, x: float) -> float:
    """Return the probability that a beta distribution has below x, from 0 to 1.

    By the continued fraction (DLMF 8.17.22), which converges fast below the mean.
    """
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_below(b, a, 1 - x)
    if x <= 0:
        return 0.0
    first = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) / a
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, MOST_TERMS):
        for factor in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + factor * d)
            c = 1 + factor / c
            fraction *= c * d
        if abs(c * d - 1) < NEGLIGIBLE:
            break
    return first * fraction


def _agree(count: int, n: int, share: float) -> bool:
    """Return True if a count this far from n · share has a probability above (1 - JUDGED) / 2.

    The same as a share within `exact`, but without a library that `ps` would wait for.
    """
    if share in (0, 1):
        return count == n * share
    above = count > n * share
    # Sum from the count outwards; the terms fall from the first one on.
    term = exp(
        lgamma(n + 1)
        - lgamma(count + 1)
        - lgamma(n - count + 1)
        + count * log(share)
        + (n - count) * log1p(-share)
    )
    odds, total, k = share / (1 - share), 0.0, count
    while term > NEGLIGIBLE * total and total <= (1 - JUDGED) / 2:
        total += term
        if above:
            term *= (n - k) / (k + 1) * odds
            k += 1
        else:
            term *= k / (n - k + 1) / odds
            k -= 1
    return total > (1 - JUDGED) / 2
