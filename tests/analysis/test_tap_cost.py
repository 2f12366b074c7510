"""Control of the taps' cost: taps that cost nothing are not found to cost something.

All packets of a simulated trial are alike, whether their block is called tapped or not. An interval
of 95 % must exclude 0 in about 5 % of such trials, whatever the machine does meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.signal import lfilter

from delaylab_study.analysis.packets.instrument import AtRest, Pairs, cost
from delaylab_study.analysis.statistics.quantiles import Floats
from delaylab_study.dataset.records.trial import RestBlock
from delaylab_study.trial.rest import FEWEST, MOST, WARMING, schedule

RUNS = 1000
MOST_WRONG = 0.07


@dataclass(frozen=True)
class Machine:
    """User RTTs in µs as they come: drift from the first packet to the last, memory, spikes.

    The first of the packets that count nowhere takes `warming_us` longer, later ones less and less.
    """

    drift_us: float = 0.0
    correlation: float = 0.0
    spikes: float = 0.0
    warming_us: float = 0.0

    def rtts(self, random: np.random.Generator, n: int) -> Floats:
        before = [self.correlation * random.normal()]
        shocks = random.normal(0, np.sqrt(1 - self.correlation**2), n)
        noise, _ = lfilter([1], [1, -self.correlation], shocks, zi=before)
        at = np.arange(n)
        warming = self.warming_us * np.exp(-(at + WARMING) / 5)
        steady = 60 + self.drift_us * at / n + warming
        late = random.random(n) < self.spikes
        return np.asarray(steady * np.exp(0.2 * noise) + late * random.exponential(1000, n))


MACHINES = {
    "steady": Machine(),
    "drifting": Machine(drift_us=60),
    "some memory": Machine(correlation=0.6),
    "much memory": Machine(correlation=0.9),
    "spikes": Machine(spikes=0.05),
    "all at once": Machine(-40, 0.9, 0.05, 200),
}


def trial(machine: Machine, seed: int, count: int, cost_us: float = 0.0) -> Pairs:
    """Return the pairs of one trial on this machine, whose taps cost `cost_us`."""
    blocks = schedule(count, seed)
    rtts = machine.rtts(np.random.default_rng(seed), 2 * count)
    medians: dict[tuple[int, bool], float] = {}
    for block in blocks:
        inside = rtts[block.first_seq : block.first_seq + block.packets]
        medians[block.pair, block.tapped] = float(np.median(inside)) + cost_us * block.tapped
    pairs = range(len(blocks) // 2)
    tapped, untapped = (np.array([medians[p, side] for p in pairs]) for side in (True, False))
    return Pairs(tapped, untapped)


def run(
    machine: Machine, seed: int, count: int, trials: int, cost_us: float = 0.0
) -> tuple[float, float]:
    """Return the interval of what the taps add in a study of so many trials."""
    pairs = [trial(machine, seed * trials + each, count, cost_us) for each in range(trials)]
    added = cost([AtRest(count, count, pairs, in_turn=True)]).added
    assert added is not None
    return added.interval


@pytest.mark.parametrize(
    ("count", "trials"),
    [
        (10, 1),
        (10, 3),
        (40, 1),
        *(
            pytest.param(*between, marks=pytest.mark.slow)
            for between in ((20, 1), (20, 3), (40, 3))
        ),
    ],
)
@pytest.mark.parametrize("name", MACHINES)
def test_taps_that_cost_nothing_seem_to_cost_something_in_5_of_100_runs(
    name: str, count: int, trials: int
) -> None:
    found = [run(MACHINES[name], seed, count, trials) for seed in range(RUNS)]
    wrong = sum(low > 0 or high < 0 for low, high in found)
    assert wrong <= MOST_WRONG * RUNS, f"{wrong} of {RUNS}"


def test_a_cost_of_a_third_of_the_rtt_is_found() -> None:
    found = [run(MACHINES["some memory"], seed, 40, 1, cost_us=20) for seed in range(200)]
    assert sum(low > 0 for low, _ in found) > 0.9 * len(found)
    assert sum(low <= 20 <= high for low, high in found) >= 0.93 * len(found)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 10, 20, 33, 1000])
def test_blocks_hold_all_packets_in_pairs_of_both_orders(count: int) -> None:
    blocks = schedule(count, seed=7)
    assert [block.packets for block in blocks if block.tapped] == [
        block.packets for block in blocks if not block.tapped
    ]
    assert sum(block.packets for block in blocks) == 2 * count
    assert all(a.pair == b.pair and a.tapped != b.tapped for a, b in pairs_of(blocks))
    starts = [block.first_seq for block in blocks]
    assert starts == list(np.cumsum([0, *(block.packets for block in blocks)])[:-1])
    number = len(blocks) // 2
    if count >= FEWEST:
        assert FEWEST <= number <= MOST
        assert sum(first.tapped for first, _ in pairs_of(blocks)) == number / 2


def pairs_of(blocks: list[RestBlock]) -> list[tuple[RestBlock, RestBlock]]:
    return list(zip(blocks[::2], blocks[1::2], strict=True))
