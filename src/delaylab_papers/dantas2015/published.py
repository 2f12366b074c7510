"""Table II of dantas2015: RTT in ms without load, by frequency, driver and core."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Published:
    """RTT in ms."""

    least: float
    median: float
    most: float
    mean: float
    deviation: float


SCENARIOS = (
    'Section III says "all above parameter combinations (864 scenarios)"; table I has 432: 2 of '
    "reservation × 3 loads × 2 places × 9 numbers of background VMs × 2 drivers × 2 frequencies."
)
OUTLIERS = (
    'Section IV E says that there were "samples with RTT values above 100ms" "in all experiments"; '
    "the longest RTT of table II, without background VMs, is 5.29 ms."
)
# (frequency, driver, core) as in `dantas2015.yaml`
TABLE: dict[tuple[str, str, str], Published] = {
    ("1Hz", "e1000", "reserved"): Published(0.510, 0.721, 4.100, 0.743, 0.345),
    ("1Hz", "e1000", "shared"): Published(0.511, 0.788, 2.110, 0.788, 0.144),
    ("1Hz", "virtio", "reserved"): Published(0.613, 0.825, 4.150, 0.847, 0.340),
    ("1Hz", "virtio", "shared"): Published(0.599, 0.833, 3.640, 0.849, 0.287),
    ("1000Hz", "e1000", "reserved"): Published(0.271, 0.323, 1.570, 0.355, 0.139),
    ("1000Hz", "e1000", "shared"): Published(0.294, 0.360, 1.670, 0.375, 0.141),
    ("1000Hz", "virtio", "reserved"): Published(0.231, 0.299, 3.820, 0.346, 0.356),
    ("1000Hz", "virtio", "shared"): Published(0.233, 0.304, 5.290, 0.376, 0.503),
}
