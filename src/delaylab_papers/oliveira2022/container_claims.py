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
    between,
)

from .balance import DOCKER, FASTEST, LXC, RATES
from .container_measures import (
    climb,
    container_overhead,
    docker_against_rest,
    exception_against_others,
    exception_share,
    lxc_against_docker,
    lxc_at_high_rate,
)
from .measures import median_ratio, median_shift, quartile_ratio

SMALL_US = (5.0, 15.0)
"""Limits for "close to 0.01 ms", which two decimals leave."""
DOMINATED = 0.5
"""Limit for "the RTT is dominated by virtualization overhead"; the paper's is 48 of 51 ms."""
CLIMBS = 1.6
"""Limit for "the RTT values increase": the paper's double from 8 to 32 guests, and grow 2.6 times
from there to 128. A fifth less than the smaller step is allowed, because the steps depend on the
CPUs that the guests share. The limit is ours."""
SIMILAR, SIMILAR_SPREAD = 1.25, 2.0
"""Limits for "better or similar": the median and the distance of quartiles at most these times."""
EXCEPTION = (
    "LXC at 1Mpps under CPU load at the sender with 128 guests, other scenarios, and the point "
    f"uplink, {EACH_ENOUGH}"
)
LOADED_AND_NOT = f"Docker under loads and without guests, {EACH_ENOUGH}"
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
                "LXC's median user RTT: with more guests ÷ with fewer",
                "times",
                at_least(CLIMBS),
                climb(LXC, steps=True),
                "LXC at 1Mpps under CPU load at the sender, with 8, 32 and 128 guests",
            ),
            Criterion(
                "Docker's median user RTT: with 128 guests ÷ with 8",
                "times",
                at_most(SIMILAR),
                climb(DOCKER, steps=False),
                "Docker at 1Mpps under CPU load at the sender, with 8, 32 and 128 guests",
            ),
        ),
        about=("stack", "speed"),
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
                above(1),
                lxc_against_docker(quartile_ratio, (FASTEST,), "times"),
                f"{BOTH} at 1Mpps",
            ),
            Criterion(
                "median user RTT at 1 Mpps: LXC − Docker",
                "µs",
                above(0),
                lxc_against_docker(median_shift, (FASTEST,), "µs"),
                f"{BOTH} at 1Mpps",
            ),
        ),
        about=("stack", "speed"),
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
        about=("stack", "speed"),
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
        about=("stack", "speed"),
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
                "median overhead (user RTT − RTT at the host's interface), but for the exception",
                "µs",
                between(*SMALL_US, "most"),
                container_overhead,
                f"containers, and the point uplink, {EACH_ENOUGH}",
            ),
            Criterion(
                "median overhead: of LXC at 1 Mpps under CPU load at the sender with 128 guests ÷ "
                "of another scenario",
                "times",
                above(1),
                exception_against_others,
                EXCEPTION,
            ),
            Criterion(
                "median share of overhead in the RTT of that exception",
                "share",
                at_least(DOMINATED),
                exception_share,
                EXCEPTION,
            ),
        ),
        about=("stack", "speed"),
    ),
    Claim(
        "docker-rises-under-network-at-responder-only",
        "Only network load at the responder lengthens Docker's RTT, which stays below LXC's.",
        Source(
            "section 4.2",
            "This also seems to be the only scenario where Docker suffers an increase in RTT and "
            "RTT variation, even though it still outperforms LXC.",
            "figure 11",
        ),
        (
            Criterion(
                "Docker's median user RTT: under network load at the responder ÷ without guests",
                "times",
                above(SIMILAR),
                docker_against_rest(under_network_at_responder=True),
                LOADED_AND_NOT,
            ),
            Criterion(
                "Docker's median user RTT: under any other load ÷ without guests",
                "times",
                at_most(SIMILAR),
                docker_against_rest(under_network_at_responder=False),
                LOADED_AND_NOT,
            ),
        ),
        about=("stack", "speed"),
    ),
)
