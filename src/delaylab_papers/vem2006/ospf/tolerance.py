"""Tolerances: the time may lie this far from figure 21, and still be as the paper says.

The paper states an accuracy of a second, and means of four repeats without their spread. It says
where its times vary: hello packets come at any moment of an interval of 10 s, so that a router is
given up "between 30 and 40 seconds" later. The mean of four such moments has a standard deviation
of 1.4 s; twice that is 2.9 s.
"""

from __future__ import annotations

import math

from ..published import ACCURACY_S, CONVERGENCE_REPEATS, HELLO_S

OF_HELLOS_S = 2 * HELLO_S / math.sqrt(12) / math.sqrt(CONVERGENCE_REPEATS)
"""Twice the standard deviation of the mean of four moments within an interval."""
DETECTED_BY_HELLOS = ("link up", "router down")
"""The tests in which hello packets decide when a change is detected.

In these, says section V C, there is "more variability in the times" of adjacencies."""
CONVERGED_BY_HELLOS = (*DETECTED_BY_HELLOS, "router up", "router restart")
"""The tests in which adjacencies come or go by hello packets before all routes are right."""


def detection_tolerance_s(test: str) -> float:
    """Return how far a detection time may be from that of figure 21."""
    return ACCURACY_S + OF_HELLOS_S * (test in DETECTED_BY_HELLOS)


def convergence_tolerance_s(test: str) -> float:
    """Return how far a time of convergence may be from that of figure 21."""
    return ACCURACY_S + OF_HELLOS_S * (test in CONVERGED_BY_HELLOS)


def between_means_s(*, by_hellos: bool) -> float:
    """Return how far two of the paper's means may lie apart if they are of one time."""
    return ACCURACY_S + math.sqrt(2) * OF_HELLOS_S * by_hellos
