"""Delays of packets over links: figures 16 and 17. They are one way, from port to port."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from delaylab_study.papers.toolkit import (
    ENOUGH,
    Effect,
    Group,
    LinkError,
    Measured,
    in_words,
    mean_of_few,
    pick,
)

from ..published import AT_REST, DELAY_MS, UNDER_LOAD, Delays

MEASURED, SENDER = "wan", "measured"
"""The link whose conditions are measured, and the router that sends on it."""
ALL_STREAMS = "10"
"""Level of factor `streams` at which every stream is delayed."""
IDLE = "none"
"""Level of factor `load` without a load."""
AS_TRUE = 1.25
"""Limit for an error that is no larger than the paper's: a quarter more, for chance."""
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
        yield Measured(_named(each), Effect(least, (least, least)), (each.group,), words, published)


def earliest_at_rest(groups: list[Group]) -> Iterator[Measured]:
    """Yield the error of the earliest packet at rest in µs, for each delay."""
    return earliest(groups, loaded=False)


def earliest_under_load(groups: list[Group]) -> Iterator[Measured]:
    """Yield the error of the earliest packet under load as a share of the delay, for each delay."""
    return earliest(groups, loaded=True)


def errors(*, loaded: bool) -> Callable[[list[Group]], Iterator[Measured]]:
    """Return what yields, for each delay, its mean error over the paper's mean error."""

    def measure(groups: list[Group]) -> Iterator[Measured]:
        for each in delays(groups, loaded=loaded):
            theirs = _papers_us(each, UNDER_LOAD if loaded else AT_REST)
            ours = each.mean
            low, high = sorted(map(abs, ours.interval))
            low = 0.0 if ours.interval[0] < 0 < ours.interval[1] else low
            yield Measured(
                _named(each),
                Effect(abs(ours.value) / theirs, (low / theirs, high / theirs)),
                (each.group,),
                f"mean error {in_words(ours.value)}, the paper's {in_words(theirs)}",
                1.0,
            )

    return measure


def _papers_us(delay: Delay, paper: Delays) -> float:
    return abs(paper[delay.size][delay.configured][1] - DELAY_MS[delay.configured]) * 1000


def _named(delay: Delay) -> str:
    return f"{delay.configured}, {delay.size} bytes"
