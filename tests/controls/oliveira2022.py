"""Controls of oliveira2022's claims, drawn from the numbers in its text and tables."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product

from delaylab.analysis.group import Group
from delaylab.papers.oliveira2022.claims import CLAIMS
from tests.controls.control import World, controls
from tests.controls.world import Random, acting, group, lognormal

PACKETS = 200
COUNTS = {"lxc": (0, 8, 128), "docker": (0, 8, 128)}
"""Numbers of background guests of containers; for cards none and the most."""
LOADS = {"cpu": "cpu", "io": "disk", "network": "network"}
CARDS = ("kvm-virtio", "kvm-vmxnet3", "kvm-e1000", "kvm-rtl8139")
Levels = dict[str, str]


def _overheads() -> dict[str, float]:
    """Overhead as a share of the RTT: virtio's and rtl8139's are the paper's medians."""
    return {"kvm-virtio": 0.2526, "kvm-vmxnet3": 0.29, "kvm-e1000": 0.32, "kvm-rtl8139": 0.3549}


@dataclass(frozen=True)
class Truth:
    """Truth of a world; as it stands, what the paper says.

    `overhead`: share of the RTT by card. `affinity`: factor of the overhead. `slow`: factor of the
    RTT at 1 pps. `slow_spread`: spread of the RTT at 1 pps over that at other rates. `responder`:
    factor of RTT and spread by network load at the responder. `lxc`, `docker`: factor of the RTT
    from 8 to 128 guests under CPU load. `lxc_spread`: LXC's spread over Docker's at 1 Mpps.
    `container_us`: overhead. `io`: change by I/O load. `outliers`: share of them that are under
    network load at the responder.
    """

    overhead: dict[str, float] = field(default_factory=_overheads)
    affinity: float = 0.995
    slow: float = 1.8
    slow_spread: float = 2.0
    responder: float = 20.0
    lxc: float = 5.2
    docker: float = 1.05
    lxc_spread: float = 3.0
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
        slow_only = rate != "1kpps" and environment in CARDS[1:]
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
    kind = levels["environment"]
    container = kind in ("lxc", "docker")
    nic_us, spread = (150.0, 1.1) if container else (230.0, 1.1)
    if levels["rate"] == "1pps" and not container:
        nic_us, spread = nic_us * truth.slow, 1 + 0.1 * truth.slow_spread / truth.slow
    at_responder = (levels["load"], levels["place"]) == ("network", "responder")
    if at_responder:
        nic_us, spread = nic_us * truth.responder, 1.5 if truth.responder > 1 else 1.05
    if levels["load"] == "io":
        nic_us *= 1 + truth.io
    above_us = truth.container_us if container else _above_us(truth, kind)
    if levels["affinity"] == "on":
        above_us *= truth.affinity
    if kind in ("lxc", "docker") and levels["rate"] == "1Mpps":
        above_us *= _climb(truth, kind, levels)
        spread = 1 + (spread - 1) * (truth.lxc_spread if kind == "lxc" else 1.0)
    nic = lognormal(random, PACKETS, nic_us, spread * nic_us)
    above = lognormal(random, PACKETS, above_us, 1.2 * above_us)
    app = nic + above
    if not at_responder and truth.outliers < 1:
        slow = random.random(PACKETS) < 0.5 * (1 - truth.outliers)
        app[slow] += 20_000
    factors = dict(levels)
    load = LOADS.get(levels["load"], "none")
    delays = {"app": app, "uplink": nic}
    return group(factors, kind="qemu", delays=delays, loads=acting(load))


def _above_us(truth: Truth, kind: str) -> float:
    share = truth.overhead[kind]
    return 230.0 * share / (1 - share)


def _climb(truth: Truth, kind: str, levels: Levels) -> float:
    """Factor of the overhead under CPU load at the sender: the RTT's factor is the paper's."""
    if (levels["load"], levels["place"]) != ("cpu", "sender"):
        return 1.0
    times = truth.lxc if kind == "lxc" else truth.docker
    base_us = 160.0
    wanted_us = base_us * (times if levels["vms"] == "128" else 1.0)
    return max(0.1, (wanted_us - 150.0) / truth.container_us)


PAPER = Truth()
SAME = dict.fromkeys(CARDS, 0.3)
TURNED = dict(zip(CARDS, (0.3549, 0.32, 0.29, 0.2526), strict=True))
HALVED = dict(zip(CARDS, (0.30, 0.32, 0.33, 0.3549), strict=True))
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
        replace(PAPER, slow=1.0, slow_spread=1.0),
        replace(PAPER, slow=0.5, slow_spread=0.3),
        replace(PAPER, slow=1.4, slow_spread=1.5),
        "reproduced",
    ),
    _control(
        "network-at-responder-highest",
        replace(PAPER, responder=1.0),
        replace(PAPER, responder=0.5),
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
        replace(PAPER, lxc_spread=1.0),
        replace(PAPER, lxc_spread=0.3),
        replace(PAPER, lxc_spread=2.0),
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
)
