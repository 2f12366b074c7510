"""Table 1 of whiteaker2011: delays in ms, round trip, the time on the wire already subtracted.

The columns are this project's terms; the paper's Δdom0 is `Δhost`, its ΔdomU `Δnode`.
"""

from __future__ import annotations

from dataclasses import dataclass

AS_HIGH_AS_US = 100_000.0
"""The delay that "heavy network usage from competing VMs" adds (abstract), at most."""
USER_US = 120_000.0
"""The largest delay of Linux in user space, which network load adds (section 4.1)."""
VSERVER_USER_US = 98_000.0
"""The same of VServer (section 4.2)."""
KERNEL_US = 6000.0
"""The delay of Linux in the kernel under network load, at most (section 4.1)."""
KERNEL_ELSE_US = 134.0
"""The same under all other loads (section 4.1)."""
DOM0_REST_US, DOM0_LOADED_US = 284.0, 300.0
"""The delay at dom0: "up to 284 µs", which table 1 has for HD load; below 300 µs under CPU and I/O
load (section 4.3)."""
DOM_U_US, XEN_USER_US = 300.0, 150.0
"""The delays that domU's kernel and its user space add at rest, about (section 4.3)."""
GUESTS, THREADS = 4, 4
"""The most guests that execute stress, and the most threads of each (section 3.3)."""
# Table 1 does not rank loads as section 1 does. CPU and I/O load add nothing to the medians of
# Linux and VServer, and HD and memory load do. In Xen I/O load adds more than CPU load, and both
# add more than network load at the 99th percentile.

# load in this project -> stress case in the paper
CASES = {
    "rest": "At Rest",
    "cpu": "CPU",
    "io": "I/O",
    "disk": "HD",
    "memory": "Memory",
    "network": "Network",
}
# kind in this project -> environment in the paper
ENVIRONMENTS = {"native": "Vanilla Linux", "shared": "VServer", "xen": "Xen"}


@dataclass(frozen=True, slots=True)
class Published:
    """The median and 99th percentile in ms, by term."""

    median: dict[str, float]
    p99: dict[str, float]


_OWN = ("ΔKern", "ΔUser", "total")
_XEN = ("Δhost", "Δnode", "ΔUser", "total")


def _row(terms: tuple[str, ...], median: tuple[float, ...], p99: tuple[float, ...]) -> Published:
    return Published(dict(zip(terms, median, strict=True)), dict(zip(terms, p99, strict=True)))


TABLE: dict[tuple[str, str], Published] = {
    ("native", "rest"): _row(_OWN, (0.051, 0.082, 0.134), (0.063, 0.243, 0.293)),
    ("native", "cpu"): _row(_OWN, (0.049, 0.075, 0.124), (0.067, 0.156, 0.208)),
    ("native", "io"): _row(_OWN, (0.049, 0.081, 0.129), (0.060, 0.178, 0.233)),
    ("native", "disk"): _row(_OWN, (0.055, 0.099, 0.154), (0.134, 0.435, 0.501)),
    ("native", "memory"): _row(_OWN, (0.076, 0.143, 0.220), (0.089, 0.538, 0.605)),
    ("native", "network"): _row(_OWN, (0.373, 9.374, 14.124), (6.039, 89.527, 92.331)),
    ("shared", "rest"): _row(_OWN, (0.032, 0.036, 0.068), (0.048, 0.174, 0.214)),
    ("shared", "cpu"): _row(_OWN, (0.035, 0.033, 0.069), (0.045, 0.132, 0.193)),
    ("shared", "io"): _row(_OWN, (0.039, 0.059, 0.098), (0.050, 0.114, 0.160)),
    ("shared", "disk"): _row(_OWN, (0.062, 0.121, 0.184), (0.192, 0.349, 0.454)),
    ("shared", "memory"): _row(_OWN, (0.076, 0.141, 0.217), (0.089, 0.518, 0.607)),
    ("shared", "network"): _row(_OWN, (0.377, 24.633, 25.008), (6.042, 83.860, 84.824)),
    ("xen", "rest"): _row(_XEN, (0.150, 0.298, 0.144, 0.595), (0.267, 0.584, 0.304, 0.889)),
    ("xen", "cpu"): _row(_XEN, (0.148, 0.464, 0.159, 0.861), (0.257, 32.204, 0.342, 32.539)),
    ("xen", "io"): _row(_XEN, (0.140, 4.221, 0.155, 4.521), (0.267, 56.240, 0.355, 56.566)),
    ("xen", "disk"): _row(_XEN, (0.137, 0.294, 0.141, 0.584), (0.284, 27.546, 0.378, 27.925)),
    ("xen", "memory"): _row(_XEN, (0.150, 0.320, 0.149, 0.644), (0.263, 0.512, 0.338, 0.948)),
    ("xen", "network"): _row(_XEN, (5.924, 5.079, 0.222, 11.429), (8.486, 19.655, 0.576, 26.293)),
}
AT_REST = (
    "Section 4.3 says that Xen's delays at rest are "
    '"three to four times higher than those of vanilla Linux and VServer"; their median in table 1 '
    "is 4.4 times that of Linux and 8.8 times that of VServer."
)
UNDER_NETWORK = (
    'Section 4.3 says "delays of up to 25 ms" of Xen under network load; their 99th percentile in '
    "table 1 is 26.293 ms."
)
