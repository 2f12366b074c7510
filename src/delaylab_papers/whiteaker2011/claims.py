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
    no_more_than,
)

from .claims_of_environments import OF_ENVIRONMENTS
from .feedback import bad_samples_left, clean_median_error, refused_at_rest
from .measures import (
    BEYOND_P99,
    EQUALLY,
    FALSE_ALARMS,
    FEW,
    FIFTH,
    HALF,
    IN_TWO_CLASSES,
    ONE_IN_100,
    RARELY,
    SENDING_SHARE,
    SMALL_QUEUES,
    beyond_least,
    beyond_most,
    gap_closed,
    in_the_slow_class,
    in_two_classes,
    kernel_beyond,
    kernel_beyond_least,
    kernel_beyond_most,
    kernel_share_under_network,
    network_adds,
    next_to_network,
    removed_by_minimum,
    replies_by_kernel,
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
        about=("stack",),
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
        about=("stack",),
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
        about=("stack",),
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
        about=("stack", "speed"),
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
        about=("scheduling", "speed"),
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
        about=("stack", "forwarding"),
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
                "share of the median ΔKern above rest that the minimum of 10 probes takes away",
                "share",
                at_least(HALF),
                removed_by_minimum,
                "at least 100 packets under network load of a sender in the host's own stack, "
                "and trials at rest",
            ),
        ),
        about=("stack",),
    ),
    Claim(
        "monitoring-helps",
        "Samples that a monitor of the machine's use lets pass tell the delay at rest.",
        Source(
            "section 6",
            "If accessible, monitoring the system to detect concurrent usage and other factors "
            "that could affect measurements can help to avoid bad measurement samples.",
        ),
        (
            Criterion(
                "error of the clean median against rest, as a part of the raw one's",
                "share",
                no_more_than(FIFTH),
                clean_median_error,
                f"a probe with `clean`, loads that pause, trials at rest, {EACH_ENOUGH}",
            ),
            Criterion(
                "excess of bad samples among clean packets, as a part of that among all",
                "share",
                at_most(FIFTH),
                bad_samples_left,
                f"a probe with `clean`, loads that pause, trials at rest, {EACH_ENOUGH}",
            ),
            Criterion(
                "share of packets at rest that are refused",
                "share",
                at_most(FALSE_ALARMS),
                refused_at_rest,
                f"a probe with `clean`, and trials at rest, {EACH_ENOUGH}",
            ),
        ),
        about=("stack",),
    ),
    Claim(
        "network-adds-up-to-100-ms",
        "In the host's own stack network load adds delays as high as 100 ms.",
        Source(
            "section 1",
            "As presented in Section 4 we experience extra delays added by the host of up to "
            "100 ms, which is on the order of round trip propagation delays across the Atlantic "
            "ocean.",
            "table 1",
        ),
        (
            Criterion(
                "share of delays (user RTT less wire RTT) under network load above 50 ms",
                "share",
                at_least(ONE_IN_100),
                beyond_least,
                f"a sender in the host's own stack under network load, {EACH_ENOUGH}",
            ),
            Criterion(
                "share of delays under network load above 168 ms",
                "share",
                at_most(ONE_IN_100),
                beyond_most,
                f"a sender in the host's own stack under network load, {EACH_ENOUGH}",
            ),
        ),
        SMALL_QUEUES,
        about=("stack", "speed"),
    ),
    Claim(
        "cpu-and-io-add-next",
        "After network load, CPU and I/O load add the most delay, in Xen.",
        Source(
            "section 1",
            "The stress cases with the largest impact on delays are network load (via a bulk TCP "
            "transmission), full CPU utilization, and context switching (via heavy I/O activity).",
            "table 1",
        ),
        (
            Criterion(
                "median of user RTT less wire RTT: CPU or I/O load − the largest other but network",
                "µs",
                above(0),
                next_to_network,
                f"senders of kind xen under CPU, I/O and other loads, {EACH_ENOUGH}",
            ),
        ),
        about=("scheduling",),
    ),
    Claim(
        "linux-kernel-sizes",
        "In Linux the kernel adds up to 6 ms under network load, and 134 µs under others.",
        Source(
            "section 4.1",
            "For most stress cases the kernel of Vanilla Linux adds no more than 134 µs to RTTs. "
            "The notable exception is network stress where the delay of kernel-space RTTs can jump "
            "up to 6 ms.",
            "table 1",
        ),
        (
            Criterion(
                "share of packets under network load with a ΔKern above 2 ms",
                "share",
                at_least(ONE_IN_100),
                kernel_beyond_least,
                f"senders of kind native under network load, {EACH_ENOUGH}",
            ),
            Criterion(
                "share of packets under network load with a ΔKern above 18 ms",
                "share",
                at_most(ONE_IN_100),
                kernel_beyond_most,
                f"senders of kind native under network load, {EACH_ENOUGH}",
            ),
            Criterion(
                "share of packets under another load, or at rest, with a ΔKern above 134 µs",
                "share",
                at_most(FEW, "most"),
                kernel_beyond,
                "senders of kind native under loads other than the network",
            ),
        ),
        SMALL_QUEUES,
        about=("stack", "speed"),
    ),
    Claim(
        "kernel-replies-as-bad",
        "If the kernel stamps replies, as ping does, the delay under network load is the same.",
        Source(
            "section 4.5",
            "We also note that because the most significant delays are due to sending, the ping "
            "tool performs equally poorly under network stress when using kernel-level timestamps "
            "for ICMP Echo Reply packets (the default behavior in Linux).",
        ),
        (
            Criterion(
                "share of a delay that stays if the kernel stamps the reply, at least",
                "share",
                at_least(EQUALLY),
                replies_by_kernel,
                f"a sender in the host's own stack, and the point wire, {EACH_ENOUGH}",
            ),
        ),
        SMALL_QUEUES,
        about=("stack",),
    ),
    *OF_ENVIRONMENTS,
)
CLAIMS = {claim.id: claim for claim in ALL}
