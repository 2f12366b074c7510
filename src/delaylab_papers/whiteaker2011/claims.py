"""Claims of whiteaker2011.

The paper is "Explaining Packet Delays under Virtualization" (Whiteaker, Schneider, Teixeira; ACM
SIGCOMM CCR 41(1), 2011). Its environments are Linux, VServer, Xen and OpenVZ; those that the study
adds (LXC, KVM) are shown beside them and do not decide.
"""

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

from .measures import (
    BEYOND_P99,
    HALF,
    IN_TWO_CLASSES,
    RARELY,
    SENDING_SHARE,
    SMALL_QUEUES,
    bad_samples_seen,
    gap_closed,
    in_the_slow_class,
    in_two_classes,
    kernel_share_under_network,
    network_adds,
    removed_by_minimum,
    rest_called_use,
    sending_share,
    slow_receipts,
    user_above_kernel,
)

UNDER_NETWORK = f"trials under network load, and the point wire, {EACH_ENOUGH}"
ALL = (
    Claim(
        "network-adds-most",
        "Network load adds the most delay, in every environment.",
        Source(
            "section 1",
            "The stress cases with the largest impact on delays are network load (via a bulk TCP "
            "transmission), full CPU utilization, and context switching (via heavy I/O activity).",
            "table 1",
        ),
        (
            Criterion(
                "median of user RTT less wire RTT: network load − the largest other",
                "µs",
                above(0),
                network_adds,
                f"trials with network load and with another load or none, {EACH_ENOUGH}",
            ),
        ),
        SMALL_QUEUES,
    ),
    Claim(
        "kernel-closer-than-user",
        "Kernel stamps sit far closer to the wire than user-space stamps.",
        Source(
            "section 4.1",
            "We deduce that user-level timestamping can result in gross RTT overestimation "
            "even without virtualization. As expected, this effect is significantly reduced "
            "when using kernel-level timestamps …",
            "table 1",
        ),
        (
            Criterion(
                "median ΔKern ÷ median total under network load",
                "share",
                at_most(HALF),
                kernel_share_under_network,
                f"a sender in the host's own stack under network load, {EACH_ENOUGH}",
            ),
            Criterion(
                "median ΔUser − median ΔKern",
                "µs",
                above(0, "most"),
                user_above_kernel,
                f"a sender in the host's own stack, and the point wire, {EACH_ENOUGH}",
            ),
        ),
        SMALL_QUEUES,
    ),
    Claim(
        "sending-not-receiving",
        "Under network load almost all delay is added while sending, little while receiving.",
        Source(
            "section 4.5",
            "The vast majority of the delay occurs when sending packets.",
            "figure 5",
        ),
        (
            Criterion(
                "sending delay's share of the medians of sending and receiving",
                "share",
                at_least(SENDING_SHARE),
                sending_share,
                UNDER_NETWORK,
            ),
        ),
        SMALL_QUEUES,
    ),
    Claim(
        "receiving-small",
        "Receiving rarely adds more than 0.3 ms on Linux and VServer, or 2 ms on Xen.",
        Source(
            "section 4.5",
            "We find that the accuracy of receiving packets rarely exceeds 300 µs in "
            "VServer and Linux, and 2 ms for Xen.",
            "figure 5",
        ),
        (
            Criterion(
                "share of packets under network load whose receipt took longer",
                "share",
                at_most(RARELY),
                slow_receipts,
                UNDER_NETWORK,
            ),
        ),
    ),
    Claim(
        "xen-bimodal",
        "Under load Xen's RTTs have two classes: below 1 ms or above 10 ms.",
        Source(
            "section 4.3",
            "We can easily identify two classes of delays: those smaller than 1 ms and those "
            "larger than 10 ms.",
            "figure 4",
        ),
        (
            Criterion(
                "share of user RTTs below 1 ms or above 10 ms",
                "share",
                at_least(IN_TWO_CLASSES, "most"),
                in_two_classes,
                f"senders of kind xen under loads other than the network, {EACH_ENOUGH}",
            ),
            Criterion(
                "share of user RTTs above 10 ms under CPU and I/O load",
                "share",
                at_least(BEYOND_P99),
                in_the_slow_class,
                f"senders of kind xen under CPU or I/O load, {EACH_ENOUGH}",
            ),
        ),
    ),
    Claim(
        "virtual-interface-not-hypervisor",
        "The virtual interface, not the hypervisor, explains the delay under network load.",
        Source(
            "section 4.4",
            "Considering that OpenVZ experiences this with a single kernel this suggests "
            "that in the case of heavy network activity the method of routing traffic to "
            "guests is a more important factor than the overhead of the underlying "
            "virtualization technique.",
        ),
        (
            Criterion(
                "share of Xen's additional ΔKern, network load less rest, that a container has",
                "share",
                at_least(HALF),
                gap_closed,
                "senders of kind xen, netns and native or shared, under network load and at rest, "
                f"{EACH_ENOUGH}",
            ),
        ),
    ),
    Claim(
        "minimum-helps",
        "Taking the minimum of several probes removes most of the kernel's delay under load.",
        Source(
            "section 4.1",
            "Since this delay is not constant, performing a number of tests and selecting the "
            "minimum RTT helps to achieve better results.",
        ),
        (
            Criterion(
                "share of the median ΔKern that the minimum of 10 probes takes away",
                "share",
                at_least(HALF),
                removed_by_minimum,
                "at least 100 packets under network load of a sender in the host's own stack",
            ),
        ),
    ),
    Claim(
        "monitoring-helps",
        "A monitor of the machine's use tells bad samples from others.",
        Source(
            "section 6",
            "If accessible, monitoring the system to detect concurrent usage and other factors "
            "that could affect measurements can help to avoid bad measurement samples.",
        ),
        (
            Criterion(
                "share of bad samples sent in use; bad: above the 99th percentile at rest",
                "share",
                at_least(HALF),
                bad_samples_seen,
                f"a load that makes samples bad, trials at rest, the point wire, {EACH_ENOUGH}",
            ),
            Criterion(
                "share of samples at rest sent in use",
                "share",
                at_most(HALF),
                rest_called_use,
                f"trials at rest, and the point wire, {EACH_ENOUGH}",
            ),
        ),
    ),
)
CLAIMS = {claim.id: claim for claim in ALL}
