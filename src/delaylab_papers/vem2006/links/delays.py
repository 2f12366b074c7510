"""Delays of packets over links: figures 16 and 17.

Errors of a link's delay are one way, from port to port. What a delay adds to the whole way is the
difference of kernel RTTs over hosts and router, with the delay and without.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from delaylab_study.papers.toolkit import (
    ENOUGH,
    Effect,
    Floats,
    Group,
    LinkError,
    Measured,
    by_repeat,
    in_words,
    mean_of_few,
    pick,
)

from ..published import AT_REST, DELAY_MS, UNDER_LOAD

MEASURED, SENDER = "wan", "measured"
"""The link whose conditions are measured, and the router that sends on it."""
ALL_STREAMS = "10"
"""Level of factor `streams` at which every stream is delayed."""
IDLE = "none"
"""Level of factor `load` without a load."""
AS_TRUE = 1.0
"""Limit for an error over the largest one that the paper's numbers leave possible."""
PINGS = 100
"""Packets of each mean of figures 16 and 17, by section IV A."""
ROUNDED_MS = {"0": 0.0005, "100us": 0.0005, "1ms": 0.05, "10ms": 0.05, "100ms": 0.5}
"""Half a unit of the last digit of figure 16's means, by configured delay."""
RTT = "stack"
"""The delay over the whole way: there and back, between the stamps of the sender's kernel.

The paper's packets are stamped as tcpdump receives them, on a machine of their own (IV A). Here the
sender shares its CPU with the load, and a packet waits there up to 30 ms until its program runs.
"""
EARLY_SHARE = 0.025
"""Share of the configured delay by which a frame may be early under load. The paper's earliest were
up to 2.2 % early."""
STAMPS_US = 1.0
"""Largest error of two taps' stamps of one clock, in µs: the second may be taken this much
early."""


@dataclass(frozen=True, slots=True)
class Delay:
    """Errors of one configured delay, trial by trial: µs measured less configured, of n packets."""

    size: str
    configured: str
    n: int
    errors: tuple[LinkError, ...]
    group: Group

    @property
    def mean(self) -> Effect:
        """Return the mean error of the trials, with its interval."""
        return mean_of_few(np.array([error.mean for error in self.errors]))

    @property
    def deviation(self) -> float:
        """Return the standard deviation within a trial, the median of the trials."""
        return float(np.median([error.deviation for error in self.errors]))

    @property
    def median(self) -> float:
        """Return the median error, the median of the trials."""
        return float(np.median([error.median for error in self.errors]))

    @property
    def p99(self) -> float:
        """Return the 99th percentile of the error, the median of the trials."""
        return float(np.median([error.p99 for error in self.errors]))

    @property
    def least(self) -> float:
        """Return the error of the earliest packet of all."""
        return min(error.least for error in self.errors)

    @property
    def least_from_sender(self) -> float:
        """Return the error of the earliest packet, counted from the sender's last stamp.

        The stamp at the port may be taken late, so that a packet looks early.
        """
        return min(error.least_from_sender for error in self.errors)


def delays(groups: list[Group], *, loaded: bool) -> list[Delay]:
    """Return the errors of the configured delays, without rate and loss, at rest or under load."""
    found = []
    for group in pick(groups, streams=ALL_STREAMS, rate="none", loss="none"):
        if (group.factors["load"] != IDLE) != loaded:
            continue
        measured = [
            link.measured
            for link in group.directions
            if (of := link.verdict.direction).link == MEASURED and SENDER in of.nodes
        ]
        known = [(each.n, each.error) for each in measured if each and each.error]
        n = sum(count for count, _ in known)
        if n >= ENOUGH:
            levels = group.factors["size"], group.factors["delay"]
            found.append(Delay(*levels, n, tuple(error for _, error in known), group))
    return found


