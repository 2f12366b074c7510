"""Cost of the instrument itself: the time that the taps add to a user RTT at rest.

At rest, blocks of packets with the taps off (phase `untapped`) and on (phase `before`) alternate.
Two neighbouring blocks, one of each, are a pair: both saw the same machine, whatever it did before
and afterwards. The cost is the mean difference of the pairs' medians.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from delaylab_study.analysis.packets.rtt import user_rtts
from delaylab_study.analysis.packets.table import Packets
from delaylab_study.analysis.packets.trial import TrialPackets
from delaylab_study.analysis.statistics.effects import Effect, mean_of_few
from delaylab_study.analysis.statistics.runs import Floats
from delaylab_study.dataset.records.trial import TrialRecord

UNTAPPED = "untapped"
TAPPED = "before"
# Smallest number of pairs of blocks.
ENOUGH = 4
# From this number of trials on, the interval is between trials, else between the pairs of all.
TRIALS = 3


@dataclass(frozen=True, slots=True)
class Pairs:
    """Medians in µs of one trial's pairs of blocks, with the taps on and off."""

    tapped: Floats
    untapped: Floats

    def __len__(self) -> int:
        return len(self.tapped)


@dataclass(frozen=True, slots=True)
class AtRest:
    """User RTTs at rest: the number with the taps on and off, and each trial's pairs of blocks.

    `in_turn` is false if all packets of one kind were sent before those of the other, as versions
    before alternating did.
    """

    tapped_n: int
    untapped_n: int
    trials: list[Pairs]
    in_turn: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The increase of the user RTT at rest by the taps (round trip, µs), or None and why.

    `tapped_us` and `untapped_us` are the means of the blocks' medians, `added` is their difference
    with its interval. `pairs` of blocks were compared, in `trials` trials.
    """

    tapped_n: int
    untapped_n: int
    tapped_us: float | None
    untapped_us: float | None
    added: Effect | None
    why: str = ""
    pairs: int = 0
    trials: int = 0

    @property
    def measurable(self) -> bool:
        """Return True if the whole interval of the increase lies above 0."""
        return self.added is not None and self.added.interval[0] > 0

    @property
    def at_most_us(self) -> float | None:
        """Return the upper end of the increase's interval, None if that is 0, less or unknown."""
        most = self.added.interval[1] if self.added else 0.0
        return most if 0 < most < math.inf else None


def at_rest(trials: Sequence[TrialPackets]) -> AtRest:
    """Return the user RTTs at rest of trials."""
    answered = [_answered(each.packets) for each in trials]
    count = {
        phase: sum(len(user.filter(pl.col("phase") == phase)) for user in answered)
        for phase in (TAPPED, UNTAPPED)
    }
    pairs = [_pairs(each.trial, user) for each, user in zip(trials, answered, strict=True)]
    in_turn = all(
        bool(trial.trial.rest_blocks) or UNTAPPED not in trial.packets.scheduled["phase"]
        for trial in trials
    )
    return AtRest(count[TAPPED], count[UNTAPPED], [each for each in pairs if len(each)], in_turn)


def _answered(packets: Packets) -> pl.DataFrame:
    """Return the sequence number, the phase and the user RTT in µs of each answered packet."""
    user = (user_rtts(packets) / 1000).alias("user")
    return packets.scheduled.select("seq", "phase").with_columns(user).drop_nulls("user")


def _pairs(trial: TrialRecord, answered: pl.DataFrame) -> Pairs:
    """Return the medians of a trial's pairs of answered blocks."""
    seq, user = answered["seq"].to_numpy(), answered["user"].to_numpy()
    medians: dict[int, dict[bool, float]] = {}
    for block in trial.rest_blocks:
        inside = user[(seq >= block.first_seq) & (seq < block.first_seq + block.packets)]
        if len(inside):
            medians.setdefault(block.pair, {})[block.tapped] = float(np.median(inside))
    whole = [pair for pair in medians.values() if len(pair) == 2]
    tapped, untapped = (np.array([pair[side] for pair in whole]) for side in (True, False))
    return Pairs(tapped, untapped)


def cost(parts: list[AtRest]) -> Cost:
    """Return the taps' cost over one or more groups.

    The interval is Student's, of the trials' means from `TRIALS` trials on, else of the pairs.
    """
    on, off = sum(part.tapped_n for part in parts), sum(part.untapped_n for part in parts)
    trials = [trial for part in parts for trial in part.trials]
    pairs = sum(len(trial) for trial in trials)
    if pairs < ENOUGH:
        return Cost(
            tapped_n=on,
            untapped_n=off,
            tapped_us=None,
            untapped_us=None,
            added=None,
            why=_why(parts, pairs),
            pairs=pairs,
            trials=len(trials),
        )
    sides = [trial.tapped for trial in trials], [trial.untapped for trial in trials]
    if len(trials) >= TRIALS:
        tapped, untapped = (np.array([each.mean() for each in side]) for side in sides)
    else:
        tapped, untapped = (np.concatenate(side) for side in sides)
    return Cost(
        tapped_n=on,
        untapped_n=off,
        tapped_us=float(tapped.mean()),
        untapped_us=float(untapped.mean()),
        added=mean_of_few(tapped - untapped),
        pairs=pairs,
        trials=len(trials),
    )


def _why(parts: list[AtRest], pairs: int) -> str:
    if not all(part.in_turn for part in parts):
        return (
            "the packets with the taps on were not sent by turns with those with the taps off, so "
            "drift would count as cost; run the study again"
        )
    return f"needs {ENOUGH} pairs of blocks at rest with the taps on and off; there are {pairs}"
