"""Numbers that the paper published. This paper is made up, and so are they."""

from __future__ import annotations

MEDIAN_RTT_US: dict[tuple[str, str], float] = {
    ("own", "rest"): 60,
    ("own", "cpu"): 85,
    ("virtual", "rest"): 70,
    ("virtual", "cpu"): 105,
}
"""Median RTT in user space in µs, by the study's levels of `stack` and `load`."""
INTERFACE_ADDS_US = 10
"""Median that the virtual interface adds at rest, in µs."""