def earliest(groups: list[Group], *, loaded: bool) -> Iterator[Measured]:
    """Yield, for each delay, by how much the earliest packet came after its time.

    At rest it is in µs, under load a share of the configured delay.
    """
    paper = UNDER_LOAD if loaded else AT_REST
    for each in delays(groups, loaded=loaded):
        configured_us = DELAY_MS[each.configured] * 1000
        if configured_us == 0:
            continue
        least = each.least_from_sender
        published = paper[each.size][each.configured][0] * 1000 - configured_us
        words = f"the earliest of {each.n} packets {in_words(least)} after its time"
        if loaded:
            least, published = least / configured_us, published / configured_us
        named = f"{each.configured}, {each.size} bytes"
        yield Measured(named, Effect(least, (least, least)), (each.group,), words, published)


def earliest_at_rest(groups: list[Group]) -> Iterator[Measured]:
    """Yield the error of the earliest packet at rest in µs, for each delay."""
    return earliest(groups, loaded=False)


def earliest_under_load(groups: list[Group]) -> Iterator[Measured]:
    """Yield the error of the earliest packet under load as a share of the delay, for each delay."""
    return earliest(groups, loaded=True)


@dataclass(frozen=True, slots=True)
class Whole:
    """RTTs in µs over the whole way with one configured delay, one way, by block."""

    size: str
    configured: str
    by_block: dict[int, Floats]
    group: Group


def wholes(groups: list[Group], *, loaded: bool) -> dict[tuple[str, str], Whole]:
    """Return RTTs over the whole way by frame size and configured delay, at rest or under load."""
    found = {}
    for group in pick(groups, streams=ALL_STREAMS, rate="none", loss="none"):
        if (group.factors["load"] != IDLE) != loaded:
            continue
        rtts = {block: seen[RTT].to_numpy() for block, seen in by_repeat(group, RTT).items()}
        if sum(map(len, rtts.values())) >= ENOUGH:
            where = group.factors["size"], group.factors["delay"]
            found[where] = Whole(*where, rtts, group)
    return found


def added_under_load(groups: list[Group]) -> Iterator[Measured]:
    """Yield the error of what each delay adds to the mean kernel RTT.

    It is a multiple of the largest error that figure 16 leaves possible. Each trial is compared
    with that of its block without a delay: they have one load.
    """
    found = wholes(groups, loaded=True)
    for (size, configured), with_delay in found.items():
        without = found.get((size, "0"))
        both = without.by_block.keys() & with_delay.by_block.keys() if without else set()
        if configured == "0" or without is None or not both:
            continue
        configured_us = DELAY_MS[configured] * 1000
        error = mean_of_few(
            np.array(
                [
                    with_delay.by_block[block].mean()
                    - without.by_block[block].mean()
                    - configured_us
                    for block in sorted(both)
                ]
            )
        )
        possible = possible_us(size, configured)
        low, high = sorted(map(abs, error.interval))
        low = 0.0 if error.interval[0] < 0 < error.interval[1] else low
        theirs = abs(added_by_papers_us(size, configured))
        yield Measured(
            f"{configured}, {size} bytes",
            Effect(abs(error.value) / possible, (low / possible, high / possible)),
            (with_delay.group, without.group),
            f"off by {in_words(error.value)}, the paper's {in_words(theirs)}",
            theirs / possible,
        )


def added_by_papers_us(size: str, configured: str) -> float:
    """Return what a delay adds to the mean of figure 16 beyond itself, in µs."""
    means = {delay: mean for delay, (_, mean, _) in UNDER_LOAD[size].items()}
    return 1000 * (means[configured] - means["0"] - DELAY_MS[configured])


def possible_us(size: str, configured: str) -> float:
    """Return the largest such error that the paper's numbers leave possible, in µs.

    That is the error of its means, with half a unit of their last digits and the 95 % interval of
    the difference of two means of `PINGS` packets.
    """
    deviations = [UNDER_LOAD[size][delay][2] for delay in ("0", configured)]
    chance_ms = 1.96 * math.hypot(*deviations) / math.sqrt(PINGS)
    rounded_ms = ROUNDED_MS["0"] + ROUNDED_MS[configured]
    return abs(added_by_papers_us(size, configured)) + 1000 * (chance_ms + rounded_ms)
