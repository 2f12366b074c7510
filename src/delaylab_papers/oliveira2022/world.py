"""Trials of oliveira2022 as its text and tables would have them, or a world with another truth."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from delaylab_study.papers.toolkit import Design, Floats, Group, Levels, Random, imagined, lognormal

from .balance import FASTEST, NETWORK, SLOW
from .published import OVERHEAD_US, WAY_US

APART = 0.01
"""Standard deviation of a trial's delays, as a share: trials of one scenario differ a little."""
CONTAINER_US = 150.0
FEW, MOST = 8, 128
"""Numbers of background guests between which the RTT of containers may climb."""


def _overheads() -> dict[str, float]:
    """Return the overhead as a share of the RTT: virtio's and rtl8139's are the paper's medians."""
    return {"kvm-virtio": 0.2526, "kvm-vmxnet3": 0.29, "kvm-e1000": 0.32, "kvm-rtl8139": 0.3549}


@dataclass(frozen=True)
class Truth:
    """The truth of an imagined world; as it stands, what the paper says.

    `overhead`: share of the RTT by card. `affinity`: factor of the overhead. `slow` and
    `slow_overhead`: factors of RTT and overhead at 1 pps without guests. `slow_spread`: spread
    of the RTT at 1 pps over that at other rates. `responder`, `full_overhead`: factors of RTT
    and overhead by network load at the responder. `lxc`, `docker`: factor of the RTT from 8 to
    128 guests under CPU load. `lxc_spread`, `lxc_longer`: LXC's spread and RTT over Docker's at
    1 Mpps. `docker_slow`: factor of Docker's RTT and overhead at 1 pps. `docker_times`:
    Docker's RTT over LXC's at all rates. `docker_loaded`: factor of Docker's RTT by CPU load, and
    `docker_under_network` of what network load at the responder adds to it. `container_us`:
    overhead. `io`: change by I/O load.
    `outliers`: share of them that are under network load at the responder. `lxc_outliers`: share of
    LXC's packets that are slow in the scenarios that table 5 names, and `lxc_elsewhere` in others.
    """

    overhead: dict[str, float] = field(default_factory=_overheads)
    affinity: float = 0.995
    slow: float = 1.8
    slow_overhead: float = 3.0
    slow_spread: float = 2.0
    responder: float = 20.0
    full_overhead: float = 1.75
    lxc: float = 5.2
    docker: float = 1.05
    lxc_spread: float = 3.0
    lxc_longer: float = 1.5
    docker_slow: float = 1.15
    docker_times: float = 1.0
    docker_loaded: float = 1.0
    docker_under_network: float = 1.0
    container_us: float = 10.0
    io: float = 0.02
    outliers: float = 1.0
    lxc_outliers: float = 0.2
    lxc_elsewhere: float = 0.0


def drawn(truth: Truth, design: Design, random: Random) -> Group:
    """Return trials of a design, with delays that follow from a truth."""
    levels, n = design.levels, design.packets * design.trials
    container = levels["environment"] in ("lxc", "docker")
    way = _container_way(truth, levels) if container else _guest_way(truth, levels)
    nic_us, spread = way
    at_responder = (levels["load"], levels["place"]) == NETWORK
    if at_responder:
        times = 1 + (truth.responder - 1) * (
            truth.docker_under_network if levels["environment"] == "docker" else 1.0
        )
        nic_us, spread = nic_us * times, 1.5 if truth.responder > 1 else 1.05
    if levels["load"] == "io":
        nic_us *= 1 + truth.io
    if (levels["load"], levels["environment"]) == ("cpu", "docker"):
        nic_us *= truth.docker_loaded
    above_us = _container_us(truth, levels, nic_us) if container else _guest_us(truth, levels)
    if levels["environment"] == "lxc" and levels["rate"] == "1Mpps":
        spread = 1 + (spread - 1) * truth.lxc_spread
    nic = lognormal(random, n, nic_us, spread * nic_us) * _apart(design, random)
    app = nic + lognormal(random, n, above_us, 1.2 * above_us) * _apart(design, random)
    app[random.random(n) < _slow(truth, levels)] += 20_000
    return imagined(design, {"app": app, "uplink": nic})


def _slow(truth: Truth, levels: Levels) -> float:
    """Return the share of packets that are slow for no reason of their load's."""
    if (levels["load"], levels["place"]) == NETWORK or levels["load"] == "none":
        return 0.0
    if levels["environment"] != "lxc":
        return 0.5 * (1 - truth.outliers)
    named = levels["rate"] == FASTEST
    return truth.lxc_outliers if named else truth.lxc_elsewhere


def _apart(design: Design, random: Random) -> Floats:
    """Return a factor of each packet's delay: that of its trial."""
    return np.repeat(np.exp(APART * random.normal(size=design.trials)), design.packets)


def _guest_way(truth: Truth, levels: Levels) -> tuple[float, float]:
    """Return the RTT of a virtual machine without its overhead, in µs, and its spread."""
    if levels["rate"] == "1pps":
        return WAY_US * truth.slow, 1 + 0.1 * truth.slow_spread / truth.slow
    return WAY_US, 1.1


def _container_way(truth: Truth, levels: Levels) -> tuple[float, float]:
    """Return the RTT of a container without its overhead, in µs, and its spread."""
    if levels["environment"] == "docker":
        slow = truth.docker_slow if levels["rate"] == "1pps" else 1.0
        return CONTAINER_US * slow * truth.docker_times, 1.1
    return CONTAINER_US * (truth.lxc_longer if levels["rate"] == "1Mpps" else 1.0), 1.1


def _guest_us(truth: Truth, levels: Levels) -> float:
    """Return the overhead of a virtual machine in µs."""
    share = truth.overhead[levels["environment"]]
    above_us = WAY_US * share / (1 - share)
    if levels["affinity"] == "on":
        above_us *= truth.affinity
    under_network = (levels["load"], levels["place"]) == NETWORK
    if under_network or levels["load"] == "none":
        # Section 4.1.3 has more overhead than follows from the share of all experiments.
        virtio = truth.overhead["kvm-virtio"]
        above_us *= OVERHEAD_US[FASTEST][0] / (WAY_US * virtio / (1 - virtio))
    if under_network:
        return above_us * truth.full_overhead
    return above_us * (truth.slow_overhead if levels["rate"] == SLOW else 1.0)


def _container_us(truth: Truth, levels: Levels, nic_us: float) -> float:
    """Return the overhead of a container in µs; under CPU load at the sender its RTT may climb."""
    kind = levels["environment"]
    slow = truth.docker_slow if (kind, levels["rate"]) == ("docker", "1pps") else 1.0
    above_us = truth.container_us * slow
    loaded = (levels["load"], levels["place"], levels["rate"]) == ("cpu", "sender", "1Mpps")
    count = int(levels["vms"])
    if not loaded or count <= FEW:
        return above_us
    most = truth.lxc if kind == "lxc" else truth.docker
    times = math.pow(most, math.log2(count / FEW) / math.log2(MOST / FEW))
    return max(0.1, (nic_us + above_us) * times - nic_us)


def as_published(design: Design, random: Random) -> Group:
    """Return trials of a design, drawn from the paper's own numbers."""
    return drawn(Truth(), design, random)
