"""Numbers of the paper, as far as its text gives them: figures 1 to 3, and sections 2.2 and 2.3."""

from __future__ import annotations

import numpy as np

from delaylab_study.papers.toolkit import Floats, jain

POVRAY_5: Floats = np.array([20.6696, 19.3908])
"""Figure 1: the legible shares of five machines in the CPU time in POV-Ray, in %."""
POVRAY_10: Floats = np.array(
    [10.1537, 10.3255, 10.4219, 10.4127, 10.3017, 10.2039, 10.0995, 9.9713]
)
"""Figure 2: the legible shares of ten machines in the CPU time in POV-Ray, in %."""
NETPERF_5: Floats = np.array([11.74, 17.39, 17.83, 24.35, 28.70])
"""Figure 3: each of five machines' share of the CPU time in netperf, in %."""
NETPERF_5_PROCESSES: Floats = np.array([16.53, 18.43, 20.13, 20.55, 24.36])
"""Figure 3: the same of five processes without a hypervisor."""
NETPERF_S = (2.3, 1.888115)
"""Figure 3: the CPU time in s of all five machines together, and of all five processes."""
COPIES = 7
"""Section 2.3: how many of ten copies by scp from ten machines did not starve."""

CPU_DEVIATION = {
    "5": float(np.abs(POVRAY_5 / 20 - 1).max()),
    "10": float(np.abs(POVRAY_10 / 10 - 1).max()),
}
"""Largest legible distance of a share of CPU time from the equal one, over that, by the number."""
NETWORK_JAIN_LESS = {"5": jain(NETPERF_5) - jain(NETPERF_5_PROCESSES)}
"""Jain's index of network work of machines less that of processes, by the number of nodes."""
