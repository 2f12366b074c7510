"""The paper's claims: what each measures, and the rule that decides it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from delaylab_study.papers.toolkit import (
    Claim,
    Criterion,
    Group,
    Measured,
    Source,
    above,
    at_least,
    delay,
    estimate,
    of_medians,
    pick,
    samples,
    shift,
)

from .published import INTERFACE_ADDS_US


def added_by_interface(groups: list[Group]) -> Iterator[Measured]:
    """Yield by how much the median RTT at rest is larger behind a virtual interface."""
    for virtual in pick(groups, stack="virtual", load="rest"):
        for own in pick(groups, stack="own", load="rest"):
            yield from _slower("at rest", virtual, own, INTERFACE_ADDS_US)


def added_by_load(groups: list[Group]) -> Iterator[Measured]:
    """Yield by how much the median RTT is larger beside a neighbour that computes."""
    for busy in pick(groups, stack="virtual", load="cpu"):
        for rest in pick(groups, stack="virtual", load="rest"):
            yield from _slower("virtual", busy, rest)


KERNEL_SHARE = of_medians(lambda kernel, user: kernel / user)


def below_user_space(groups: list[Group]) -> Iterator[Measured]:
    """Yield the share of the RTT that passes below user space."""
    for group in pick(groups, stack="virtual", load="rest"):
        kernel, user = samples(group, "stack"), samples(group, "app")
        if kernel is not None and user is not None:
            yield Measured("at rest", estimate([kernel, user], KERNEL_SHARE), (group,))


CLAIMS = (
    Claim(
        "interface-adds-delay",
        "A virtual interface adds delay.",
        Source("section 3", "The virtual interface made every round trip longer."),
        (
            Criterion(
                "median user RTT: behind a virtual interface − in the host's own stack",
                "µs",
                above(0),
                added_by_interface,
                "trials at rest with stack=virtual and with stack=own",
            ),
        ),
    ),
    Claim(
        "load-adds-delay",
        "A neighbour that computes adds delay.",
        Source("section 4", "A busy neighbour adds to the delay."),
        (
            Criterion(
                "median user RTT: beside a neighbour that computes − at rest",
                "µs",
                above(0),
                added_by_load,
                "trials with stack=virtual, under load=cpu and at rest",
            ),
        ),
    ),
    Claim(
        "half-of-it-in-the-kernel",
        "At least half of the RTT passes below user space.",
        Source("section 5", "At least half of it is spent in the kernel."),
        (
            Criterion(
                "median kernel RTT ÷ median user RTT",
                "share",
                at_least(0.5),
                below_user_space,
                "trials at rest with stack=virtual, and the point stack",
            ),
        ),
    ),
)


def _slower(
    scenario: str, slow: Group, fast: Group, published: float | None = None
) -> Iterator[Measured]:
    """Yield the difference of two groups' median RTTs, if both have enough packets."""
    ours, theirs = samples(slow, "app"), samples(fast, "app")
    if ours is not None and theirs is not None:
        words = " and ".join(delay(float(np.median(values))) for values in (ours, theirs))
        yield Measured(scenario, shift(ours, theirs), (slow, fast), f"medians {words}", published)
