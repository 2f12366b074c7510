"""Controls of oliveira2022's claims, drawn from the numbers in its text and tables."""

from __future__ import annotations

from dataclasses import replace

from delaylab_papers.oliveira2022.claims import CLAIMS
from delaylab_papers.oliveira2022.world import Truth, drawn
from tests.controls.control import of_sentences

PAPER = Truth()
CARDS = PAPER.overhead
TURNED = dict(zip(CARDS, (0.3549, 0.32, 0.29, 0.2526), strict=True))
NOT_LOWEST = {**CARDS, "kvm-vmxnet3": 0.245}
NOT_HIGHEST = {**CARDS, "kvm-e1000": 0.362}
A_FIFTH_MORE = {**CARDS, "kvm-rtl8139": 0.48, "kvm-e1000": 0.42}
MUCH = dict.fromkeys(CARDS, 0.6)
_control = of_sentences(CLAIMS, "oliveira2022", drawn, PAPER)
CONTROLS = (
    _control(
        "virtio-lowest",
        replace(PAPER, overhead=NOT_LOWEST),
        "vmxnet3's overhead is below virtio's by a fifth of what it is above it",
        replace(PAPER, overhead=TURNED),
    ),
    _control(
        "rtl8139-highest",
        replace(PAPER, overhead=NOT_HIGHEST),
        "e1000's overhead is above rtl8139's by a fifth of what it is below it",
        replace(PAPER, overhead=TURNED),
    ),
    _control(
        "affinity-changes-nothing",
        replace(PAPER, affinity=1.2),
        "affinity adds a fifth to the overhead",
        replace(PAPER, affinity=4.0),
    ),
    _control(
        "slow-probing-higher-and-wider",
        replace(PAPER, slow=0.84, slow_spread=0.8, slow_overhead=0.6),
        "at 1 pps RTT and spread are smaller by a fifth of what they are larger",
        replace(PAPER, slow=0.5, slow_spread=0.3, slow_overhead=0.5),
        scale="paper",
        only=(("environment", ("kvm-virtio",)), ("affinity", ("off",)), ("vms", ("0", "4"))),
    ),
    _control(
        "network-at-responder-highest",
        replace(PAPER, responder=0.8, full_overhead=1.0),
        "network load at the responder takes a fifth off the RTT",
        replace(PAPER, responder=0.5, full_overhead=1.0),
    ),
    _control(
        "outliers-at-responder-kvm",
        replace(PAPER, outliers=0.8),
        "a fifth of what are outliers is elsewhere",
        replace(PAPER, responder=1.0, outliers=0.8),
    ),
    _control(
        "outliers-at-responder-docker",
        replace(PAPER, outliers=0.8),
        "a fifth of what are outliers is elsewhere",
        replace(PAPER, responder=1.0, outliers=0.8),
    ),
    _control(
        "lxc-climbs-docker-does-not",
        replace(PAPER, lxc=2.0),
        "LXC's RTT grows 1.4 times at each step, where the paper's least is 2",
        replace(PAPER, lxc=0.99, docker=5.2),
    ),
    _control(
        "lxc-wide-at-high-rate",
        replace(PAPER, lxc_spread=0.8, lxc_longer=0.9),
        "LXC's spread and RTT are below Docker's by a fifth of what they are above them",
        replace(PAPER, lxc_spread=0.3, lxc_longer=0.7),
    ),
    _control(
        "container-overhead-small",
        replace(PAPER, container_us=18.0),
        "the overhead is 18 µs, a fifth more than 0.01 ms can mean",
        replace(PAPER, container_us=1000.0),
    ),
    _control(
        "docker-rises-under-network-at-responder-only",
        replace(PAPER, docker_loaded=1.5),
        "CPU load makes Docker's RTT half as long again, a fifth above what counts as similar",
        replace(PAPER, docker_loaded=3.0, docker_under_network=0.0),
    ),
    _control(
        "io-load-does-not-matter",
        replace(PAPER, io=0.6),
        "I/O load adds a third to the RTT, where a quarter counts as nothing",
        replace(PAPER, io=2.0),
    ),
    _control(
        "overhead-share-of-cards",
        replace(PAPER, overhead=A_FIFTH_MORE),
        "the overhead of emulated cards is a fifth above the range's end",
        replace(PAPER, overhead=MUCH),
    ),
    _control(
        "overhead-by-guests-and-rate",
        replace(PAPER, full_overhead=1.6, slow_overhead=2.6),
        "overheads change by 72 and 120 µs with the guests, a fifth less than the paper's",
        replace(PAPER, slow_overhead=1.0, full_overhead=0.5),
        scale="paper",
        only=(("environment", ("kvm-virtio",)), ("affinity", ("off",)), ("vms", ("0", "128"))),
    ),
    _control(
        "overhead-share-lowest-under-network",
        replace(PAPER, responder=1.0, full_overhead=1.2),
        "network load adds nothing to the way, and a fifth to the overhead",
        replace(PAPER, responder=1.0),
    ),
    _control(
        "lxc-wider-at-high-rate",
        replace(PAPER, lxc_spread=0.8, lxc_longer=1.0, lxc_outliers=0.0),
        "LXC's spread at 1 Mpps is a fifth below that at 1 kpps",
        replace(PAPER, lxc_spread=0.3, lxc_longer=1.0, lxc_outliers=0.0),
    ),
    _control(
        "docker-better-or-similar",
        replace(PAPER, docker_times=1.5),
        "Docker's RTT is half as long again, a fifth above what counts as similar",
        replace(PAPER, docker_times=3.0),
        scale="paper",
        only=(("environment", ("lxc", "docker")), ("affinity", ("off",)), ("vms", ("0", "4"))),
    ),
    _control(
        "tau-slow-probing-kvm",
        replace(PAPER, slow=0.84, slow_overhead=0.6, slow_spread=1.0),
        "at 1 pps RTT and overhead are smaller by a fifth of what they are larger",
        replace(PAPER, slow=0.5, slow_overhead=0.5),
    ),
    _control(
        "tau-virtio",
        replace(PAPER, overhead={**CARDS, "kvm-virtio": 0.335}),
        "virtio's overhead is above the other cards' mean by a fifth of what it is below it",
        replace(PAPER, overhead=TURNED),
    ),
    _control(
        "tau-network-load-kvm",
        replace(PAPER, responder=0.8, full_overhead=0.9),
        "network load at the responder takes a fifth off the RTT",
        replace(PAPER, responder=0.5, full_overhead=0.5),
    ),
    _control(
        "tau-affinity",
        replace(PAPER, affinity=1.2),
        "affinity adds a fifth to the overhead",
        replace(PAPER, affinity=4.0),
        scale="paper",
        only=(
            ("environment", ("kvm-virtio",)),
            ("rate", ("1kpps",)),
            ("vms", ("4", "8", "16", "32", "64", "128")),
        ),
    ),
    _control(
        "tau-slow-probing-containers",
        replace(PAPER, docker_slow=0.97, lxc_longer=0.9),
        "at 1 pps Docker's RTT is below, and LXC's above, by a fifth of what they are apart",
        replace(PAPER, docker_slow=0.87, lxc_longer=0.7),
    ),
    _control(
        "tau-network-load-containers",
        replace(PAPER, responder=0.8),
        "network load at the responder takes a fifth off the RTT",
        replace(PAPER, responder=0.5),
    ),
    _control(
        "outliers-everywhere-lxc",
        replace(PAPER, lxc_elsewhere=0.005),
        "a third of a per cent of LXC's outliers is where table 5 has a tenth",
        replace(PAPER, lxc_elsewhere=0.5),
    ),
)
