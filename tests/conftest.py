"""What all tests share."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from benches.undisturbed import stolen_s

REAL_PACKETS = {"packets", "doing"}
ATTACKS = "security"
"""Tests that are attacks: one that succeeds once has succeeded."""
RERUNS = 2
CALM = 0.01
"""The share of the CPUs' time that a hypervisor may take of a machine on which it is worth it."""
LOOK_S, PATIENCE_S = 1.0, 60


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests with real packets run again, at most twice, if they fail.

    The machine is shared: one stall of it can make any packet late. What is wrong in the code
    fails three times; what was run again is listed at the end. Before it is, the machine is given
    a minute to get its CPUs back.
    """
    root = Path(__file__).parent
    for item in items:
        parts = item.path.relative_to(root).parts
        if parts[0] in REAL_PACKETS and ATTACKS not in parts:
            item.add_marker(pytest.mark.flaky(reruns=RERUNS))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Nothing tells that a hypervisor has ceased to take the CPUs: it is looked up each second."""
    if getattr(item, "execution_count", 1) == 1:
        return
    until = time.monotonic() + PATIENCE_S
    stolen = 1.0
    while stolen > CALM and time.monotonic() < until:
        before = stolen_s()
        time.sleep(LOOK_S)
        stolen = (stolen_s() - before) / LOOK_S / (os.cpu_count() or 1)
