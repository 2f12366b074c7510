"""Trials of dantas2015 as its table II and its text would have them, or another truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from delaylab_study.papers.toolkit import Design, Floats, Group, Levels, Random, imagined, lognormal

from .measures import MANY_VMS
from .published import TABLE

NIC_US = 100.0


@dataclass(frozen=True)
class Truth:
    """The truth of an imagined world; as it stands, what the paper says.

    `fast`: exponent of the ratio of the RTTs at 1000 Hz and at 1 Hz. `reserving`: factor of the RTT
    by reserving a core without load. `cpu`: growth by CPU load at the sender at 1000 Hz, of each
    VM, as a share. `cpu_reserved`, `cpu_slow`, `cpu_receiver`: the same with a core reserved, at
    1 Hz, and at the receiver. `network_ms`: RTT added by network load with 128 VMs. `above`: share
    of that above the host's NIC. `e1000_ms`: RTT at the bridge with e1000 and 128 VMs. `io`: change
    by I/O load, `io_reserving` the factor by a reserved core then. `virtio_cpu`: virtio's further
    growth by CPU load. `outliers`: share of the RTTs above 100 ms that are under network load, and
    `many` the share of these with 64 VMs or more.
    """

    fast: float = 1.0
    reserving: float = 1.0
    cpu: float = 0.02
    cpu_reserved: float = 0.0
    cpu_slow: float = 0.0
    cpu_receiver: float = 0.004
    network_ms: float = 120.0
    above: float = 0.98
    e1000_ms: float = 18.0
    virtio_ms: float = 120.0
    io: float = 0.05
    io_reserving: float = 1.0
    virtio_cpu: float = 0.0
    many: float = 0.95
    outliers: float = 0.95


def drawn(truth: Truth, design: Design, random: Random) -> Group:
    """Return trials of a design, with delays that follow from table II and a truth."""
    levels, n = design.levels, design.packets * design.trials
    rest_us = _rest_us(truth, levels)
    above_us = max(10.0, rest_us - NIC_US) * _growth(truth, levels)
    nic_us = NIC_US
    bridge_us = NIC_US + 20
    count = int(levels["vms"])
    if levels["load"] == "network":
        # The figures' averages rise with the number of VMs.
        added = 1000 * (truth.network_ms if levels["place"] == "sender" else 20.0) * count / 128
        above_us += truth.above * added
        nic_us += (1 - truth.above) * added
        of_bridge = truth.virtio_ms if levels["driver"] == "virtio" else truth.e1000_ms
        bridge_us += 1000 * of_bridge * count / 128
    nic = lognormal(random, n, nic_us, 1.2 * nic_us)
    app = nic + lognormal(random, n, above_us, 1.3 * above_us)
    app = _with_outliers(truth, levels, app, random)
    bridge = lognormal(random, n, bridge_us, 1.3 * bridge_us)
    delays = {"app": app, "uplink": np.minimum(nic, app), "vif": bridge}
    return imagined(design, delays)


def _rest_us(truth: Truth, levels: Levels) -> float:
    """Return the median RTT without load in µs."""
    slow = TABLE["1Hz", levels["driver"], levels["core"]].median
    fast = TABLE["1000Hz", levels["driver"], levels["core"]].median
    chosen = slow if levels["frequency"] == "1Hz" else slow * (fast / slow) ** truth.fast
    reserving = truth.reserving if levels["core"] == "reserved" else 1.0
    return 1000 * chosen * reserving


def _growth(truth: Truth, levels: Levels) -> float:
    count = int(levels["vms"])
    if levels["load"] == "io":
        return (1 + truth.io) * (truth.io_reserving if levels["core"] == "reserved" else 1.0)
    if levels["load"] != "cpu":
        return 1.0
    if levels["place"] == "receiver":
        return 1 + truth.cpu_receiver * count
    if levels["frequency"] == "1Hz":
        return 1 + truth.cpu_slow * count
    more = truth.virtio_cpu if levels["driver"] == "virtio" else 0.0
    return 1 + more + (truth.cpu_reserved if levels["core"] == "reserved" else truth.cpu) * count


def _with_outliers(truth: Truth, levels: Levels, app: Floats, random: Random) -> Floats:
    """Return the RTTs, some above 100 ms, so that the wanted share of all is under network load."""
    # Table I has two numbers of VMs from 64 on, and six below.
    part = truth.many / 2 if int(levels["vms"]) >= MANY_VMS else (1 - truth.many) / 6
    weight = {"network": truth.outliers * part, "cpu": (1 - truth.outliers) / 8}
    app = np.minimum(app, 99_000.0) if levels["load"] != "network" else app
    slow = random.random(len(app)) < 0.3 * weight.get(levels["load"], 0.0)
    app[slow] = 150_000.0
    return app


def as_published(design: Design, random: Random) -> Group:
    """Return trials of a design, drawn from the paper's own numbers."""
    return drawn(Truth(), design, random)
