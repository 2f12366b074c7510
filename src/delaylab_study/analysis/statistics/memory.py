"""Memory of delays: the number of independent packets that a series is worth.

Neighbouring packets share a queue, so n of them tell less than n independent ones. Their integrated
autocorrelation time is 1 plus twice the sum of the autocorrelations at all lags. n divided by it is
the effective sample size: a mean varies as that of so many independent values would.

A series is taken as a slow part, autoregressive of order one, and a part without memory. Each pair
of the slow part's time and share (`MODELS`) counts by its likelihood, which is Whittle's (1953,
Arkiv för Matematik 2:423), and the times of all are averaged. A short series cannot rule out a
long memory, so its time includes a part of one.

A long series is read twice. Stretches of it show the memory of near packets; of more than
`STRETCHES` a random one of each of so many equal parts is read, which is enough to tell. The means
of batches, of which there are few enough to be read whole, show the memory that is longer than a
stretch: the time is then that of the means, multiplied by the packets of a batch and by the share
of the packets' variance that the means have. The longer of the two times counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from math import pi
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from delaylab_study.analysis.statistics.runs import Floats, Ranked, Run, ranked, spread, whole

# Longest stretch whose spectrum is taken whole; longer series are cut into stretches.
STRETCH = 4096
# Largest number of stretches of a run whose spectra are taken.
STRETCHES = 64
# Largest number of batches of a trial whose means are a series of their own.
BATCHES = 2048
# Probability, before any packet is seen, that packets are independent.
INDEPENDENT = 0.5
# A slow part whose time is over this share of a stretch cannot be told from a drift.
LONGEST = 0.5
# Lags that are summed one by one; those beyond them are integrated.
LAGS = np.arange(1, 65)
# In a Gaussian series rarer flags have a shorter memory. Flags rarer than this count as if they
# were not: too few are seen to tell.
RAREST = 0.01
ANGLES = np.linspace(0, pi / 2, 400)


@dataclass(frozen=True, eq=False)
class Models:
    """Memories that are compared: how much each lag keeps of the slow part, and its share."""

    kept: Floats
    share: Floats

    @cached_property
    def slow(self) -> Floats:
        """Return the integrated autocorrelation times of the slow parts."""
        return np.asarray((1 + self.kept) / (1 - self.kept))

    @cached_property
    def log_times(self) -> Floats:
        """Return the logarithms of the integrated autocorrelation times, which are averaged."""
        return np.log(1 + self.share * (self.slow - 1))

    def spectra(self, angles: Floats) -> Floats:
        """Return the spectral densities, one row for each memory, for a variance of 1."""
        share = self.share[:, None]
        return np.asarray(share * self.of_slow(angles) + 1 - share)

    def of_slow(self, angles: Floats) -> Floats:
        """Return the spectral densities of the slow parts."""
        kept = self.kept[:, None]
        return np.asarray((1 - kept**2) / (1 - 2 * kept * np.cos(angles) + kept**2))


@dataclass(frozen=True, eq=False)
class MeansModels(Models):
    """Memories of the means of batches, whose slow part decays continuously within a batch."""

    @cached_property
    def decay(self) -> Floats:
        """Return the length of a batch, in times that a slow part takes to decay by e."""
        return -np.log(self.kept)

    @cached_property
    def averaged(self) -> Floats:
        """Return the share of a slow part's variance that is left in the means."""
        return np.asarray(2 * (self.decay - 1 + self.kept) / self.decay**2)

    @cached_property
    def slow(self) -> Floats:
        """Return the integrated autocorrelation times of the slow parts, in batches."""
        return np.asarray(2 / self.decay / self.averaged)

    def of_slow(self, angles: Floats) -> Floats:
        """Return the spectral densities of the means of the slow parts."""
        kept, first = self.kept[:, None], ((1 - self.kept) / self.decay) ** 2 / self.averaged
        cosine = np.cos(angles)
        later = (cosine - kept) / (1 - 2 * kept * cosine + kept**2)
        return np.asarray(1 + 2 * first[:, None] * later)


def _models() -> Models:
    """Return independence, and all pairs of times and shares."""
    times, shares = np.meshgrid(np.geomspace(1.2, 1500, 48), np.linspace(0.1, 1, 10))
    kept = ((times - 1) / (times + 1)).ravel()
    return Models(np.append(0.0, kept), np.append(0.0, shares.ravel()))


def _models_of_means() -> MeansModels:
    """Return independence, and all pairs of decays and shares.

    Means have lost most of the part without memory. If the share nearest to all of it were far from
    that, what is left would be taken for a slow part that is less slow.
    """
    shares = [*np.linspace(0.1, 0.9, 9), 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 1]
    decays, of_slow = np.meshgrid(np.geomspace(6, 2 / 1500, 48), shares)
    return MeansModels(np.exp(-np.append(50.0, decays.ravel())), np.append(0.0, of_slow.ravel()))


