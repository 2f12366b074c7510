"""Tests of the paper's claims."""

from __future__ import annotations

import numpy as np

from delaylab.papers.toolkit import (
    Claim,
    Floats,
    Group,
    NotTestable,
    Result,
    compare,
    delay,
    estimate,
    pick,
    samples,
)

from .published import INTERFACE_ADDS_US


def interface_adds_delay(groups: list[Group]) -> Result:
    """Test whether the median RTT at rest is larger behind a virtual interface."""
    virtual, own = _rtt(groups, "virtual", "rest"), _rtt(groups, "own", "rest")
    found = compare(virtual, own)
    medians = " and ".join(delay(median) for median in found.medians)
    why = f"medians {medians}; the paper's differ by {delay(INTERFACE_ADDS_US)}"
    return Result(found.shift.interval[0] > 0, why, found.shift, "µs")


def load_adds_delay(groups: list[Group]) -> Result:
    """Test whether the median RTT is larger beside a neighbour that computes."""
    busy, rest = _rtt(groups, "virtual", "cpu"), _rtt(groups, "virtual", "rest")
    found = compare(busy, rest)
    why = f"medians {' and '.join(delay(median) for median in found.medians)}"
    return Result(found.shift.interval[0] > 0, why, found.shift, "µs")


def half_of_it_in_the_kernel(groups: list[Group]) -> Result:
    """Test whether at least half of the RTT passes below user space."""
    user = _rtt(groups, "virtual", "rest")
    kernel = samples(pick(groups, stack="virtual", load="rest")[0], "stack")
    if kernel is None:
        raise NotTestable("needs the sender's point stack")
    share = estimate([kernel, user], _share)
    why = f"kernel RTT {delay(float(np.median(kernel)))} of {delay(float(np.median(user)))}"
    return Result(share.interval[0] >= 0.5, why, share, "share")


CLAIMS = (
    Claim(
        "interface-adds-delay",
        "A virtual interface adds delay.",
        "section 3",
        interface_adds_delay,
        effect="median user RTT: behind a virtual interface − in the host's own stack",
    ),
    Claim(
        "load-adds-delay",
        "A neighbour that computes adds delay.",
        "section 4",
        load_adds_delay,
        effect="median user RTT: beside a neighbour that computes − at rest",
    ),
    Claim(
        "half-of-it-in-the-kernel",
        "At least half of the RTT passes below user space.",
        "section 5",
        half_of_it_in_the_kernel,
        effect="median kernel RTT ÷ median user RTT",
    ),
)


def _rtt(groups: list[Group], stack: str, load: str) -> Floats:
    """Return the RTTs in user space in µs; raise NotTestable if too few were measured."""
    found = pick(groups, stack=stack, load=load)
    values = samples(found[0], "app") if found else None
    if values is None:
        raise NotTestable(f"needs trials with stack={stack} and load={load}")
    return values


def _share(series: list[Floats]) -> Floats:
    kernel, user = (np.median(values, axis=-1) for values in series)
    return np.asarray(kernel / user)
