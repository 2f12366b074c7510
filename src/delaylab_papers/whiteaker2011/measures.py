"""Quantities of whiteaker2011's claims: what each measures, scenario by scenario."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import numpy as np
import polars as pl
from numpy.typing import NDArray

from delaylab_study.papers.toolkit import (
    ENOUGH,
    IN_USE,
    Floats,
    Group,
    Measured,
    Run,
    by_repeat,
    estimate,
    in_words,
    median_in_words,
    of_medians,
    runs,
    setups,
    share_of,
    shift,
    whole,
)

from .published import TABLE

NETWORK, REST = "network", "rest"
XEN = "xen"
CONTAINER = "netns"
"""The kind that stands for OpenVZ: a virtual interface, and no hypervisor."""
HOST_STACK = ("native", "shared")
"""The kinds that stand for Linux and VServer: in the host's own stack."""
KINDS = (*HOST_STACK, XEN, CONTAINER)
"""The kinds that stand for the paper's environments."""
SENDING_SHARE = 0.8
"""Limit for "The vast majority of the delay occurs when sending"."""
HALF = 0.5
"""Limit for what is "significantly reduced" or "helps to achieve better results": half a delay."""
RECEIVING_US = {"native": 300.0, "shared": 300.0, XEN: 2000.0}
"""The receiving delay in µs that the paper's section 4.5 says is rarely exceeded, by kind."""
RARELY = 0.05
MODES_US = (1000.0, 10_000.0)
"""Xen's two classes of RTTs in µs: those below the first limit and those above the second."""
IN_TWO_CLASSES = 0.8
BEYOND_P99 = 0.01
"""The share of RTTs above 10 ms: the paper's 99th percentiles under CPU and I/O load are."""
MINIMUM_OF = 10
UNUSUAL = 0.99
"""A sample is bad if its delay is above this quantile of the setup's delays at rest."""
SMALL_QUEUES = (
    "A possible cause, which stamps alone do not tell: TCP small queues (kernels since 3.6) hold "
    "competing senders in the host's own stack back; the paper's kernel had none"
)


def by_setup(groups: list[Group], load: str) -> dict[str, Group]:
    """Return the groups under one load, by their setup."""
    named = zip(setups(groups), groups, strict=True)
    return {setup: group for setup, group in named if group.load == load}


def one_way_refused(group: Group) -> bool:
    """Return True if a one-way delay of the group was refused: its clocks are not aligned well."""
    delays = group.packets.one_way.values() if group.packets else ()
    return any(delay.median.at_most is not None for delay in delays)


def network_adds(groups: list[Group]) -> Iterator[Measured]:
    """Yield, for each setup, by how much network load adds more than any other load or none."""
    for setup, group in by_setup(groups, NETWORK).items():
        network = runs(group, "total")
        others = {
            other.load: (other, values)
            for name, other in zip(setups(groups), groups, strict=True)
            if name == setup
            and other.load != NETWORK
            and (values := runs(other, "total")) is not None
        }
        if network is None or not others:
            continue
        load = max(others, key=lambda each: float(np.median(whole(others[each][1]))))
        other, values = others[load]
        yield Measured(
            setup,
            shift(network, values),
            (group, other),
            f"{median_in_words(network)} under network load, "
            f"at most {median_in_words(values)} ({load})",
            _published_network(group.kind),
            aside=group.kind not in KINDS,
        )


def kernel_share_under_network(groups: list[Group]) -> Iterator[Measured]:
    """Yield, for each setup in the host's stack, the kernel's share of the network's delay."""
    for setup, group in by_setup(groups, NETWORK).items():
        kernel, total = runs(group, "ΔKern"), runs(group, "total")
        if group.kind not in HOST_STACK or kernel is None or total is None:
            continue
        row = TABLE[group.kind, NETWORK].median
        yield Measured(
            setup,
            estimate([kernel, total], of_medians(lambda part, all_: part / all_)),
            (group,),
            f"{median_in_words(kernel)} at the kernel's stamps, "
            f"{median_in_words(total)} in user space",
            row["ΔKern"] / row["total"],
        )


