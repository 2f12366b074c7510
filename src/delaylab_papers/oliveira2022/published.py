"""Numbers of oliveira2022: its tables 3 to 6, and overheads that its text gives."""

from __future__ import annotations

# Virtualisation overhead in per cent of the RTT: mean, deviation, least, quartiles, most.
AFFINITY: dict[str, tuple[float, ...]] = {
    "off": (27.36, 15.80, 0.15, 23.74, 26.32, 28.43, 99.15),
    "on": (27.82, 16.44, 0.06, 23.74, 26.19, 28.66, 99.23),
}
# Share of all outliers in per cent, by (network load or other, place). The text gives no numbers
# for table 5 (LXC).
OUTLIERS: dict[str, dict[tuple[str, str], float]] = {
    "kvm": {
        ("network", "responder"): 95.41,
        ("network", "sender"): 0.19,
        ("other", "responder"): 1.09,
        ("other", "sender"): 3.3,
    },
    "docker": {("network", "responder"): 99.6},
}
# Share of LXC's outliers outside of the five scenarios that table 5 names, in per cent.
OUTLIERS_ELSEWHERE_LXC = 0.1
# Median RTT in ms of LXC at 1 Mpps under CPU load at the sender, by the number of background guests
# (section 4.2, figure 10), and its overhead and RTT in ms with 128 of them (figure 12).
LXC_CLIMB_MS = {8: 10.0, 32: 20.0, 128: 52.0}
LXC_OVERHEAD_MS, LXC_RTT_MS = 48.0, 51.0
# Median RTT in ms of LXC at 1 Mpps with 128 guests and network load at the responder (figure 11).
LXC_UNDER_NETWORK_MS = 120.0
# Median overhead as a share of the RTT over all experiments (section 4.1.1, figure 5).
OVERHEAD_SHARE = {"kvm-virtio": 0.2526, "kvm-rtl8139": 0.3549}
# Standard deviation of the RTT in ms under network load at the responder, with 0 background guests
# and with 128 (section 4.1.1).
DEVIATION_MS = {"kvm-virtio": (0.35, 11.29), "kvm-rtl8139": (None, 11.95)}
# Overhead in µs under network load at the responder, with 0 background guests and with 128, at
# 1 pps and at the higher rates (section 4.1.3, figure 9).
OVERHEAD_US = {"1pps": (360.0, 210.0), "1kpps": (120.0, 210.0), "1Mpps": (120.0, 210.0)}
# Median RTT in µs with virtio, at most (section 4.1.1, figure 3).
RTT_US = 350.0
SHORT_OF_IT = (
    "Section 4.1.1 says of figure 4 that RTTs other than those under network load at the responder "
    'are "close to 0.01 ms, regardless of the load Type and Location, similar to Fig. 3"; of '
    "figure 3 it says that virtio is "
    '"the only driver achieving an RTT median value lower than 0.35 ms".'
)
# The RTT without overhead: the way from the sender's host interface to the responder and back.
WAY_US = RTT_US * (1 - OVERHEAD_SHARE["kvm-virtio"])
