"""Claims of dantas2015.

The paper is "KVM Virtualization Impact on Active Round-Trip Time Measurements" (Dantas, Sadok,
Flinta, Johnsson; IFIP/IEEE IM 2015). Factors are those of `dantas2015.yaml`. Where the paper gives
a sentence and no number, the limit is this project's and says what it stands for.
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
    below,
    between,
    no_more_than,
)

from .measures import (
    ABOVE_NIC,
    BEYOND_US,
    CUT_IN_HALF,
    E1000_US,
    FAST,
    LIMITED,
    MOST,
    MOST_VMS,
    NO_IMPACT,
    RESERVED,
    SHARED,
    SIGNIFICANTLY,
    SLOW,
    TREND_FROM,
    VIRTIO_OFF_US,
    VIRTIO_US,
    at_the_bridge,
    cpu_growth,
    drivers_under_cpu_load,
    fast_share,
    growth_above_nic,
    io_by_reservation,
    mean_under_network,
    moved_by_io,
    moved_by_reservation,
    outliers_by_load,
    outliers_by_vms,
    sender_over_receiver,
    slower_when_rare,
    typical_network_ratio,
)

AT_REST = "trials without background VMs"
ALL = (
    Claim(
        "faster-probing-lower-rtt",
        "Without load, probing at 1000 Hz gives a lower RTT than at 1 Hz, in most cases half.",
        Source(
            "section IV A",
            "… high frequency measurements give lower RTT values throughout the "
            "experiments. … For the 1000Hz experiments the RTT values are in most cases cut "
            "in half.",
            "table II",
        ),
        (
            Criterion(
                "median user RTT without load: at 1 Hz − at 1000 Hz",
                "µs",
                above(0),
                slower_when_rare,
                f"{AT_REST} at 1 Hz and at 1000 Hz, {EACH_ENOUGH}",
            ),
            Criterion(
                "median user RTT without load: at 1000 Hz ÷ at 1 Hz",
                "share",
                at_most(CUT_IN_HALF, "most"),
                fast_share,
                f"{AT_REST} at 1 Hz and at 1000 Hz, {EACH_ENOUGH}",
            ),
        ),
        about=("card", "speed"),
    ),
    Claim(
        "reservation-without-load",
        "Without load, reserving a core has no impact.",
        Source("section IV A", "… CPU reservation has no impact at all.", "table II"),
        (
            Criterion(
                "change of the median user RTT without load by reserving a core",
                "share",
                no_more_than(NO_IMPACT),
                moved_by_reservation,
                f"{AT_REST}, with a core reserved and without, {EACH_ENOUGH}",
            ),
        ),
        about=("scheduling", "speed"),
    ),
    Claim(
        "cpu-load-grows-unless-reserved",
        "Under CPU load at 1000 Hz RTT grows with the VMs, unless a core is reserved.",
        Source(
            "section IV B",
            "In the case without CPU reservation the RTT has an increasing trend from 8 "
            "simultaneous background VMs. This is not the case with CPU reservation; rather the "
            "RTT remains unaffected by the number of background VMs.",
            "figure 2",
        ),
        (
            Criterion(
                "change of the median user RTT at 1000 Hz by CPU load at the sender, from 8 VMs to "
                "the most, not reserved",
                "share",
                above(0),
                cpu_growth(FAST, SHARED, TREND_FROM),
                "CPU load at the sender at 1000 Hz with 8 VMs and with more, without reservation, "
                f"{EACH_ENOUGH}",
            ),
            Criterion(
                "change of the median user RTT at 1000 Hz by CPU load at the sender, reserved",
                "share",
                no_more_than(LIMITED),
                cpu_growth(FAST, RESERVED),
                f"CPU load at the sender at 1000 Hz, and none, with a core reserved, {EACH_ENOUGH}",
            ),
        ),
        about=("scheduling", "speed"),
    ),
    Claim(
        "slow-probing-flat-under-cpu-load",
        "At 1 Hz the number of VMs under CPU load does not affect the RTT.",
        Source(
            "section IV B",
            "… the number of background VMs does not affect the measurement results.",
            "figure 2",
        ),
        tuple(
            Criterion(
                f"change of the median user RTT at 1 Hz by CPU load at the sender, {said}",
                "share",
                no_more_than(LIMITED),
                cpu_growth(SLOW, core),
                f"CPU load at the sender at 1 Hz, and none, {said}, {EACH_ENOUGH}",
            )
            for core, said in ((RESERVED, "with a core reserved"), (SHARED, "without reservation"))
        ),
        about=("scheduling", "speed"),
    ),
    Claim(
        "receiver-cpu-load-milder",
        "CPU load at the receiver raises the RTT less than at the sender.",
        Source(
            "section IV B",
            "The general finding for these scenarios is that the RTT is less sensitive to CPU "
            "load.",
        ),
        (
            Criterion(
                "median user RTT under CPU load: at the sender − at the receiver",
                "µs",
                above(0, "most"),
                sender_over_receiver,
                f"CPU load at the sender and alike at the receiver, at 1000 Hz, {EACH_ENOUGH}",
            ),
        ),
        about=("scheduling", "speed"),
    ),
    Claim(
        "drivers-tolerate-cpu-load-alike",
        "CPU load changes the RTT as much with virtio as with e1000.",
        Source(
            "section IV B",
            "… the VirtIO network driver gives results with similar tolerance to VM load as those "
            "using the e1000 driver.",
        ),
        (
            Criterion(
                "factor of the median user RTT by CPU load at the sender: virtio ÷ e1000, less 1",
                "share",
                no_more_than(LIMITED),
                drivers_under_cpu_load,
                f"CPU load at the sender with both drivers, and none, {EACH_ENOUGH}",
            ),
        ),
        about=("card", "scheduling", "speed"),
    ),
    Claim(
        "network-load-hundredfold",
        "Network load raises RTT in most configurations, in some from below 1 to above 100 ms.",
        Source(
            "section IV C",
            "For most of the experiment configurations the measured RTT increases significantly, "
            "going from less than 1ms to more than 100ms in some cases.",
            "figure 3",
        ),
        (
            Criterion(
                "median user RTT: under network load ÷ without load",
                "times",
                at_least(SIGNIFICANTLY, "most"),
                typical_network_ratio,
                f"trials with network load and without, {EACH_ENOUGH}",
            ),
            Criterion(
                "mean user RTT under network load, where it is below 1 ms without load",
                "µs",
                above(BEYOND_US, "some"),
                mean_under_network,
                f"trials with network load, and without it a mean below 1 ms, {EACH_ENOUGH}",
                is_difference=False,
            ),
        ),
        about=("card", "speed"),
    ),
    Claim(
        "host-nic-unmoved",
        "Under network load RTT at the sender's host NIC hardly grows: the delay is above it.",
        Source(
            "section IV C",
            "The RTT measured at capture point Sender-Host shows little or no increase …, "
            "even for a large number of executing background VMs.",
            "figure 3",
        ),
        (
            Criterion(
                "share of the growth of the median RTT that lies above the host's NIC",
                "share",
                at_least(ABOVE_NIC),
                growth_above_nic,
                "network load at the sender that raises the RTT there, and the point uplink, "
                f"{EACH_ENOUGH}",
            ),
        ),
        about=("card", "speed"),
    ),
    Claim(
        "emulated-driver-lower-at-bridge",
        "Under network load RTT at the sender's bridge is far lower with e1000 than with virtio.",
        Source(
            "section IV C",
            "The emulated driver … provides an average RTT below 20ms throughout the graph. "
            "Using the para-virtualized driver … the RTT increased at a higher pace; ending "
            "up at 120ms.",
            "figure 3",
        ),
        (
            Criterion(
                "mean RTT at the sender's bridge under network load, e1000",
                "µs",
                below(E1000_US),
                at_the_bridge("e1000", 1),
                f"network load at the sender at 1 Hz with e1000, and the point vif, {EACH_ENOUGH}",
                is_difference=False,
            ),
            Criterion(
                "mean RTT at the sender's bridge under network load, virtio, 128 VMs",
                "µs",
                between(VIRTIO_US - VIRTIO_OFF_US, VIRTIO_US + VIRTIO_OFF_US),
                at_the_bridge("virtio", MOST_VMS),
                "network load at the sender at 1 Hz with virtio and 128 VMs, and the point vif, "
                f"{EACH_ENOUGH}",
                is_difference=False,
            ),
        ),
        about=("card", "speed"),
    ),
    Claim(
        "io-load-does-little",
        "I/O load has limited impact on RTT.",
        Source(
            "section IV D",
            "… the RTT in general is insensitive to the number of background VMs and that the "
            "results do not improve by CPU core reservation.",
        ),
        (
            Criterion(
                "change of the median user RTT by I/O load",
                "share",
                no_more_than(LIMITED, "most"),
                moved_by_io,
                f"trials with I/O load and without, {EACH_ENOUGH}",
            ),
            Criterion(
                "change of the median user RTT under I/O load by reserving a core",
                "share",
                at_least(-NO_IMPACT, "most"),
                io_by_reservation,
                f"trials with I/O load, with a core reserved and without, {EACH_ENOUGH}",
            ),
        ),
        about=("scheduling", "speed"),
    ),
    Claim(
        "outliers-from-network-load",
        "Most RTTs above 100 ms come from network load.",
        Source(
            "section IV E",
            "… the most extreme outliers originate from experiments with network load "
            "(mainly with 64 and 128 background VMs).",
            "figure 3",
        ),
        (
            Criterion(
                "share of user RTTs above 100 ms that were under network load",
                "share",
                at_least(MOST),
                outliers_by_load,
                "trials with network load and with another load",
            ),
            Criterion(
                "share of those under network load that had 64 VMs or more",
                "share",
                at_least(MOST),
                outliers_by_vms,
                "trials with network load and fewer than 64 VMs, and with more",
            ),
        ),
        about=("card", "speed"),
    ),
)
CLAIMS = {claim.id: claim for claim in ALL}