def user_above_kernel(groups: list[Group]) -> Iterator[Measured]:
    """Yield ΔUser less ΔKern for each setup in the host's own stack, under each load."""
    for setup, group in zip(setups(groups), groups, strict=True):
        kernel, user = runs(group, "ΔKern"), runs(group, "ΔUser")
        if group.kind not in HOST_STACK or kernel is None or user is None:
            continue
        row = TABLE.get((group.kind, group.load))
        yield Measured(
            f"{setup}, {group.load}",
            shift(user, kernel),
            (group,),
            f"ΔUser {median_in_words(user)}, ΔKern {median_in_words(kernel)}",
            1000 * (row.median["ΔUser"] - row.median["ΔKern"]) if row else None,
        )


def sending_share(groups: list[Group]) -> Iterator[Measured]:
    """Yield, for each setup, the share of sending in the delay under network load."""
    for setup, group in by_setup(groups, NETWORK).items():
        sending, receiving = runs(group, "sending"), runs(group, "receiving")
        if one_way_refused(group) or sending is None or receiving is None:
            continue
        yield Measured(
            setup,
            estimate(
                [sending, receiving], of_medians(lambda first, second: first / (first + second))
            ),
            (group,),
            f"sending {median_in_words(sending)}, receiving {median_in_words(receiving)}",
            aside=group.kind not in KINDS,
        )


def slow_receipts(groups: list[Group]) -> Iterator[Measured]:
    """Yield, for each setup, the share of packets whose receipt took longer than the paper says."""
    for setup, group in by_setup(groups, NETWORK).items():
        receiving = runs(group, "receiving")
        limit = RECEIVING_US.get(group.kind)
        if limit is None or receiving is None or one_way_refused(group):
            continue
        slow = share_of([trial > limit for trial in receiving], receiving)
        yield Measured(
            setup,
            slow,
            (group,),
            f"receiving {median_in_words(receiving)}; {slow.value:.1%} above {in_words(limit)}",
        )


def in_two_classes(groups: list[Group]) -> Iterator[Measured]:
    """Yield, for each stress case of Xen but the network, the share of RTTs in the two classes."""
    low, high = MODES_US
    for name, group, user in _xen(groups):
        every = whole(user)
        below, beyond = float(np.mean(every < low)), float(np.mean(every > high))
        yield Measured(
            name,
            share_of([(trial < low) | (trial > high) for trial in user], user),
            (group,),
            f"{below:.0%} below {in_words(low)}, {beyond:.0%} above {in_words(high)}",
        )


def in_the_slow_class(groups: list[Group]) -> Iterator[Measured]:
    """Yield the share of Xen's RTTs that waited for a time slice, under CPU and I/O load."""
    for name, group, user in _xen(groups):
        if group.load in ("cpu", "io"):
            effect = share_of([trial > MODES_US[1] for trial in user], user)
            yield Measured(name, effect, (group,))


def gap_closed(groups: list[Group]) -> Iterator[Measured]:
    """Yield the share of Xen's additional delay that a container with a virtual interface has.

    The delay is that of the kernel's stamps, ΔKern, under network load less at rest; additional is
    what it is above that of a sender in the host's own stack.
    """
    found: dict[str, list[Group]] = {}
    for load in (NETWORK, REST):
        for group in by_setup(groups, load).values():
            found.setdefault(group.kind, []).append(group)
    own = next((kind for kind in reversed(HOST_STACK) if len(found.get(kind, ())) == 2), None)
    kinds = [own, CONTAINER, XEN]
    if own is None or any(len(found.get(kind or "", ())) != 2 for kind in kinds):
        return
    chosen = [group for kind in kinds for group in found[kind or ""]]
    series = [runs(group, "ΔKern") for group in chosen]
    known = [values for values in series if values is not None]
    if len(known) < len(series):
        return
    medians = [median_in_words(values) for values in known]
    words = ", ".join(
        f"{kind} {loaded} under network load and {rest} at rest"
        for kind, loaded, rest in zip(
            (own, CONTAINER, XEN), medians[::2], medians[1::2], strict=True
        )
    )
    yield Measured("ΔKern", estimate(known, of_medians(_gap)), chosen, words)


