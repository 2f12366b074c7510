"""What all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

REAL_PACKETS = {"packets", "doing"}
RERUNS = 2


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests with real packets run again, at most twice, if they fail.

    The machine is shared: one stall of it can make any packet late. What is wrong in the code
    fails three times; what was run again is listed at the end.
    """
    root = Path(__file__).parent
    for item in items:
        if item.path.relative_to(root).parts[0] in REAL_PACKETS:
            item.add_marker(pytest.mark.flaky(reruns=RERUNS))
