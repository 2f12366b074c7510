"""Controls of oliveira2022's claims, drawn from the numbers in its text and tables."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from delaylab.analysis.group import Group
from delaylab.analysis.statistics.runs import Floats
from delaylab.papers.oliveira2022.claims import CLAIMS
from delaylab.papers.oliveira2022.published import WAY_US
from tests.controls.control import World, controls
from tests.controls.world import Random, acting, group, lognormal

PACKETS, BLOCKS = 450, 3
APART = 0.01
"""Standard deviation of a block's delays, as a share: trials of one scenario differ a little."""
COUNTS = {"lxc": (0, 8, 128), "docker": (0, 8, 128)}
"""Numbers of background guests of containers; for cards none and the most."""
LOADS = {"cpu": "cpu", "io": "disk", "network": "network"}
CARDS = ("kvm-virtio", "kvm-vmxnet3", "kvm-e1000", "kvm-rtl8139")
CONTAINER_US = 150.0
AT_EVERY_RATE = (("none", "sender"), ("network", "responder"))
Levels = dict[str, str]


def _overheads() -> dict[str, float]:
    """Overhead as a share of the RTT: virtio's and rtl8139's are the paper's medians."""
    return {"kvm-virtio": 0.2526, "kvm-vmxnet3": 0.29, "kvm-e1000": 0.32, "kvm-rtl8139": 0.3549}