MODELS, OF_MEANS = _models(), _models_of_means()


def autocorrelation_times(trials: Sequence[Floats]) -> Floats:
    """Return the integrated autocorrelation times, at least 1, of series observed together.

    Each trial has one row per series and one column per packet. A time holds for all trials: they
    are taken to have one memory, each about a mean of its own.
    """
    near = np.exp(_weights(trials) @ MODELS.log_times)
    return np.asarray(np.maximum(near, _far(trials).times))


def quantile_times(run: Sequence[Ranked], qs: Sequence[float]) -> Floats:
    """Return the autocorrelation time that counts for each quantile of a run.

    A quantile varies as the share of packets below it does. The memory of that share is estimated
    in two ways, of which the longer one counts: from whether each packet was below, and from the
    ranks, as if they were those of a Gaussian series. Ranks tell the memory of the whole more
    precisely, but not that of bursts, which only the upper quantiles have.
    """
    rows = []
    for trial in run:
        below = trial.values <= trial.quantiles(qs)[:, None]
        rows.append(np.vstack([below, trial.ranks]))
    weights = _weights(rows)
    own = weights[:-1] @ MODELS.log_times
    rare = [round(min(q, 1 - q), 9) for q in qs]
    by_ranks = [weights[-1] @ np.log(_indicator_times(q)) for q in rare]
    near = np.exp(np.maximum(own, by_ranks))
    far = _far(rows)
    return np.asarray(
        np.maximum(near, np.maximum(far.times[:-1], [far.flags(-1, q) for q in rare]))
    )


def share_time(flags: Run, delays: Run) -> float:
    """Return the autocorrelation time that counts for the share of packets that are flagged.

    It is the longer of two estimates, as for a quantile. One is from the flags. The other is from
    the ranks of the delays, since a few flags alone look independent.
    """
    rows = [np.vstack([own, ranks(trial)]) for own, trial in zip(flags, delays, strict=True)]
    weights = _weights(rows)
    share = float(whole(flags).mean())
    q = max(round(min(share, 1 - share), 2), RAREST)
    own, by_ranks = weights[0] @ MODELS.log_times, weights[1] @ np.log(_indicator_times(q))
    far = _far(rows)
    return max(float(np.exp(max(own, by_ranks))), float(far.times[0]), far.flags(1, q))


def ranks(values: Floats) -> Floats:
    """Return the ranks of values, equal values at the middle of theirs."""
    return ranked(values).ranks


@dataclass(frozen=True, slots=True)
class _Far:
    """The memory of each series beyond a stretch, by the means of batches of `batch` packets.

    `share` is that of the packets' variance which the means have, `weights` the probability of each
    memory of the means.
    """

    batch: int
    share: Floats
    weights: Floats

    @property
    def times(self) -> Floats:
        """Return the autocorrelation times in packets."""
        return np.asarray(np.exp(self.weights @ OF_MEANS.log_times) * self.batch * self.share)

    def flags(self, row: int, q: float) -> float:
        """Return the time of *below the quantile q or not* if this series is of Gaussian ranks."""
        if self.batch == 1:
            return 1.0
        of_packets = np.minimum(OF_MEANS.share * self.share[row] / OF_MEANS.averaged, 1)
        slow = Models(OF_MEANS.kept ** (1 / self.batch), of_packets)
        return float(np.exp(self.weights[row] @ np.log(_times_of_flags(slow, q))))


