"""Controls of oliveira2022's claims, drawn from the numbers in its text and tables."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from delaylab_papers.oliveira2022.claims import CLAIMS
from delaylab_papers.oliveira2022.world import Truth, drawn
from delaylab_study.analysis.claims.imagined import Design, Random
from delaylab_study.analysis.group import Group
from tests.controls.control import World, controls

PACKETS, BLOCKS = 999, 3
COUNTS = {"lxc": (0, 8, 128), "docker": (0, 8, 128)}
"""Numbers of background guests of containers; for cards none and the most."""
LOADS = {"none": "rest", "cpu": "cpu", "io": "disk", "network": "network"}
CARDS = ("kvm-virtio", "kvm-vmxnet3", "kvm-e1000", "kvm-rtl8139")
AT_EVERY_RATE = (("none", "sender"), ("network", "responder"))
Levels = dict[str, str]


def world(truth: Truth) -> World:
    """The trials of the study, with delays that follow from a truth."""

    def draw(random: Random) -> list[Group]:
        return [drawn(truth, _design(levels), random) for levels in _levels()]

    return draw


def _design(levels: Levels) -> Design:
    return Design(levels, "qemu", LOADS[levels["load"]], PACKETS // BLOCKS, BLOCKS)


def _levels() -> list[Levels]:
    found = []
    environments = (
        (environment, count)
        for environment in (*CARDS, "lxc", "docker")
        for count in COUNTS.get(environment, (0, 128))
    )
    for (environment, count), load, place, affinity, rate in product(
        environments,
        LOADS,
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


PAPER = Truth()
SAME = dict.fromkeys(CARDS, 0.3)
TURNED = dict(zip(CARDS, (0.3549, 0.32, 0.29, 0.2526), strict=True))
HALVED = dict(zip(CARDS, (0.30, 0.32, 0.33, 0.3549), strict=True))
LITTLE, MUCH = dict.fromkeys(CARDS, 0.05), dict.fromkeys(CARDS, 0.6)
HALF = {card: share / 2 for card, share in PAPER.overhead.items()}
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
