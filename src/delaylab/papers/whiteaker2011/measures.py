"""Quantities of whiteaker2011's claims: what each measures, scenario by scenario."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import numpy as np
import polars as pl
from numpy.typing import NDArray

from delaylab.analysis.claims.claim import ENOUGH, Measured
from delaylab.analysis.claims.groups import by_setup, refused_one_way, runs, setups
from delaylab.analysis.claims.words import in_words
from delaylab.analysis.group import Group
from delaylab.analysis.over_time.slowest import TRIAL
from delaylab.analysis.over_time.usage import IN_USE
from delaylab.analysis.packets.named import HOST_STACK
from delaylab.analysis.statistics.effects import estimate, share, shift
from delaylab.analysis.statistics.runs import Floats, Run, whole
from delaylab.papers.whiteaker2011.published import TABLE

NETWORK, REST = "network", "rest"
XEN = "xen"
CONTAINER = "netns"
"""The kind that stands for OpenVZ: a virtual interface, and no hypervisor."""
KINDS = (*HOST_STACK, XEN, CONTAINER)
"""The kinds that stand for the paper's environments."""
SENDING_SHARE = 0.8
"""Limit for "the vast majority of the delay occurs when sending"."""
HALF = 0.5
"""Limit for what "significantly reduces" or "helps to achieve better results": half of a delay."""
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
            f"{_median(network)} under network load, at most {_median(values)} ({load})",
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
            estimate([kernel, total], _ratio),
            (group,),
            f"{_median(kernel)} at the kernel's stamps, {_median(total)} in user space",
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
            f"ΔUser {_median(user)}, ΔKern {_median(kernel)}",
            1000 * (row.median["ΔUser"] - row.median["ΔKern"]) if row else None,
        )


def sending_share(groups: list[Group]) -> Iterator[Measured]:
    """Yield, for each setup, the share of sending in the delay under network load."""
    for setup, group in by_setup(groups, NETWORK).items():
        sending, receiving = runs(group, "sending"), runs(group, "receiving")
        if refused_one_way(group) or sending is None or receiving is None:
            continue
        yield Measured(
            setup,
            estimate([sending, receiving], _share_of_first),
            (group,),
            f"sending {_median(sending)}, receiving {_median(receiving)}",
            aside=group.kind not in KINDS,
        )


def slow_receipts(groups: list[Group]) -> Iterator[Measured]:
    """Yield, for each setup, the share of packets whose receipt took longer than the paper says."""
    for setup, group in by_setup(groups, NETWORK).items():
        receiving = runs(group, "receiving")
        limit = RECEIVING_US.get(group.kind)
        if limit is None or receiving is None or refused_one_way(group):
            continue
        slow = share([trial > limit for trial in receiving], receiving)
        yield Measured(
            setup,
            slow,
            (group,),
            f"receiving {_median(receiving)}; {slow.value:.1%} above {in_words(limit)}",
        )


def in_two_classes(groups: list[Group]) -> Iterator[Measured]:
    """Yield, for each stress case of Xen but the network, the share of RTTs in the two classes."""
    low, high = MODES_US
    for name, group, user in _xen(groups):
        every = whole(user)
        below, beyond = float(np.mean(every < low)), float(np.mean(every > high))
        yield Measured(
            name,
            share([(trial < low) | (trial > high) for trial in user], user),
            (group,),
            f"{below:.0%} below {in_words(low)}, {beyond:.0%} above {in_words(high)}",
        )


def in_the_slow_class(groups: list[Group]) -> Iterator[Measured]:
    """Yield the share of Xen's RTTs that waited for a time slice, under CPU and I/O load."""
    for name, group, user in _xen(groups):
        if group.load in ("cpu", "io"):
            effect = share([trial > MODES_US[1] for trial in user], user)
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
    medians = [_median(values) for values in known]
    words = ", ".join(
        f"{kind} {loaded} under network load and {rest} at rest"
        for kind, loaded, rest in zip(
            (own, CONTAINER, XEN), medians[::2], medians[1::2], strict=True
        )
    )
    yield Measured("ΔKern", estimate(known, _gap_closed), chosen, words)


def removed_by_minimum(groups: list[Group]) -> Iterator[Measured]:
    """Yield the share of the kernel's delay that the minimum of several probes takes away."""
    for setup, group in by_setup(groups, NETWORK).items():
        kernel = runs(group, "ΔKern")
        if kernel is None or sum(map(len, kernel)) < MINIMUM_OF * MINIMUM_OF:
            continue
        minima = [_minima(trial) for trial in kernel if len(trial) >= MINIMUM_OF]
        yield Measured(
            setup,
            estimate([minima, kernel], _removed),
            (group,),
            f"one probe {_median(kernel)}, minimum of {MINIMUM_OF} {_median(minima)}",
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
        seen = share(in_use, delays)
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
            called = share(in_use, delays)
            yield Measured(setup, called, (group,), aside=group.kind not in KINDS)


def _in_use(group: Group, above_us: float = -inf) -> tuple[list[NDArray[np.bool_]], list[Floats]]:
    """Return, for each trial, which of its samples above a limit were sent in use, and all of them.

    Samples are in ns.
    """
    known = group.samples.drop_nulls(["total", IN_USE]).filter(pl.col("total") > 1000 * above_us)
    trials = [trial for _, trial in known.group_by(TRIAL, maintain_order=True)]
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


def _ratio(series: list[Floats]) -> Floats:
    part, whole = (np.median(values, axis=-1) for values in series)
    return np.asarray(part / whole)


def _share_of_first(series: list[Floats]) -> Floats:
    first, second = (np.median(values, axis=-1) for values in series)
    return np.asarray(first / (first + second))


def _gap_closed(series: list[Floats]) -> Floats:
    own, container, xen = (
        np.median(series[place], axis=-1) - np.median(series[place + 1], axis=-1)
        for place in (0, 2, 4)
    )
    return np.asarray((container - own) / (xen - own))


def _removed(series: list[Floats]) -> Floats:
    minima, single = (np.median(values, axis=-1) for values in series)
    return np.asarray(1 - minima / single)


def _median(run: Run) -> str:
    return in_words(float(np.median(whole(run))))