def _far(trials: Sequence[Floats]) -> _Far:
    """Return the memory beyond a stretch; without it if no trial is longer than one."""
    rows = trials[0].shape[0]
    longest = max(trial.shape[-1] for trial in trials)
    if longest <= STRETCH:
        return _Far(1, np.zeros(rows), np.eye(1, len(OF_MEANS.kept)).repeat(rows, axis=0))
    batch = -(-longest // BATCHES)
    means, squares, of_means = [], np.zeros(rows), np.zeros(rows)
    for trial in trials:
        number = trial.shape[-1] // batch
        if number < 2:
            continue
        whole_batches = trial[..., : number * batch]
        means.append(whole_batches.reshape(-1, number, batch).mean(axis=-1))
        squares += number * whole_batches.var(axis=-1)
        of_means += number * means[-1].var(axis=-1)
    share = np.divide(of_means, squares, out=np.zeros(rows), where=squares > 0)
    return _Far(batch, share, _weights(means, OF_MEANS))


def _weights(trials: Sequence[Floats], models: Models = MODELS) -> Floats:
    """Return the probability of each memory, a row for each series."""
    told = np.zeros((trials[0].shape[0], len(models.kept)))
    spent, count = np.zeros_like(told), 0
    longest = 0
    # Trials of one length have one spectrum, by which the sum of their powers is divided at once.
    together: dict[int, tuple[Floats, int]] = {}
    whole_pieces = [-(-trial.shape[-1] // STRETCH) or 1 for trial in trials]
    read = min(1.0, STRETCHES / sum(whole_pieces))
    for trial, pieces in zip(trials, whole_pieces, strict=True):
        n = trial.shape[-1] // pieces
        longest = max(longest, n)
        stretches = trial[..., : pieces * n].reshape(-1, pieces, n)
        if read < 1:
            stretches = stretches[:, spread(pieces, max(1, round(read * pieces)))]
        power = _power(stretches)
        so_far, number = together.get(n, (np.zeros_like(power), 0))
        together[n] = so_far + power, number + stretches.shape[1]
    for n, (power, number) in together.items():
        inverse, logs = _spectra(n, models)
        if not len(inverse):
            continue
        # BLAS takes threads for a product of this size. Beside other work they wait for each other:
        # 10 ms or more for what is one.
        spent += np.einsum("ij,jk->ik", power, inverse)
        told -= number * logs
        count += number * len(inverse)
    constant = spent[:, 0] <= 0
    spent[constant] = 1.0
    if count:
        told -= count * np.log(spent)
    likely = told + _expected(longest, models)
    likely[constant] = _expected(0, models)
    weights = np.exp(likely - likely.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _power(stretches: Floats) -> Floats:
    """Return the periodogram of each row, summed over its stretches, without 0 and the highest."""
    n = stretches.shape[-1]
    centred = stretches - stretches.mean(axis=-1, keepdims=True)
    power = np.abs(np.fft.rfft(centred)[..., 1 : (n - 1) // 2 + 1]) ** 2
    return np.asarray(power.sum(axis=1))


@lru_cache(maxsize=16)
def _spectra(n: int, models: Models) -> tuple[Floats, Floats]:
    """Return 1 by each memory's spectrum (a column each), and the sum of each one's logarithm."""
    angles = 2 * pi * np.arange(1, (n - 1) // 2 + 1) / n
    spectra = models.spectra(angles)
    return np.ascontiguousarray(1 / spectra.T), np.log(spectra).sum(axis=1)


@lru_cache(maxsize=256)
def _expected(n: int, models: Models) -> Floats:
    """Return the logarithm of each memory's probability before any of n packets is seen."""
    possible: NDArray[np.bool_] = (models.share > 0) & (models.slow < LONGEST * n)
    prior = np.where(possible, (1 - INDEPENDENT) / max(1, int(possible.sum())), 0.0)
    prior[0] = INDEPENDENT
    with np.errstate(divide="ignore"):
        return np.log(prior)


@cache
def _indicator_times(q: float) -> Floats:
    """Return the time of *below the quantile q or not* for each of `MODELS`."""
    return _times_of_flags(MODELS, q)


def _times_of_flags(models: Models, q: float) -> Floats:
    """Return the time of *below the quantile q or not* for a Gaussian series of each memory."""
    keeps, sums = _indicators(q)
    sines = np.sin(ANGLES)
    summed = np.interp(models.share[:, None] * models.kept[:, None] ** LAGS, sines, keeps)
    last = models.share * models.kept ** LAGS[-1]
    rate = -np.log(np.maximum(models.kept, 1e-9))
    beyond = np.interp(last, sines, sums) / rate - np.interp(last, sines, keeps) / 2
    return np.asarray(1 + 2 * (summed.sum(axis=1) + np.maximum(beyond, 0)))


@lru_cache(maxsize=256)
def _indicators(q: float) -> tuple[Floats, Floats]:
    """Return the correlation of indicators where that of Gaussians is the sine of each of `ANGLES`.

    It is Plackett's integral (1954, Biometrika 41:351) by the variance of the indicator. The other
    array is the integral of that correlation by its logarithmic argument.
    """
    square = NormalDist().inv_cdf(q) ** 2
    density = np.exp(-square / (1 + np.sin(ANGLES))) / (2 * pi * q * (1 - q))
    keeps = _integral(density, ANGLES)
    slope = np.append(density[0], keeps[1:] / np.sin(ANGLES[1:]))
    return keeps, _integral(slope, np.sin(ANGLES))


def _integral(values: Floats, over: Floats) -> Floats:
    """Return the integral up to each place, by trapezia."""
    return np.concatenate([[0.0], np.cumsum((values[1:] + values[:-1]) / 2 * np.diff(over))])
