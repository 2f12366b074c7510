"""Claims of oliveira2022.

The paper is "An experimental investigation of Round-Trip Time and virtualization" (de Oliveira
Filho, Freitas, do Carmo, Sadok, Kelner; Computer Communications, 2022). Factors are those of
`oliveira2022.yaml`. Where the paper gives a sentence and no number, the limit is this project's and
says what it stands for.
"""

from __future__ import annotations

from delaylab.analysis.claims.claim import Claim, Criterion, Source
from delaylab.analysis.claims.groups import EACH_ENOUGH, SHARE
from delaylab.analysis.claims.rule import above, at_least, at_most, no_more_than
from delaylab.papers.oliveira2022.measures import (
    DOCKER,
    KVM,
    LXC,
    RTL8139,
    VIRTIO,
    climb,
    container_overhead,
    median_change,
    median_shift,
    moved_by_affinity,
    moved_by_io,
    other_cards,
    outliers_at_responder,
    quartile_ratio,
    responder_against_others,
    slow_against_fast,
    wider_than_docker,
)

NOTHING = 0.05
"""Limit for "does not affect": the overhead's share moves by at most this. The paper's moved by
0.0013."""
NO_INFLUENCE = 0.15
"""Limit for "does not significantly influence": medians at most this share apart."""
INSIGNIFICANT = 0.25
"""Limit for "I/O load does not significantly influence the accuracy of the RTT"."""
SMALL_US = 50.0
"""Limit for "close to 0.01 ms"."""
CLIMBS = 1.5
"""Limit for "the RTT values increase": the paper's went from 10 ms to 52 ms."""
MAINLY = 0.5
CARDS = f"scenarios alike for QEMU's cards, {EACH_ENOUGH}"
RATES = f"QEMU at 1pps and alike at a higher rate, {EACH_ENOUGH}"
AT_RESPONDER = (
    f"QEMU under network load at the responder, and alike under another load, {EACH_ENOUGH}"
)


def _cards(card: str, sign: int) -> tuple[Criterion, Criterion]:
    """Return the criteria that a card is lowest (sign 1) or highest (-1), in RTT and overhead."""
    pair = f"another card − {card}" if sign > 0 else f"{card} − another card"
    return (
        Criterion(
            f"median user RTT: {pair}", "µs", above(0), other_cards(card, "app", sign), CARDS
        ),
        Criterion(
            f"median share of overhead: {pair}",
            "share",
            above(0),
            other_cards(card, SHARE, sign),
            f"{CARDS}, and the point uplink",
        ),
    )


