"""Tables 3 to 6 of oliveira2022: overhead with and without affinity, and where outliers are."""

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
# Median overhead as a share of the RTT over all experiments (section 4.1.1, figure 5).
OVERHEAD_SHARE = {"kvm-virtio": 0.2526, "kvm-rtl8139": 0.3549}