@dataclass(frozen=True)
class Truth:
    """Truth of a world; as it stands, what the paper says.

    `overhead`: share of the RTT by card. `affinity`: factor of the overhead. `slow` and
    `slow_overhead`: factors of RTT and overhead at 1 pps without guests. `slow_spread`: spread
    of the RTT at 1 pps over that at other rates. `responder`, `full_overhead`: factors of RTT
    and overhead by network load at the responder. `lxc`, `docker`: factor of the RTT from 8 to
    128 guests under CPU load. `lxc_spread`, `lxc_longer`: LXC's spread and RTT over Docker's at
    1 Mpps. `docker_slow`: factor of Docker's RTT and overhead at 1 pps. `docker_times`:
    Docker's RTT over LXC's at all rates. `container_us`: overhead. `io`: change by I/O load.
    `outliers`: share of them that are under network load at the responder.
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
    container_us: float = 10.0
    io: float = 0.02
    outliers: float = 1.0


def world(truth: Truth) -> World:
    """The trials of the study, with delays that follow from a truth."""

    def draw(random: Random) -> list[Group]:
        return [_group(truth, levels, random) for levels in _levels()]

    return draw


def _levels() -> list[Levels]:
    found = []
    environments = (
        (environment, count)
        for environment in (*CARDS, "lxc", "docker")
        for count in COUNTS.get(environment, (0, 128))
    )
    for (environment, count), load, place, affinity, rate in product(
        environments,
        ("none", *LOADS),
        ("sender", "responder"),
        ("off", "on"),
        ("1pps", "1kpps", "1Mpps"),
    ):
        alone = (count == 0) == (load == "none") and (count > 0 or place == "sender")
        virtio_only = affinity == "on" and environment != "kvm-virtio"
        # As in scale quick: of the cards virtio has other rates, without load and under one.
        shown = environment == "kvm-virtio" and (load, place) in AT_EVERY_RATE
        slow_only = rate != "1kpps" and environment in CARDS and not shown
        if alone and not virtio_only and not slow_only:
            found.append(
                {
                    "environment": environment,
                    "vms": str(count),
                    "load": load,
                    "place": place,
                    "affinity": affinity,
                    "rate": rate,
                }
            )
    return found


def _group(truth: Truth, levels: Levels, random: Random) -> Group:
    container = levels["environment"] in ("lxc", "docker")
    way = _container_way(truth, levels) if container else _guest_way(truth, levels)
    nic_us, spread = way
    at_responder = (levels["load"], levels["place"]) == ("network", "responder")
    if at_responder:
        nic_us, spread = nic_us * truth.responder, 1.5 if truth.responder > 1 else 1.05
    if levels["load"] == "io":
        nic_us *= 1 + truth.io
    above_us = _container_us(truth, levels, nic_us) if container else _guest_us(truth, levels)
    if levels["environment"] == "lxc" and levels["rate"] == "1Mpps":
        spread = 1 + (spread - 1) * truth.lxc_spread
    nic = lognormal(random, PACKETS, nic_us, spread * nic_us) * _apart(random)
    app = nic + lognormal(random, PACKETS, above_us, 1.2 * above_us) * _apart(random)
    if not at_responder and truth.outliers < 1:
        slow = random.random(PACKETS) < 0.5 * (1 - truth.outliers)
        app[slow] += 20_000
    load = LOADS.get(levels["load"], "none")
    delays = {"app": app, "uplink": nic}
    return group(dict(levels), kind="qemu", delays=delays, loads=acting(load), blocks=BLOCKS)


def _apart(random: Random) -> Floats:
    """A factor of each packet's delay: that of its block."""
    return np.repeat(np.exp(APART * random.normal(size=BLOCKS)), PACKETS // BLOCKS)


def _guest_way(truth: Truth, levels: Levels) -> tuple[float, float]:
    """The RTT of a virtual machine without its overhead, in µs, and its spread."""
    if levels["rate"] == "1pps":
        return WAY_US * truth.slow, 1 + 0.1 * truth.slow_spread / truth.slow
    return WAY_US, 1.1


def _container_way(truth: Truth, levels: Levels) -> tuple[float, float]:
    """The RTT of a container without its overhead, in µs, and its spread."""
    if levels["environment"] == "docker":
        slow = truth.docker_slow if levels["rate"] == "1pps" else 1.0
        return CONTAINER_US * slow * truth.docker_times, 1.1
    return CONTAINER_US * (truth.lxc_longer if levels["rate"] == "1Mpps" else 1.0), 1.1


def _guest_us(truth: Truth, levels: Levels) -> float:
    """The overhead of a virtual machine in µs."""
    share = truth.overhead[levels["environment"]]
    above_us = WAY_US * share / (1 - share)
    if levels["affinity"] == "on":
        above_us *= truth.affinity
    if (levels["load"], levels["place"]) == ("network", "responder"):
        return above_us * truth.full_overhead
    return above_us * (truth.slow_overhead if levels["rate"] == "1pps" else 1.0)


def _container_us(truth: Truth, levels: Levels, nic_us: float) -> float:
    """The overhead of a container in µs; under CPU load at the sender its RTT may climb."""
    kind = levels["environment"]
    slow = truth.docker_slow if (kind, levels["rate"]) == ("docker", "1pps") else 1.0
    above_us = truth.container_us * slow
    loaded = (levels["load"], levels["place"], levels["rate"]) == ("cpu", "sender", "1Mpps")
    if not loaded or levels["vms"] != "128":
        return above_us
    times = truth.lxc if kind == "lxc" else truth.docker
    return max(0.1, (nic_us + above_us) * times - nic_us)


PAPER = Truth()
SAME = dict.fromkeys(CARDS, 0.3)
TURNED = dict(zip(CARDS, (0.3549, 0.32, 0.29, 0.2526), strict=True))
HALVED = dict(zip(CARDS, (0.30, 0.32, 0.33, 0.3549), strict=True))
LITTLE, MUCH = dict.fromkeys(CARDS, 0.05), dict.fromkeys(CARDS, 0.6)
HALF = {card: share / 2 for card, share in _overheads().items()}
_control = controls(CLAIMS, world, PAPER)
CONTROLS = (
    _control(
        "virtio-lowest",
        replace(PAPER, overhead=SAME),
        replace(PAPER, overhead=TURNED),
        replace(PAPER, overhead=HALVED),
        "reproduced",
    ),
    _control(
        "rtl8139-highest",
        replace(PAPER, overhead=SAME),
        replace(PAPER, overhead=TURNED),
        replace(PAPER, overhead=HALVED),
        "reproduced",
    ),
    _control(
        "affinity-changes-nothing",
        replace(PAPER, affinity=0.5),
        replace(PAPER, affinity=4.0),
        replace(PAPER, affinity=1.15),
        "reproduced",
    ),
    _control(
        "slow-probing-higher-and-wider",
        replace(PAPER, slow=1.0, slow_spread=1.0, slow_overhead=1.0),
        replace(PAPER, slow=0.5, slow_spread=0.3, slow_overhead=0.5),
        replace(PAPER, slow=1.4, slow_spread=1.5, slow_overhead=2.0),
        "reproduced",
    ),
    _control(
        "network-at-responder-highest",
        replace(PAPER, responder=1.0, full_overhead=1.0),
        replace(PAPER, responder=0.5, full_overhead=1.0),
        replace(PAPER, responder=10.0),
        "reproduced",
    ),
    _control(
        "outliers-at-responder-kvm",
        replace(PAPER, responder=1.0, outliers=0.9),
        replace(PAPER, responder=1.0, outliers=0.8),
        replace(PAPER, responder=20.0, outliers=0.9),
        "reproduced",
    ),
    _control(
        "outliers-at-responder-docker",
        replace(PAPER, responder=1.0, outliers=0.9),
        replace(PAPER, responder=1.0, outliers=0.8),
        replace(PAPER, responder=20.0, outliers=0.9),
        "reproduced",
    ),
    _control(
        "lxc-climbs-docker-does-not",
        replace(PAPER, lxc=1.0),
        replace(PAPER, lxc=0.99, docker=5.2),
        replace(PAPER, lxc=3.1),
        "reproduced",
    ),
    _control(
        "lxc-wide-at-high-rate",
        replace(PAPER, lxc_spread=1.0, lxc_longer=1.0),
        replace(PAPER, lxc_spread=0.3, lxc_longer=0.7),
        replace(PAPER, lxc_spread=2.0, lxc_longer=1.25),
        "reproduced",
    ),
    _control(
        "container-overhead-small",
        replace(PAPER, container_us=100.0),
        replace(PAPER, container_us=1000.0),
        replace(PAPER, container_us=30.0),
        "reproduced",
    ),
    _control(
        "io-load-does-not-matter",
        replace(PAPER, io=0.6),
        replace(PAPER, io=2.0),
        replace(PAPER, io=0.25),
        "reproduced",
    ),
    _control(
        "overhead-share-of-cards",
        replace(PAPER, overhead=LITTLE),
        replace(PAPER, overhead=MUCH),
        replace(PAPER, overhead=HALF),
        "contradicted",
    ),
    _control(
        "overhead-by-guests-and-rate",
        replace(PAPER, slow_overhead=1.0, full_overhead=1.0),
        replace(PAPER, slow_overhead=1.0),
        replace(PAPER, slow_overhead=2.4, full_overhead=1.375),
        "reproduced",
    ),
    _control(
        "overhead-share-lowest-under-network",
        replace(PAPER, responder=1.0, full_overhead=1.0),
        replace(PAPER, responder=1.0),
        replace(PAPER, responder=10.0),
        "reproduced",
    ),
    _control(
        "lxc-wider-at-high-rate",
        replace(PAPER, lxc_spread=1.0, lxc_longer=1.0),
        replace(PAPER, lxc_spread=0.3, lxc_longer=1.0),
        replace(PAPER, lxc_spread=2.0, lxc_longer=1.0),
        "reproduced",
    ),
    _control(
        "docker-better-or-similar",
        replace(PAPER, docker_times=1.6),
        replace(PAPER, docker_times=3.0),
        replace(PAPER, docker_times=1.3),
        "contradicted",
    ),
    _control(
        "tau-slow-probing-kvm",
        replace(PAPER, slow=1.0, slow_overhead=1.0, full_overhead=1.0),
        replace(PAPER, slow=0.5, slow_overhead=0.5),
        replace(PAPER, slow=1.4, slow_overhead=2.0),
        "reproduced",
    ),
    _control(
        "tau-virtio",
        replace(PAPER, overhead=SAME),
        replace(PAPER, overhead=TURNED),
        replace(PAPER, overhead=HALVED),
        "reproduced",
    ),
    _control(
        "tau-network-load-kvm",
        replace(PAPER, responder=1.0, full_overhead=1.0),
        replace(PAPER, responder=0.5, full_overhead=0.5),
        replace(PAPER, responder=10.0, full_overhead=1.375),
        "reproduced",
    ),
    _control(
        "tau-affinity",
        replace(PAPER, affinity=0.5),
        replace(PAPER, affinity=4.0),
        replace(PAPER, affinity=1.15),
        "contradicted",
    ),
    _control(
        "tau-slow-probing-containers",
        replace(PAPER, docker_slow=1.0, lxc_longer=1.0, lxc_spread=1.0),
        replace(PAPER, docker_slow=0.87, lxc_longer=0.7),
        replace(PAPER, docker_slow=1.07, lxc_longer=1.25),
        "reproduced",
    ),
    _control(
        "tau-network-load-containers",
        replace(PAPER, responder=1.0),
        replace(PAPER, responder=0.5),
        replace(PAPER, responder=10.0),
        "reproduced",
    ),
    _control(
        "outliers-everywhere-lxc",
        replace(PAPER, lxc_longer=1.0, lxc_spread=1.0, lxc=1.0),
        replace(PAPER, lxc_longer=1.0, lxc_spread=1.0, lxc=1.0, responder=50.0),
        replace(PAPER, lxc_longer=1.25, lxc_spread=2.0),
        "contradicted",
    ),
)
