"""The paper's claims on CPU and network work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import sub

from delaylab_study.papers.toolkit import (
    SHARE,
    Claim,
    Criterion,
    Group,
    Measured,
    Source,
    at_least,
    below,
    between,
    is_virtual_machine,
    paired,
)

from .measures import (
    CPU,
    FEWEST,
    LINUX,
    NETWORK,
    SCP,
    SHARES_APART,
    XEN,
    driver_shares,
    jains,
    kinds,
    mean,
    named,
    totals,
    used,
)
from .published import CPU_JAIN, NETWORK_JAIN_LESS, SCP_JAIN, UPLINK_BPS

FAIR = 0.99
MOST_OF_CPU = 0.9
ALMOST_EQUAL = 0.1
BALLPARK = (0.85, 1.0)
OF_TIME = "The paper's shares are of the time that scp took; here they are of its rate"
NEEDS = f"{FEWEST} trials of {{}} with two nodes or more of a kind, all of which finished"


def cpu_fairness(groups: list[Group]) -> Iterator[Measured]:
    """Yield Jain's index of the nodes' shares of CPU work."""
    for kind, n in kinds(groups):
        effect = mean(jains(groups, kind, n, CPU).values(), SHARE)
        if effect is not None:
            of = used(groups, kind, n, CPU)
            aside = not is_virtual_machine(kind)
            yield Measured(named(kind, n), effect, of, "", CPU_JAIN.get(n), aside)


def network_less_fair(groups: list[Group]) -> Iterator[Measured]:
    """Yield Jain's index of the nodes' shares of the network less that of plain processes."""
    return _less_fair(groups, NETWORK, NETWORK_JAIN_LESS)


def scp_less_fair(groups: list[Group]) -> Iterator[Measured]:
    """Yield Jain's index of the nodes' rates of copying less that of plain processes."""
    return _less_fair(groups, SCP, {})


def _less_fair(
    groups: list[Group], work: str, published: Mapping[str, float]
) -> Iterator[Measured]:
    for kind, n in kinds(groups):
        if kind == LINUX:
            continue
        own, plain = (jains(groups, each, n, work) for each in (kind, LINUX))
        effect = mean(paired(own, plain, sub), SHARES_APART)
        if effect is not None:
            of = [each for k in (kind, LINUX) for each in used(groups, k, n, work)]
            aside = not is_virtual_machine(kind)
            yield Measured(named(kind, n), effect, of, "", published.get(n), aside)


def scp_fairness(groups: list[Group]) -> Iterator[Measured]:
    """Yield Jain's index of the nodes' rates of copying; those of plain processes decide."""
    for kind, n in kinds(groups):
        effect = mean(jains(groups, kind, n, SCP).values(), SHARE)
        if effect is not None:
            plain = kind == LINUX
            theirs = SCP_JAIN.get(n) if plain else None
            of = used(groups, kind, n, SCP)
            yield Measured(named(kind, n), effect, of, "", theirs, aside=not plain)


def wire_filled(groups: list[Group]) -> Iterator[Measured]:
    """Yield the sum of what arrives of all nodes' streams over the bandwidth of the Ethernet."""
    for kind, n in kinds(groups):
        rates = totals(groups, kind, n, NETWORK)
        effect = mean(bps / UPLINK_BPS for bps in rates.values())
        if effect is not None:
            aside = not is_virtual_machine(kind) and kind != LINUX
            yield Measured(named(kind, n), effect, used(groups, kind, n, NETWORK), aside=aside)


def driver_domain(groups: list[Group]) -> Iterator[Measured]:
    """Yield the share of the driver domain in the CPU time of all domains, in copies by scp."""
    for kind, n in kinds(groups):
        effect = mean(driver_shares(groups, n, SCP).values(), SHARE) if kind == XEN else None
        if effect is not None:
            yield Measured(named(kind, n), effect, used(groups, kind, n, SCP))


