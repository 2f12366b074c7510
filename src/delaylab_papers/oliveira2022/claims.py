"""Claims of oliveira2022.

The paper is "An experimental investigation of Round-Trip Time and virtualization" (de Oliveira
Filho, Freitas, do Carmo, Sadok, Kelner; Computer Communications, 2022). Factors are those of
`oliveira2022.yaml`. Where the paper gives a sentence and no number, the limit is this project's and
says what it stands for.
"""

from __future__ import annotations

from delaylab_study.papers.toolkit import (
    EACH_ENOUGH,
    Claim,
    Criterion,
    Source,
    above,
    between,
    no_more_than,
)

from .balance import (
    EMULATED,
    KVM,
    OVER_RTT,
    OVERHEAD,
    PARAVIRTUAL,
    RATES,
    RTL8139,
    RTT,
    SLOW,
    VIRTIO,
)
from .container_claims import OF_CONTAINERS
from .measures import (
    median_change,
    median_shift,
    moved_by_affinity,
    moved_by_io,
    other_cards,
    overhead_by_guests,
    overhead_of_cards,
    quartile_ratio,
    responder_against_others,
    slow_against_fast,
)
from .rank_claims import RANKS

NOTHING = 0.01
"""Limit for "does not affect": the overhead's share moves by at most this. In table 3 its mean
moves by 0.0046, its median by 0.0013, its quartiles by 0.0023; the limit is twice the most."""
NO_INFLUENCE = 0.04
"""Limit for "does not significantly influence": medians at most this share apart. An overhead of a
quarter that changed by a sixth would move them so far. The limit is ours."""
INSIGNIFICANT = 0.25
"""Limit for "I/O Load in KVM does not significantly influence the accuracy of the RTT"."""
ABOUT = 0.01
"""Limit for "≈" of a share: so far beyond the paper's range of whole per cents it may lie."""
ROUNDED_US = 20.0
"""Limit for a change that the paper gives as two overheads in ms with two decimals: each may be off
by one in its last digit."""
CARDS = f"scenarios alike for QEMU's cards, {EACH_ENOUGH}"
UPLINK = "and the point uplink"
RATED = f"QEMU at 1pps and alike at a higher rate, {EACH_ENOUGH}"
AT_RESPONDER = (
    f"QEMU under network load at the responder, and alike under another load, {EACH_ENOUGH}"
)
WITH_GUESTS = (
    f"virtio without guests, and under network load at the responder, {EACH_ENOUGH}, {UPLINK}"
)


def _cards(card: str, sign: int) -> tuple[Criterion, ...]:
    """Return the criteria that a card is lowest (sign 1) or highest (-1), in RTT and overhead."""
    pair = f"another card − {card}" if sign > 0 else f"{card} − another card"
    return (
        Criterion(f"median user RTT: {pair}", "µs", above(0), other_cards(card, RTT, sign), CARDS),
        Criterion(
            f"median overhead: {pair}",
            "µs",
            above(0),
            other_cards(card, OVERHEAD, sign),
            f"{CARDS}, {UPLINK}",
        ),
    )


