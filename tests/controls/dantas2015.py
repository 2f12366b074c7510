"""Controls of dantas2015's claims, drawn from its table II and the numbers in its text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from delaylab.analysis.group import Group
from delaylab.papers.dantas2015.claims import CLAIMS
from delaylab.papers.dantas2015.published import TABLE
from tests.controls.control import World, controls
from tests.controls.world import Random, acting, group, lognormal

PACKETS = {"1Hz": 100, "1000Hz": 400}
NIC_US = 100.0
COUNTS = (0, 8, 64, 128)
LOADS = {"cpu": "cpu", "io": "disk", "network": "network"}
Levels = dict[str, str]


@dataclass(frozen=True)
class Truth:
    """Truth of a world; as it stands, what the paper says.

    `fast`: exponent of the ratio of the RTTs at 1000 Hz and at 1 Hz. `reserving`: factor of the RTT
    by reserving a core without load. `cpu`: growth by CPU load at the sender at 1000 Hz, of each
    VM, as a share. `cpu_reserved`, `cpu_slow`, `cpu_receiver`: the same with a core reserved, at
    1 Hz, and at the receiver. `network_ms`: RTT added by network load with 128 VMs. `above`: share
    of that above the host's NIC. `e1000_ms`: RTT at the bridge with e1000 and 128 VMs. `io`: change
    by I/O load. `outliers`: share of the RTTs above 100 ms that are under network load.
    """

    fast: float = 1.0
    reserving: float = 1.0
    cpu: float = 0.02
    cpu_reserved: float = 0.0
    cpu_slow: float = 0.0
    cpu_receiver: float = 0.004
    network_ms: float = 120.0
    above: float = 0.98
    e1000_ms: float = 20.0
    virtio_ms: float = 120.0
    io: float = 0.05
    outliers: float = 0.95


def world(truth: Truth) -> World:
    """The trials of the study, with delays that follow from table II and a truth."""

    def draw(random: Random) -> list[Group]:
        return [_group(truth, levels, random) for levels in _levels()]

    return draw


def _levels() -> list[Levels]:
    found = []
    for count, load, place, driver, core, frequency in product(
        COUNTS,
        ("none", *LOADS),
        ("sender", "receiver"),
        ("e1000", "virtio"),
        ("reserved", "shared"),
        PACKETS,
    ):
        if (count == 0) == (load == "none") and (count > 0 or place == "sender"):
            found.append(
                {
                    "vms": str(count),
                    "load": load,
                    "place": place,
                    "driver": driver,
                    "core": core,
                    "frequency": frequency,
                }
            )
    return found


def _group(truth: Truth, levels: Levels, random: Random) -> Group:
    n = PACKETS[levels["frequency"]]
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
    factors = dict(levels)
    load = LOADS.get(levels["load"], "none")
    delays = {"app": app, "uplink": np.minimum(nic, app), "vif": bridge}
    return group(factors, kind="qemu", delays=delays, loads=acting(load))


def _rest_us(truth: Truth, levels: Levels) -> float:
    """The median RTT without load in µs."""
    slow = TABLE["1Hz", levels["driver"], levels["core"]].median
    fast = TABLE["1000Hz", levels["driver"], levels["core"]].median
    chosen = slow if levels["frequency"] == "1Hz" else slow * (fast / slow) ** truth.fast
    reserving = truth.reserving if levels["core"] == "reserved" else 1.0
    return 1000 * chosen * reserving


def _growth(truth: Truth, levels: Levels) -> float:
    count = int(levels["vms"])
    if levels["load"] == "io":
        return 1 + truth.io
    if levels["load"] != "cpu":
        return 1.0
    if levels["place"] == "receiver":
        return 1 + truth.cpu_receiver * count
    if levels["frequency"] == "1Hz":
        return 1 + truth.cpu_slow * count
    return 1 + (truth.cpu_reserved if levels["core"] == "reserved" else truth.cpu) * count


def _with_outliers(truth: Truth, levels: Levels, app: np.ndarray, random: Random) -> np.ndarray:
    """RTTs above 100 ms, so that the wanted share of all is under network load."""
    app = np.minimum(app, 99_000.0) if truth.network_ms <= 120 else app
    weight = {"network": truth.outliers, "cpu": 1 - truth.outliers}.get(levels["load"], 0.0)
    slow = random.random(len(app)) < 0.02 * weight
    app[slow] = 150_000.0
    return app


PAPER = Truth()
_control = controls(CLAIMS, world, PAPER)
CONTROLS = (
    _control(
        "faster-probing-lower-rtt",
        replace(PAPER, fast=0.0),
        replace(PAPER, fast=-0.5),
        replace(PAPER, fast=0.5),
        "contradicted",
    ),
    _control(
        "reservation-without-load",
        replace(PAPER, reserving=0.7),
        replace(PAPER, reserving=1.5),
        replace(PAPER, reserving=0.96),
        "reproduced",
    ),
    _control(
        "cpu-load-grows-unless-reserved",
        replace(PAPER, cpu=0.0),
        replace(PAPER, cpu=-0.003, cpu_reserved=0.02),
        replace(PAPER, cpu=0.01),
        "reproduced",
    ),
    _control(
        "slow-probing-flat-under-cpu-load",
        replace(PAPER, cpu_slow=0.01),
        replace(PAPER, cpu_slow=0.02),
        replace(PAPER, cpu_slow=0.002),
        "open",
    ),
    _control(
        "receiver-cpu-load-milder",
        replace(PAPER, cpu_receiver=0.02, cpu_slow=0.02, cpu_reserved=0.02),
        replace(PAPER, cpu_receiver=0.04),
        replace(PAPER, cpu_receiver=0.01),
        "reproduced",
    ),
    _control(
        "network-load-hundredfold",
        replace(PAPER, network_ms=0.0, outliers=0.0),
        replace(PAPER, network_ms=0.1, outliers=0.0),
        replace(PAPER, network_ms=60.0),
        "reproduced",
    ),
    _control(
        "host-nic-unmoved",
        replace(PAPER, above=0.5),
        replace(PAPER, above=0.05),
        replace(PAPER, above=0.75),
        "contradicted",
    ),
    _control(
        "emulated-driver-lower-at-bridge",
        replace(PAPER, virtio_ms=20.0),
        replace(PAPER, virtio_ms=20.0, e1000_ms=120.0),
        replace(PAPER, virtio_ms=35.0),
        "contradicted",
    ),
    _control(
        "io-load-does-little",
        replace(PAPER, io=0.5),
        replace(PAPER, io=2.0),
        replace(PAPER, io=0.25),
        "reproduced",
    ),
    _control(
        "outliers-from-network-load",
        replace(PAPER, outliers=0.2),
        replace(PAPER, outliers=0.02),
        replace(PAPER, outliers=0.5),
        "open",
    ),
)