CLAIMS = {
    claim.id: claim
    for claim in (
        Claim(
            "cpu-work-shared-equally",
            "Virtual machines that compute get equal shares of the CPU.",
            Source(
                "section 2.1",
                "Xen managed to distribute the workload evenly among the different VM's when "
                "running five and ten virtual machines respectively.",
                "figures 1 and 2",
            ),
            (
                Criterion(
                    "Jain's index of the nodes' shares of CPU work",
                    "index",
                    at_least(FAIR),
                    cpu_fairness,
                    NEEDS.format("CPU work"),
                ),
            ),
        ),
        Claim(
            "network-shared-as-by-processes",
            "Virtual machines share the network as unfairly as plain processes do.",
            Source(
                "section 2.2",
                "However, we observe that unfairness across different virtual machine instances "
                "and different processes are almost to an equal degree both for five and nine "
                "instances.",
                "figures 3 to 6",
            ),
            (
                Criterion(
                    "Jain's index of the nodes' shares of the network less that of processes",
                    "index",
                    between(-ALMOST_EQUAL, ALMOST_EQUAL),
                    network_less_fair,
                    NEEDS.format("network work by nodes and by plain processes"),
                ),
            ),
            caveat="The paper's shares are of CPU time in netperf; here they are of what arrives, "
            "as in its iperf test",
        ),
        Claim(
            "streams-fill-the-wire",
            "The streams of all nodes add up to the bandwidth of the Ethernet.",
            Source(
                "section 2.2",
                "… adds up in the ballpark of hundred megabits per second which is the bandwidth "
                "available from the machine's ethernet on which these tests were conducted.",
                "figure 8",
            ),
            (
                Criterion(
                    "sum of what arrives of all streams, over the bandwidth",
                    "share",
                    between(*BALLPARK),
                    wire_filled,
                    NEEDS.format("network work"),
                ),
            ),
        ),
        Claim(
            "scp-shared-equally-by-processes",
            "Plain processes that copy by scp get equal shares.",
            Source(
                "section 2.3",
                "It is evident from the table that for three concurrent SCP sessions, each of them "
                "get approximately 33% of the overall time for completing the entire job. In five "
                "concurrent SCP sessions, each of the SCP sessions ended up getting approximately "
                "20% of the entire CPU time which is remarkably fair.",
                "figures 10 to 14",
            ),
            (
                Criterion(
                    "Jain's index of the nodes' rates of copying",
                    "index",
                    at_least(FAIR),
                    scp_fairness,
                    NEEDS.format("copies by plain processes"),
                ),
            ),
            caveat=OF_TIME,
        ),
        Claim(
            "scp-shared-less-equally-by-machines",
            "Virtual machines that copy by scp share less equally than plain processes.",
            Source(
                "section 2.3",
                "In stark contrast, Xen did not fare well enough. The percentage share of each VM "
                "in both three instance and five instance case is poor.",
                "figures 10 to 13",
            ),
            (
                Criterion(
                    "Jain's index of the nodes' rates of copying less that of processes",
                    "index",
                    below(0),
                    scp_less_fair,
                    NEEDS.format("copies by nodes and by plain processes"),
                ),
            ),
            caveat=OF_TIME,
        ),
        Claim(
            "driver-domain-takes-most",
            "Where virtual machines copy by scp, the driver domain takes over 90 % of the CPU.",
            Source(
                "section 2.3",
                "Another important observation from the xentop output is that the hypervisor gets "
                "more than 90% of the CPU time in this workload and the rest are given to the "
                "guests. … this extra CPU overhead for network I/O in Dom 0 that hosts most of the "
                "drivers has also been reported by the HP people in their technical reports.",
            ),
            (
                Criterion(
                    "driver domain's share of the CPU time of all domains",
                    "share",
                    at_least(MOST_OF_CPU),
                    driver_domain,
                    f"{FEWEST} trials of copies by Xen nodes, which get no `packages` yet",
                ),
            ),
        ),
    )
}
