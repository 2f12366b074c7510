"""Waits for what gives no event, such as the end of another's process."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 600.0
"""The longest wait of a test for what is sure to come. It only ends a test that hangs. A machine
that others use may be 30 times as slow as a quiet one."""
TURN_S = 0.02


def wait_until(
    true: Callable[[], bool],
    deadline_s: float = PATIENCE_S,
    why: Callable[[], object] = lambda: "it has not come",
) -> None:
    """Wait until something is true; fail at the deadline with what `why` says."""
    end_s = time.monotonic() + deadline_s
    while not true():
        assert time.monotonic() < end_s, why()
        time.sleep(TURN_S)


def wait_until_gone(left: Callable[[], object], deadline_s: float = PATIENCE_S) -> None:
    """Wait until nothing is left; fail at the deadline with what still is."""
    wait_until(lambda: not left(), deadline_s, lambda: f"left: {left()}")