def removed_by_minimum(groups: list[Group]) -> Iterator[Measured]:
    """Yield the share of the kernel's delay that the minimum of several probes takes away."""
    for setup, group in by_setup(groups, NETWORK).items():
        kernel = runs(group, "ΔKern")
        if kernel is None or sum(map(len, kernel)) < MINIMUM_OF * MINIMUM_OF:
            continue
        minima = [_minima(trial) for trial in kernel if len(trial) >= MINIMUM_OF]
        yield Measured(
            setup,
            estimate([minima, kernel], of_medians(lambda least, one: 1 - least / one)),
            (group,),
            f"one probe {median_in_words(kernel)}, "
            f"minimum of {MINIMUM_OF} {median_in_words(minima)}",
            aside=group.kind not in HOST_STACK,
        )


def bad_samples_seen(groups: list[Group]) -> Iterator[Measured]:
    """Yield, for each setup and load, the share of bad samples that were sent in use.

    In use is the machine, or its network. A load that makes no samples bad yields nothing.
    """
    limits = {
        setup: float(np.quantile(whole(at_rest), UNUSUAL))
        for setup, group in by_setup(groups, REST).items()
        if (at_rest := runs(group, "total")) is not None
    }
    for setup, group in zip(setups(groups), groups, strict=True):
        if group.load == REST or setup not in limits:
            continue
        in_use, delays = _in_use(group, above_us=limits[setup])
        if sum(map(len, in_use)) < ENOUGH:
            continue
        seen = share_of(in_use, delays)
        yield Measured(
            f"{setup}, {group.load}",
            seen,
            (group,),
            f"{seen.value:.0%} of the samples above {in_words(limits[setup])}",
            aside=group.kind not in KINDS,
        )


def rest_called_use(groups: list[Group]) -> Iterator[Measured]:
    """Yield, for each setup, the share of samples at rest that a monitor would leave out."""
    for setup, group in by_setup(groups, REST).items():
        in_use, delays = _in_use(group)
        if sum(map(len, in_use)) >= ENOUGH:
            called = share_of(in_use, delays)
            yield Measured(setup, called, (group,), aside=group.kind not in KINDS)


def _in_use(group: Group, above_us: float = -inf) -> tuple[list[NDArray[np.bool_]], list[Floats]]:
    """Return, for each trial, which of its samples above a limit were sent in use, and all of them.

    Samples are in µs.
    """
    trials = [
        packets.filter(pl.col("total") > above_us)
        for packets in by_repeat(group, "total", IN_USE).values()
    ]
    return [t[IN_USE].to_numpy() for t in trials], [t["total"].to_numpy() for t in trials]


def _published_network(kind: str) -> float | None:
    """Return the paper's median total under network load less the largest other, in µs."""
    totals = {load: row.median["total"] for (of, load), row in TABLE.items() if of == kind}
    if not totals:
        return None
    return 1000 * (totals[NETWORK] - max(v for load, v in totals.items() if load != NETWORK))


def _xen(groups: list[Group]) -> Iterator[tuple[str, Group, Run]]:
    """Yield Xen's trials but those under network load: their names, groups and user RTTs in µs."""
    for setup, group in zip(setups(groups), groups, strict=True):
        user = runs(group, "app")
        if group.kind == XEN and group.load != NETWORK and user is not None:
            yield ", ".join([*setup.split(", ")[1:], group.load]), group, user


def _minima(trial: Floats) -> Floats:
    """Return the minima of every `MINIMUM_OF` neighbouring packets."""
    whole_parts = trial[: len(trial) // MINIMUM_OF * MINIMUM_OF]
    return np.asarray(whole_parts.reshape(-1, MINIMUM_OF).min(axis=1))


def _gap(
    own: Floats, own_rest: Floats, box: Floats, box_rest: Floats, xen: Floats, xen_rest: Floats
) -> Floats:
    """Return the share of Xen's additional delay that a container has, from the medians."""
    added = own - own_rest
    return np.asarray((box - box_rest - added) / (xen - xen_rest - added))
