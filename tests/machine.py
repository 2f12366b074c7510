"""A machine of synthetic datasets."""

from __future__ import annotations

from typing import Any


def machine(clock: str) -> dict[str, Any]:
    return {
        "hostname": "bench",
        "kernel": "6.1.0",
        "cpu": "Example CPU 2.0 GHz",
        "cores": 2,
        "memory_bytes": 4 << 30,
        "python": "3.11.2",
        "delaylab": "0.1.0",
        "agent": "0.1.0",
        "clock": clock,
    }
