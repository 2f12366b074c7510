"""Tests of the claims of whiteaker2011.

The paper is "Explaining Packet Delays under Virtualization" (Whiteaker, Schneider, Teixeira; ACM
SIGCOMM CCR 41(1), 2011).
"""

from __future__ import annotations

import numpy as np

from delaylab.analysis.claims.claim import (
    ENOUGH,
    Claim,
    NotTestable,
    Result,
    by_kind,
    by_setup,
    refused_one_way,
    samples,
    setups,
)
from delaylab.analysis.claims.groups import EACH_ENOUGH, weakest
from delaylab.analysis.group import Group
from delaylab.analysis.packets.named import OWN_STACK
from delaylab.analysis.statistics.compare import Comparison, certainty, compare, family
from delaylab.analysis.statistics.effects import Effect, estimate
from delaylab.analysis.statistics.quantiles import Floats

PAPER = "whiteaker2011"
# Kinds with a virtual interface and no hypervisor; the first one in the study stands for OpenVZ.
CONTAINERS = ("netns", "lxc", "docker")
SENDING_SHARE = 0.8
SLICE_SHARE = 0.8
GAP_CLOSED = 0.5
MINIMUM_OF = 10
MINIMA = 10
REMOVED_BY_MINIMUM = 0.5
SMALL_QUEUES = (
    "A possible cause, which stamps alone do not tell: TCP small queues (kernels since 3.6) hold "
    "competing senders in the host's own stack back; the paper's kernel had none."
)
BEHIND = "Not asked, as in the paper, of senders behind a virtual interface"


def network_adds_most(groups: list[Group]) -> Result:
    """Test whether, for every setup, network load has the largest median delay over the wire."""
    found: dict[str, Comparison] = {}
    largest: dict[str, str] = {}
    for setup, group in by_setup(groups, "network").items():
        network = samples(group, "total")
        others = _others(groups, setup)
        if network is None or not others:
            continue
        largest[setup] = max(others, key=lambda load: float(np.median(others[load])))
        found[setup] = compare(network, others[largest[setup]])
    words = [
        f"{setup}: {_us(each.medians[0])} under network load, at most {_us(each.medians[1])} "
        f"({largest[setup]}); {certainty(each)}"
        for setup, each in family(found).items()
    ]
    effects = {setup: each.shift for setup, each in found.items()}
    name, effect = weakest(
        effects, f"trials with network load and with another load or none, {EACH_ENOUGH}"
    )
    holds = effect.interval[0] > 0
    note = "" if holds or not _own_stack(name) else f". {SMALL_QUEUES}"
    return Result(holds, "; ".join(words) + note, effect, "µs")


def kernel_closer_than_user(groups: list[Group]) -> Result:
    """Test whether kernel stamps are closer to the wire than to user space, in the host's stack."""
    found: dict[str, Comparison] = {}
    for setup, group in zip(setups(groups), groups, strict=True):
        if group.kind not in OWN_STACK:
            continue
        kernel, user = samples(group, "ΔKern"), samples(group, "ΔUser")
        if kernel is not None and user is not None:
            found[f"{setup}, {group.load}"] = compare(user, kernel)
    words = [
        f"{name}: ΔUser {_us(each.medians[0])}, ΔKern {_us(each.medians[1])}; {certainty(each)}"
        for name, each in family(found).items()
    ]
    effects = {name: each.shift for name, each in found.items()}
    _, effect = weakest(
        effects, f"a sender in the host's own stack, and the point wire, {EACH_ENOUGH}"
    )
    behind = {group.kind for group in groups} - set(OWN_STACK)
    note = f". {BEHIND} ({', '.join(sorted(behind))})" if behind else ""
    holds = effect.interval[0] > 0
    return Result(holds, "; ".join(words) + note, effect, "µs")


def sending_not_receiving(groups: list[Group]) -> Result:
    """Test whether sending accounts for at least 80 % of the local delay under network load."""
    effects: dict[str, Effect] = {}
    words: list[str] = []
    for setup, group in by_setup(groups, "network").items():
        if refused_one_way(group):
            words.append(f"{setup}: {refused_one_way(group)}")
            continue
        sending, receiving = samples(group, "sending"), samples(group, "receiving")
        if sending is None or receiving is None:
            continue
        effects[setup] = estimate([sending, receiving], _share_of_first)
        words.append(f"{setup}: sending {_median(sending)}, receiving {_median(receiving)}")
    if words and not effects:
        raise NotTestable("; ".join(words))
    name, effect = weakest(
        effects, f"a trial under network load, and the point wire, {EACH_ENOUGH}"
    )
    holds = effect.interval[0] >= SENDING_SHARE
    note = "" if holds or not _own_stack(name) else f". {SMALL_QUEUES}"
    return Result(holds, "; ".join(words) + note, effect, "share")


def xen_bimodal(groups: list[Group]) -> Result:
    """Test whether Xen's user RTTs have two modes under CPU or I/O load.

    At least 80 % must be below 1 ms or above 10 ms, and over 1 % on each side.
    """
    effects: dict[str, Effect] = {}
    words: list[str] = []
    both = True
    for setup, group in zip(setups(groups), groups, strict=True):
        if group.kind != "xen" or group.load not in ("cpu", "io"):
            continue
        user = samples(group, "app")
        if user is None:
            continue
        name = ", ".join([*setup.split(", ")[1:], group.load])
        low, high = float(np.mean(user < 1000)), float(np.mean(user > 10_000))
        both = both and min(low, high) > 0.01
        effects[name] = estimate([user], _share_outside)
        words.append(f"{name}: {low:.0%} below 1 ms, {high:.0%} above 10 ms")
    _, effect = weakest(effects, f"senders of kind xen under CPU or I/O load, {EACH_ENOUGH}")
    holds = both and effect.interval[0] >= SLICE_SHARE
    return Result(holds, "; ".join(words), effect, "share")


