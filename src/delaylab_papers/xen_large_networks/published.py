"""Numbers of the paper, as far as its text gives them: figures 1 to 3, and sections 2.2 and 2.3."""

from __future__ import annotations

import numpy as np

from delaylab_study.papers.toolkit import Floats, jain

POVRAY_10: Floats = np.array(
    [10.1537, 10.3255, 10.4219, 10.4127, 10.3017, 10.2039, 10.0995, 9.9713, 9.0550, 9.0550]
)
"""Figure 2: each of ten machines' share of the CPU time in POV-Ray, in %.

Two of the ten are not legible in the copy that we have; they share the rest of 100 % equally here.
"""
NETPERF_5: Floats = np.array([11.74, 17.39, 17.83, 24.35, 28.70])
"""Figure 3: each of five machines' share of the CPU time in netperf, in %."""
NETPERF_5_PROCESSES: Floats = np.array([16.53, 18.43, 20.13, 20.55, 24.36])
"""Figure 3: the same of five processes without a hypervisor."""
UPLINK_BPS = 100e6
"""Section 2.2: the bandwidth that the machine's Ethernet has."""

SCP_JAIN = {"3": 1.0, "5": 1.0}
"""Section 2.3: Jain's index of shares of 33 % and of 20 %, of processes that copy by scp.

Those of machines are in figures 10 and 12, which are not legible in the copy that we have.
"""
CPU_JAIN = {"10": jain(POVRAY_10)}
"""Jain's index of CPU work, by the number of nodes."""
NETWORK_JAIN_LESS = {"5": jain(NETPERF_5) - jain(NETPERF_5_PROCESSES)}
"""Jain's index of network work of machines less that of processes, by the number of nodes."""
