"""Claims of oliveira2022 about containers (section 4.2)."""

from __future__ import annotations

from delaylab_study.papers.toolkit import (
    EACH_ENOUGH,
    Claim,
    Criterion,
    Source,
    above,
    at_least,
    at_most,
)

from .balance import DOCKER, FASTEST, LXC, RATES
from .measures import (
    climb,
    container_overhead,
    lxc_against_docker,
    lxc_at_high_rate,
    median_ratio,
    median_shift,
    quartile_ratio,
)

SMALL_US = 50.0
"""Limit for "close to 0.01 ms"."""
CLIMBS = 1.5
"""Limit for "the RTT values increase": the paper's went from 10 ms to 52 ms."""
SIMILAR, SIMILAR_SPREAD = 1.25, 2.0
"""Limits for "better or similar": the median and the distance of quartiles at most these times."""
BOTH = f"LXC and Docker alike, {EACH_ENOUGH}"

OF_CONTAINERS = (
    Claim(
        "lxc-climbs-docker-does-not",
        "At 1 Mpps, CPU load at the sender: LXC's RTT climbs with the guests, Docker's not.",
        Source(
            "section 4.2",
            "For instance, when combining a 1Mpps frequency with LXC, CPU Load Type and a "
            "high number of background VMs the RTT values increase, going from ≈ 10 ms with "
            "8 VMs to ≈ 20 ms with 32 VMs. When increasing even further the number of "
            "background VMs to 128, RTT tops 52 ms.",
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
        "At 1 Mpps LXC's RTTs are longer than Docker's and vary more.",
        Source(
            "section 4.2",
            "However, when increasing packet exchange to 1Mpps, Docker containers benefited "
            "from smaller RTT values with less variation, regardless of the load type, when "
            "compared with LXC.",
            "figure 10",
        ),
        (
            Criterion(
                "distance of the quartiles of the user RTT at 1 Mpps: LXC ÷ Docker",
                "times",
                above(1, "most"),
                lxc_against_docker(quartile_ratio, (FASTEST,), "times"),
                f"{BOTH} at 1Mpps",
            ),
            Criterion(
                "median user RTT at 1 Mpps: LXC − Docker",
                "µs",
                above(0, "most"),
                lxc_against_docker(median_shift, (FASTEST,), "µs"),
                f"{BOTH} at 1Mpps",
            ),
        ),
    ),
    Claim(
        "lxc-wider-at-high-rate",
        "LXC's RTTs vary more at 1 Mpps than at 1 kpps.",
        Source(
            "section 6",
            "LXC triggers a wide variation in RTT values when used in a high packet rate scenario.",
            "figures 10 and 11",
        ),
        (
            Criterion(
                "distance of the quartiles of LXC's user RTT: at 1 Mpps ÷ at 1 kpps",
                "times",
                above(1, "most"),
                lxc_at_high_rate,
                f"LXC at 1Mpps and alike at 1kpps, {EACH_ENOUGH}",
            ),
        ),
    ),
    Claim(
        "docker-better-or-similar",
        "Docker's RTTs are shorter than LXC's or similar, and vary less or as much.",
        Source(
            "section 6",
            "Docker outperforms LXC in all scenarios, presenting either better or similar RTT "
            "values and variation.",
            "figures 10 and 11",
        ),
        (
            Criterion(
                "median user RTT: Docker ÷ LXC",
                "times",
                at_most(SIMILAR),
                lxc_against_docker(median_ratio, RATES, "times", turned=True),
                BOTH,
            ),
            Criterion(
                "distance of the quartiles of the user RTT: Docker ÷ LXC",
                "times",
                at_most(SIMILAR_SPREAD),
                lxc_against_docker(quartile_ratio, RATES, "times", turned=True),
                BOTH,
            ),
        ),
    ),
    Claim(
        "container-overhead-small",
        "Containers add about 0.01 ms, but for LXC at 1 Mpps under CPU load at the sender.",
        Source(
            "section 4.2",
            "Most of the cases, the values are close to 0.01 ms for both LXC and Docker … "
            "The exception is exactly the scenario when applying CPU load on the sender "
            "server with LXC …",
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
)
