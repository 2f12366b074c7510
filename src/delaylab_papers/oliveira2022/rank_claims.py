"""Claims of oliveira2022's section 4.3: Kendall's tau of factors, and where outliers are.

The figures' numbers are not in its text, so the paper's own tau of a level is not known.
"""

from __future__ import annotations

from delaylab_study.papers.toolkit import (
    EACH_ENOUGH,
    Claim,
    Criterion,
    Rule,
    Source,
    above,
    at_least,
    at_most,
    no_more_than,
)

from .balance import DOCKER, KVM, LOADS, LXC, OVERHEAD, RATES, RTT, SLOW, VIRTIO
from .published import OUTLIERS
from .rank_measures import (
    Level,
    Levels,
    largest_share_of_outliers,
    outliers_at_responder,
    outliers_elsewhere,
    tau_above_others,
    tau_of,
)

UNRELATED = 0.1
"""Limit for "is not related": Kendall's tau at most this far from 0."""
MAINLY = 0.5
"""Limit for "distributed across several experiments": no scenario has more than this."""
TWICE = 2
"""Factor by which outliers elsewhere may exceed the paper's share. The paper gives no spread; the
factor is ours."""
AT_RESPONDER = {
    name: 1 - TWICE * (1 - of[("network", "responder")] / 100) for name, of in OUTLIERS.items()
}
ELSEWHERE = 0.0015
"""Limit for the 0.1 % of table 5, as printed."""
BLOCKS = f"in two blocks or more, {EACH_ENOUGH}"
NAMES = {RTT: "user RTT", OVERHEAD: "overhead"}


PROBED_SLOWLY = Level("rate", SLOW, RATES)
ON_VIRTIO = Level("environment", VIRTIO, KVM)
LOADED = Level("load", "network", LOADS)
PINNED = Level("affinity", "on", ("off", "on"))


def _tau(
    said: str,
    of_level: Level,
    environments: Levels,
    name: str = RTT,
    sign: int = 1,
    rule: Rule | None = None,
) -> Criterion:
    """Return the criterion that Kendall's tau of a level is above 0, or with sign -1 below."""
    return Criterion(
        f"Kendall's tau of {said} with the {NAMES[name]}{'' if sign > 0 else ', times −1'}",
        "index",
        rule or above(0),
        tau_of(environments, of_level, name, sign),
        f"{said} and alike without, {BLOCKS}",
    )


def _above_others(technology: str, environments: Levels) -> Criterion:
    """Return the criterion that network load has the largest tau of all loads with the RTT."""
    return Criterion(
        f"Kendall's tau with the user RTT, {technology}: of network load − of another",
        "index",
        above(0),
        tau_above_others(environments, LOADED),
        f"{technology} under network load and alike under another, {BLOCKS}",
    )