ALL = (
    Claim(
        "virtio-lowest",
        "Of QEMU's network cards virtio has the lowest RTT and overhead.",
        Source(
            "section 4.1.1",
            "More specifically, VirtIO offers the best performance of RTT median compared "
            "to all other drivers. … Observe also a constant performance with VirtIO being "
            "the lowest overhead and RTL8139 the highest one.",
            "figures 3 and 5",
        ),
        _cards(VIRTIO, 1),
        about=("card",),
    ),
    Claim(
        "rtl8139-highest",
        "Of QEMU's network cards rtl8139 has the highest RTT and overhead.",
        Source(
            "section 4.1.1",
            "Emulated drivers like RTL8139 have the highest RTT values …",
            "figures 3 and 5",
        ),
        _cards(RTL8139, -1),
        about=("card",),
    ),
    Claim(
        "overhead-share-of-cards",
        "Overhead is 25 to 32 % of the RTT with para-virtualised cards, 30 to 40 % with emulated "
        "ones.",
        Source(
            "section 4.1.1",
            "… the virtualization overhead got emulated drivers accounts for ≈ 30% to ≈ 40% "
            "of the final RTT. Para-virtualized drivers contribute approximately 25% to 32% "
            "to the RTT.",
            "figure 5",
        ),
        tuple(
            Criterion(
                f"median share of overhead in the RTT, {kind} cards",
                "share",
                between(low - ABOUT, high + ABOUT),
                overhead_of_cards(cards),
                f"{CARDS}, {UPLINK}, and a way of 0.26 ms from there and back, as the paper has",
            )
            for kind, cards, low, high in (
                ("para-virtualised", PARAVIRTUAL, 0.25, 0.32),
                ("emulated", EMULATED, 0.30, 0.40),
            )
        ),
        about=("card", "speed"),
    ),
    Claim(
        "overhead-by-guests-and-rate",
        "Under network load at the responder the overhead falls with the guests at 1 pps, and "
        "rises at higher rates.",
        Source(
            "section 4.1.3",
            "… when the network load is applied at the Responder server and the packet "
            "frequency is set to the small value of 1 pps, the overhead starts at a 0.36 ms "
            "even with 0 background VMs and decreases to 0.21 ms with 128 VMs. … However, "
            "with the cases for 1 Kpps and 1Mpps the opposite happens. The overhead starts "
            "close to 0.12 ms at 0 VMs and ends at 0.21 ms with 128 VMs.",
            "figure 9",
        ),
        (
            Criterion(
                "virtio's median overhead at 1 pps: without guests − most guests",
                "µs",
                between(150 - ROUNDED_US, 150 + ROUNDED_US),
                overhead_by_guests((SLOW,), -1),
                WITH_GUESTS,
            ),
            Criterion(
                "virtio's median overhead at higher rates: most guests − without guests",
                "µs",
                between(90 - ROUNDED_US, 90 + ROUNDED_US),
                overhead_by_guests(RATES[1:], 1),
                WITH_GUESTS,
            ),
        ),
        about=("card", "speed"),
    ),
    Claim(
        "overhead-share-lowest-under-network",
        "Network load at the responder makes the overhead's share of the RTT smallest.",
        Source(
            "section 4.1.1",
            "When submitting the Responder server to network load, we observe the lowest levels of "
            "overhead percentage for any VM number other than 0, when compared to scenarios with "
            "CPU and I/O load.",
            "figure 5",
        ),
        (
            Criterion(
                "median share of overhead: under CPU or I/O load − under network load at the "
                "responder",
                "share",
                above(0),
                responder_against_others(median_shift, OVER_RTT, ("cpu", "io"), less=True),
                f"{AT_RESPONDER}, {UPLINK}",
            ),
        ),
        about=("stack",),
    ),
    Claim(
        "affinity-changes-nothing",
        "CPU affinity changes nothing.",
        Source(
            "section 4.1.2",
            "Overall, CPU affinity usage does not significantly influence RTT performance. "
            "… CPU affinity does not affect the virtualization overhead.",
            "table 3",
        ),
        (
            Criterion(
                "change of the median share of overhead by affinity",
                "share",
                no_more_than(NOTHING),
                moved_by_affinity(OVER_RTT, median_shift),
                f"scenarios with affinity and alike without, {UPLINK}",
            ),
            Criterion(
                "change of the median user RTT by affinity",
                "share",
                no_more_than(NO_INFLUENCE),
                moved_by_affinity(RTT, median_change),
                "scenarios with affinity and alike without",
            ),
        ),
        about=("scheduling", "speed"),
    ),
    Claim(
        "slow-probing-higher-and-wider",
        "1 pps gives a higher and wider RTT than 1 kpps and 1 Mpps.",
        Source(
            "section 4.1.3",
            "An overall lower RTT median than that for 1 pps is achieved by the experiments "
            "exchanging echo packets at higher frequencies. … 1 pps generates a wider IQR …",
            "figures 7 and 8",
        ),
        (
            Criterion(
                "median user RTT: at 1 pps − at a higher rate",
                "µs",
                above(0, "most"),
                slow_against_fast(median_shift),
                RATED,
            ),
            Criterion(
                "distance of the quartiles of the user RTT: at 1 pps ÷ at a higher rate",
                "times",
                above(1, "most"),
                slow_against_fast(quartile_ratio),
                RATED,
            ),
        ),
        about=("stack", "speed"),
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
        about=("stack",),
    ),
    *OF_CONTAINERS,
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
                moved_by_io(KVM),
                f"QEMU under I/O load and without, {EACH_ENOUGH}",
            ),
        ),
        about=("scheduling", "speed"),
    ),
    *RANKS,
)
CLAIMS = {claim.id: claim for claim in ALL}