ALL = (
    Claim(
        "virtio-lowest",
        "Of QEMU's network cards virtio has the lowest RTT and overhead.",
        Source(
            "section 4.1.1",
            "VirtIO offers the best performance of RTT median compared to all other drivers. "
            "Observe also a constant performance with VirtIO being the lowest overhead and "
            "RTL8139 the highest one.",
            "figures 3 and 5",
        ),
        _cards(VIRTIO, 1),
    ),
    Claim(
        "rtl8139-highest",
        "Of QEMU's network cards rtl8139 has the highest RTT and overhead.",
        Source(
            "section 4.1.1",
            "Emulated drivers like RTL8139 have the highest RTT values.",
            "figures 3 and 5",
        ),
        _cards(RTL8139, -1),
    ),
    Claim(
        "affinity-changes-nothing",
        "CPU affinity changes nothing.",
        Source(
            "section 4.1.2",
            "CPU affinity usage does not significantly influence RTT performance. CPU affinity "
            "does not affect the virtualization overhead.",
            "table 3",
        ),
        (
            Criterion(
                "change of the median share of overhead by affinity",
                "share",
                no_more_than(NOTHING),
                moved_by_affinity(SHARE, median_shift),
                "scenarios with affinity and alike without, and the point uplink",
            ),
            Criterion(
                "change of the median user RTT by affinity",
                "share",
                no_more_than(NO_INFLUENCE),
                moved_by_affinity("app", median_change),
                "scenarios with affinity and alike without",
            ),
        ),
    ),
    Claim(
        "slow-probing-higher-and-wider",
        "1 pps gives a higher and wider RTT than 1 kpps and 1 Mpps.",
        Source(
            "section 4.1.3",
            "An overall lower RTT median than that for 1 pps is achieved by the experiments "
            "exchanging echo packets at higher frequencies. 1 pps generates a wider IQR.",
            "figures 7 and 8",
        ),
        (
            Criterion(
                "median user RTT: at 1 pps − at a higher rate",
                "µs",
                above(0, "most"),
                slow_against_fast(median_shift),
                RATES,
            ),
            Criterion(
                "distance of the quartiles of the user RTT: at 1 pps ÷ at a higher rate",
                "times",
                above(1, "most"),
                slow_against_fast(quartile_ratio),
                RATES,
            ),
        ),
    ),
    Claim(
        "network-at-responder-highest",
        "Network load at the responder gives the highest RTT and the widest spread.",
        Source(
            "section 6",
            "Higher RTT values and greater RTT variation are observed when Network Load is "
            "applied at the Responder server.",
            "figure 4",
        ),
        (
            Criterion(
                "median user RTT: network load at the responder − another load",
                "µs",
                above(0),
                responder_against_others(median_shift),
                AT_RESPONDER,
            ),
            Criterion(
                "distance of the quartiles: network load at the responder ÷ another load",
                "times",
                above(1),
                responder_against_others(quartile_ratio),
                AT_RESPONDER,
            ),
        ),
    ),
    Claim(
        "outliers-at-responder-kvm",
        "With KVM most outliers are under network load at the responder.",
        Source(
            "section 4.3.1",
            "Among all the detected outliers, 95.41% of these happen when there is a competing "
            "network activity running at the Responder Server.",
            "table 4",
        ),
        (
            Criterion(
                "share of outliers that were under network load at the responder",
                "share",
                at_least(MAINLY),
                outliers_at_responder(KVM, "kvm"),
                AT_RESPONDER,
            ),
        ),
    ),
    Claim(
        "outliers-at-responder-docker",
        "With Docker most outliers are under network load at the responder.",
        Source(
            "section 4.3.2",
            "As for the Docker technology, around 99.6% of them are in the scenario that applies "
            "a network load type at the Responder server.",
            "table 6",
        ),
        (
            Criterion(
                "share of outliers that were under network load at the responder",
                "share",
                at_least(MAINLY),
                outliers_at_responder((DOCKER,), "docker"),
                "Docker under network load at the responder, and under another load",
            ),
        ),
    ),
    Claim(
        "lxc-climbs-docker-does-not",
        "At 1 Mpps, CPU load at the sender: LXC's RTT climbs with the guests, Docker's not.",
        Source(
            "section 4.2",
            "When combining a 1Mpps frequency with LXC, CPU Load Type and a high number of "
            "background VMs the RTT values increase, going from ≈ 10 ms with 8 VMs to ≈ 20 ms "
            "with 32 VMs; with 128 RTT tops 52 ms.",
            "figure 10",
        ),
        (
            Criterion(
                "LXC's median user RTT: most guests ÷ fewest",
                "times",
                at_least(CLIMBS),
                climb(LXC),
                "LXC at 1Mpps under CPU load at the sender, with two numbers of guests",
            ),
            Criterion(
                "Docker's median user RTT: most guests ÷ fewest",
                "times",
                at_most(CLIMBS),
                climb(DOCKER),
                "Docker at 1Mpps under CPU load at the sender, with two numbers of guests",
            ),
        ),
    ),
    Claim(
        "lxc-wide-at-high-rate",
        "At 1 Mpps LXC's RTTs vary more than Docker's.",
        Source(
            "section 4.2",
            "When increasing packet exchange to 1Mpps, Docker containers benefited from smaller "
            "RTT values with less variation, regardless of the load type, when compared with LXC.",
            "figure 10",
        ),
        (
            Criterion(
                "distance of the quartiles of the user RTT at 1 Mpps: LXC ÷ Docker",
                "times",
                above(1, "most"),
                wider_than_docker,
                f"LXC and Docker alike at 1Mpps, {EACH_ENOUGH}",
            ),
        ),
    ),
    Claim(
        "container-overhead-small",
        "Containers add about 0.01 ms, but for LXC at 1 Mpps under CPU load at the sender.",
        Source(
            "section 4.2",
            "Most of the cases, the values are close to 0.01 ms for both LXC and Docker. The "
            "exception is exactly the scenario when applying CPU load on the sender server with "
            "LXC.",
            "figure 12",
        ),
        (
            Criterion(
                "median overhead (user RTT − RTT at the host's interface)",
                "µs",
                at_most(SMALL_US, "most"),
                container_overhead,
                f"containers, and the point uplink, {EACH_ENOUGH}",
            ),
        ),
    ),
    Claim(
        "io-load-does-not-matter",
        "I/O load does not matter for virtual machines.",
        Source(
            "section 6",
            "The application of I/O Load in KVM does not significantly influence the accuracy of "
            "the RTT.",
            "figure 4",
        ),
        (
            Criterion(
                "change of the median user RTT by I/O load",
                "share",
                no_more_than(INSIGNIFICANT, "most"),
                moved_by_io,
                f"QEMU under I/O load and without, {EACH_ENOUGH}",
            ),
        ),
    ),
)
CLAIMS = {claim.id: claim for claim in ALL}
