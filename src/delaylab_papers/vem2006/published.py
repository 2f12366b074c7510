"""Figures 16 to 19 and 21 of vem2006: delays in ms, rates in Mbit/s, times of routing in s."""

from __future__ import annotations

# By frame size, then by configured delay: least, mean, standard deviation.
Delays = dict[str, dict[str, tuple[float, float, float]]]
UNDER_LOAD: Delays = {
    "64": {
        "0": (0.250, 0.425, 0.065),
        "100us": (0.418, 0.640, 0.092),
        "1ms": (1.2, 1.5, 0.100),
        "10ms": (9.8, 10.3, 0.183),
        "100ms": (97.8, 99, 0.595),
    },
    "1450": {
        "0": (0.360, 0.560, 0.070),
        "100us": (0.520, 0.780, 0.085),
        "1ms": (1.2, 1.5, 0.100),
        "10ms": (10.0, 10.5, 0.201),
        "100ms": (98.6, 99, 0.570),
    },
}
AT_REST: Delays = {
    "64": {
        "0": (0.070, 0.080, 0.012),
        "100us": (0.2, 0.260, 0.041),
        "1ms": (1.057, 1.116, 0.042),
        "10ms": (10.087, 10.170, 0.100),
        "100ms": (100, 100.1, 0.220),
    },
    "1450": {
        "0": (0.143, 0.155, 0.014),
        "100us": (0.270, 0.330, 0.040),
        "1ms": (1.126, 1.193, 0.050),
        "10ms": (10.150, 10.220, 0.120),
        "100ms": (100, 100.170, 0.320),
    },
}
EARLIER_THAN_ASKED = (
    'Section IV C says "All the probe packets were delayed for at least the amount we requested"; '
    "in figure 16, under load, the shortest delay is 9.8 ms where 10 ms were requested, and 97.8 "
    "and 98.6 ms where 100 ms were."
)
PEAKS = {"64": 12.9, "1450": 255.0}
"""Rates of one of four streams without a limit, by frame size: figure 18."""
# By frame size, then by configured rate.
RATES: dict[str, dict[str, float]] = {
    "64": {"1Mbit": 1.5, "10Mbit": 10.6, "100Mbit": 12.9},
    "1450": {"1Mbit": 1.1, "10Mbit": 9.83, "100Mbit": 98},
}
# By configured delay, then by configured rate; frames of 1450 bytes.
RATES_UNDER_DELAY: dict[str, dict[str, float]] = {
    "100us": {"1Mbit": 1.1, "10Mbit": 10, "100Mbit": 98.5},
    "1ms": {"1Mbit": 1.1, "10Mbit": 10, "100Mbit": 98.3},
    "10ms": {"1Mbit": 1.1, "10Mbit": 10, "100Mbit": 98.4},
    "100ms": {"1Mbit": 1.1, "10Mbit": 9.9, "100Mbit": 97},
}
DELAY_MS = {"0": 0.0, "100us": 0.1, "1ms": 1.0, "10ms": 10.0, "100ms": 100.0}
FORWARDED = {64: 380_000.0, 1450: 130_000.0}
"""Packets/s that plain Linux forwards, by frame size: section IV B."""
OF_XEN0 = {64: 180_000.0}
"""Packets/s that the driver domain forwards without any router: section IV B."""
OF_TWO_CPUS = {64: 410_000.0, 1450: 130_000.0}
"""Packets/s that plain Linux forwards with a kernel for two CPUs: section VI A. For 1450 bytes the
paper "did not observe any increase"."""
BY_TEN_ROUTERS = (85_000.0, 120_000.0)
"""The least and the most packets/s that the system forwards, "depending on their size": section IV
C, of figure 8."""
OVERLOADED = (100_000.0, 60_000.0, 35_000.0)
"""Packets/s of 64 bytes that one router forwards: at most, and as more and more is offered. Section
VI A, which does not say how much is offered."""
# Figure 21, by test: detection, convergence after it, and convergence of a single one; in s.
CONVERGENCE_S = {
    "link down": (0.0, 2.0, 2.0),
    "link up": (41.0, 25.0, 9.0),
    "router down": (26.0, 17.0, 2.0),
    "router up": (3.0, 49.0, 39.0),
    "router restart": (3.0, 52.0, 49.0),
}
ROUTERS_OF_THE_MAP = 'Section I says "a 81 node router network", section V "87 routers, 161 links".'
WITHIN_A_SECOND = (
    'Section V C says of failed links that "all routers finish route re-computation within the '
    'same second that the failures occurred"; figure 21 has 2 s for it.'
)
SOONER_THAN_HELLOS = (
    'Section V C says that a failed router is detected after "between 30 and 40 seconds"; its next '
    'sentence has "around 26 seconds", as has figure 21.'
)
SINGLE_FAILURES = (
    "Section V C says of failures of a single link or router that "
    '"the convergence time is larger in the link up and router down cases"; in figure 21 it is '
    "smaller: 9 s instead of 25 s, and 2 s instead of 17 s."
)
HELLO_S, DEAD_S = 10.0, 40.0
"""The intervals of its routers, section V C: the dead interval is given, and that of hello packets
follows from "between 30 and 40 seconds" until a silent router is given up."""
NOTICED_S = (30.0, 40.0)
"""The time until a silent router is given up, by section V C; figure 21 has 26 s."""
ACCURACY_S = 1.0
"""The accuracy of its times of convergence: "we focus on an accuracy of one second"."""
CONVERGENCE_REPEATS = 4
ROUTES = 161
"""The routes that each router carries: section V."""
# Section V A: nodes of one CPU.
SPREAD_MS = {(5, False): 0.6, (10, False): 2.0, (5, True): 1.0, (10, True): 2.5}
"""Upper bounds of the time between the first and the last note of a broadcast, by the number of
nodes and whether they were loaded."""
JOB_OWN_MS, JOB_NODES = 12.5, 5
JOB_MS = (52.0, 64.0)
"""The times until the first and the last of five nodes had done a job of 12.5 ms."""
JOB_STARTS_MS = (0.0, 5.0, 10.0, 15.0, 20.0)
"""The times at which the five nodes began, and the quantum of Xen's scheduler by which they did."""
QUANTUM_MS, MOST_WAIT_MS = 5.0, 45.0
"""The quantum, and the most that one of ten nodes waits for the nine others."""
UPDATES_SWITCHES, UPDATES_SWITCHES_MS, UPDATES_SENT_MS = 9, 2.7, 1.5
"""The changes of context while ten nodes send, the time they take, and that of the ten trains."""
CROSSING_MS = (1.2, 18.0)
"""The least and the most time in which an update crosses 87 routers on 8 machines."""
SPF_MS = (6.0, 60.0)
"""Upper bounds of the time in which routes are computed: by one router, by ten of one machine."""
UPDATES_MS, UPDATES_NODES = 4.5, 10
"""The time from the first update's arrival until the last of ten nodes had sent its ten on."""
CLOCKS_US = 300.0
"""Upper bound of the time between the clocks of two machines under NTP: section V A."""
CONTRADICTIONS = (
    EARLIER_THAN_ASKED,
    ROUTERS_OF_THE_MAP,
    WITHIN_A_SECOND,
    SOONER_THAN_HELLOS,
    SINGLE_FAILURES,
)