RANKS = (
    Claim(
        "tau-slow-probing-kvm",
        "With KVM 1 pps goes with a higher RTT and overhead.",
        Source(
            "section 4.3.1",
            "Observe that in general, a lower frequency (in our case 1 pps), is related to a "
            "higher RTT and overhead.",
            "figure 15",
        ),
        tuple(_tau("1 pps", PROBED_SLOWLY, KVM, name) for name in (RTT, OVERHEAD)),
        about=("stack", "speed"),
    ),
    Claim(
        "tau-virtio",
        "The virtio card goes with a lower RTT and overhead.",
        Source(
            "section 4.3.1",
            "Also, the VirtIO driver is related to lower RTT values and lower overhead.",
            "figure 15",
        ),
        tuple(_tau("virtio", ON_VIRTIO, KVM, name, -1) for name in (RTT, OVERHEAD)),
        about=("card",),
    ),
    Claim(
        "tau-network-load-kvm",
        "With KVM network load goes with the highest RTT, and a higher overhead.",
        Source(
            "section 4.3.1",
            "And also applying the network load type NET is related to the highest values "
            "of RTT and higher overhead.",
            "figure 15",
        ),
        (
            _tau("network load", LOADED, KVM),
            _above_others("KVM", KVM),
            _tau("network load", LOADED, KVM, OVERHEAD),
        ),
        about=("stack",),
    ),
    Claim(
        "tau-affinity",
        "CPU affinity goes neither with a higher nor with a lower RTT or overhead.",
        Source(
            "section 4.3.1",
            "… CPU affinity is not related to the increase or decrease of RTT or overhead values.",
            "figure 15",
        ),
        tuple(
            _tau("affinity", PINNED, KVM, name, 1, no_more_than(UNRELATED))
            for name in (RTT, OVERHEAD)
        ),
        about=("scheduling", "speed"),
    ),
    Claim(
        "tau-slow-probing-containers",
        "1 pps goes with a higher RTT and overhead with Docker, and with a lower RTT with LXC.",
        Source(
            "section 4.3.2",
            "… for Docker, a lower frequency (in our case 1 pps), is related to a higher "
            "RTT and overhead, however when we observe the LXC this behavior is inverted.",
            "figures 16 and 17",
        ),
        (
            *(
                _tau("1 pps with Docker", PROBED_SLOWLY, (DOCKER,), name)
                for name in (RTT, OVERHEAD)
            ),
            _tau("1 pps with LXC", PROBED_SLOWLY, (LXC,), RTT, -1),
        ),
        about=("stack", "speed"),
    ),
    Claim(
        "tau-network-load-containers",
        "With LXC and with Docker network load goes with the highest RTT.",
        Source(
            "section 4.3.2",
            "Load type NET is related to the highest values of RTT for both technologies.",
            "figures 16 and 17",
        ),
        tuple(_above_others(name, (of,)) for name, of in (("LXC", LXC), ("Docker", DOCKER))),
        about=("stack", "speed"),
    ),
    Claim(
        "outliers-at-responder-kvm",
        "With KVM most outliers are under network load at the responder.",
        Source(
            "section 4.3.1",
            "… among all the detected outliers, 95.41% of these happen when there is a "
            "competing network activity … running at the Responder Server …",
            "table 4",
        ),
        (
            Criterion(
                "share of outliers that were under network load at the responder",
                "share",
                at_least(AT_RESPONDER["kvm"]),
                outliers_at_responder(KVM, "kvm"),
                f"QEMU under network load at both places and alike under another, {BLOCKS}",
            ),
        ),
        about=("stack", "speed"),
    ),
    Claim(
        "outliers-at-responder-docker",
        "With Docker most outliers are under network load at the responder.",
        Source(
            "section 4.3.2",
            "As for the Docker technology, we were able to observe that the values located "
            "outside the curve are concentrated. Around 99.6% of them are in the scenario "
            "that applies a network load type at the Responder server.",
            "table 6",
        ),
        (
            Criterion(
                "share of outliers that were under network load at the responder",
                "share",
                at_least(AT_RESPONDER["docker"]),
                outliers_at_responder((DOCKER,), "docker"),
                f"Docker under network load at both places and alike under another, {BLOCKS}",
            ),
        ),
        about=("stack", "speed"),
    ),
    Claim(
        "outliers-everywhere-lxc",
        "With LXC outliers are in several scenarios.",
        Source(
            "section 4.3.2",
            "Contrary to what we see in the case of KVM, with LXC the outliers are distributed "
            "across several experiments.",
            "table 5",
        ),
        (
            Criterion(
                "share of outliers in the scenario with most of them",
                "share",
                at_most(MAINLY),
                largest_share_of_outliers((LXC,)),
                f"LXC under all loads at both places, at 1Mpps and a lower rate, {BLOCKS}",
            ),
            Criterion(
                "share of outliers outside the five scenarios of table 5",
                "share",
                at_most(ELSEWHERE),
                outliers_elsewhere((LXC,)),
                f"LXC under all loads at both places, at 1Mpps and a lower rate, {BLOCKS}",
            ),
        ),
        about=("stack", "speed"),
    ),
)