def virtual_interface_not_hypervisor(groups: list[Group]) -> Result:
    """Test whether a container's virtual interface closes half of the gap in kernel RTT to Xen's.

    The gap is that between a sender in the host's own stack and one in Xen, under network load. A
    container has a virtual interface and no hypervisor.
    """
    kinds = by_kind(groups, "network")
    own = next((kinds[kind] for kind in reversed(OWN_STACK) if kind in kinds), None)
    container = next((kind for kind in CONTAINERS if kind in kinds), None)
    if own is None or container is None or "xen" not in kinds:
        present = ", ".join(kinds) or "none"
        raise NotTestable(f"needs senders of kind xen, netns and native; here: {present}")
    series = [samples(group, "stack") for group in (own, kinds[container], kinds["xen"])]
    known = [values for values in series if values is not None]
    if len(known) < len(series):
        raise NotTestable(f"needs at least {ENOUGH} kernel RTTs of each kind")
    effect = estimate(known, _gap_closed)
    why = (
        f"kernel RTT: {own.kind} {_median(known[0])}, {container} {_median(known[1])}, "
        f"xen {_median(known[2])}"
    )
    return Result(effect.interval[0] >= GAP_CLOSED, why, effect, "share")


def minimum_helps(groups: list[Group]) -> Result:
    """Test whether the minimum of 10 probes removes half of the local delay under network load."""
    effects: dict[str, Effect] = {}
    words: list[str] = []
    for setup, group in by_setup(groups, "network").items():
        total = samples(group, "total")
        if total is None or len(total) < MINIMUM_OF * MINIMA:
            continue
        minima = total[: len(total) // MINIMUM_OF * MINIMUM_OF].reshape(-1, MINIMUM_OF).min(axis=1)
        effects[setup] = estimate([minima, total], _removed)
        words.append(f"{setup}: one probe {_median(total)}, minimum of 10 {_median(minima)}")
    _, effect = weakest(
        effects, f"at least 100 packets under network load, and the point wire, {EACH_ENOUGH}"
    )
    holds = effect.interval[0] >= REMOVED_BY_MINIMUM
    return Result(holds, "; ".join(words), effect, "share")


CLAIMS = {
    claim.id: claim
    for claim in (
        Claim(
            "network-adds-most",
            "Network load adds the most delay, in every environment.",
            PAPER,
            network_adds_most,
            effect="median of user RTT less wire RTT: network load − the largest other, where "
            "least",
        ),
        Claim(
            "kernel-closer-than-user",
            "Kernel stamps sit far closer to the wire than user-space stamps.",
            PAPER,
            kernel_closer_than_user,
            effect="median ΔUser − median ΔKern, where least",
        ),
        Claim(
            "sending-not-receiving",
            "Under network load almost all delay is added while sending, little while receiving.",
            PAPER,
            sending_not_receiving,
            effect="sending delay's share of the medians of sending and receiving, where least",
        ),
        Claim(
            "xen-bimodal",
            "Under CPU or I/O load Xen's RTTs have two modes: below 1 ms or above 10 ms.",
            PAPER,
            xen_bimodal,
            effect="share of user RTTs below 1 ms or above 10 ms, where least",
        ),
        Claim(
            "virtual-interface-not-hypervisor",
            "The virtual interface, not the hypervisor, explains the delay under network load.",
            PAPER,
            virtual_interface_not_hypervisor,
            effect="share of the gap in median kernel RTT to Xen's that a container closes",
        ),
        Claim(
            "minimum-helps",
            "Taking the minimum of several probes removes most of the delay that load adds.",
            PAPER,
            minimum_helps,
            effect="share of the median user RTT less wire RTT that the minimum of 10 takes "
            "away, where least",
        ),
    )
}


def _others(groups: list[Group], setup: str) -> dict[str, Floats]:
    found = {
        group.load: samples(group, "total")
        for name, group in zip(setups(groups), groups, strict=True)
        if name == setup and group.load != "network"
    }
    return {load: values for load, values in found.items() if values is not None}


def _own_stack(setup: str) -> bool:
    return setup.partition(",")[0] in OWN_STACK


def _share_of_first(series: list[Floats]) -> Floats:
    first, second = (np.median(values, axis=-1) for values in series)
    return np.asarray(first / (first + second))


def _share_outside(series: list[Floats]) -> Floats:
    return np.asarray(np.mean((series[0] < 1000) | (series[0] > 10_000), axis=-1))


def _gap_closed(series: list[Floats]) -> Floats:
    own, container, xen = (np.median(values, axis=-1) for values in series)
    return np.asarray(1 - np.abs(container - xen) / np.abs(own - xen))


def _removed(series: list[Floats]) -> Floats:
    minima, total = (np.median(values, axis=-1) for values in series)
    return np.asarray(1 - minima / total)


def _median(values: Floats) -> str:
    return _us(float(np.median(values)))


def _us(middle: float) -> str:
    return f"{middle / 1000:.2f} ms" if middle >= 1000 else f"{middle:.1f} µs"
