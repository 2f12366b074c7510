"""Reports of link engines, for tests of verdicts."""

from __future__ import annotations

from typing import Any

from delaylab.records.links import EngineReport
from delaylab.verdicts.links import Verdict, judge

SECOND = 10**9


def direction(**changes: Any) -> dict[str, Any]:
    frames = {"frames": 10_000, "bytes": 15_140_000}
    return {
        "link": "wan",
        "node": "a",
        "port": "vif-a",
        "nodes": ["a"],
        "asked": {"delay_ns": 5_000_000},
        "in": frames,
        "out": frames,
        "dropped": {},
        "late": {"count": 10_000, "p50_ns": 3_000, "p99_ns": 20_000, "max_ns": 90_000},
        "first_out_ns": 0 + SECOND,
        "last_out_ns": 13 * SECOND,
        **changes,
    }


def engine(**changes: Any) -> dict[str, Any]:
    far = direction(node=None, port="uplink", nodes=[], asked={})
    running = {"host": "left", "state": "running", "realtime": True}
    return {**running, "directions": [direction(), far], **changes}


def verdict(**changes: Any) -> Verdict:
    (only,) = judge([EngineReport.model_validate(engine(directions=[direction(**changes)]))])
    return only
