"""A dataset with every part that a report shows: clocks, links, doubts, a failed trial."""

from __future__ import annotations

from pathlib import Path

from tests import synthetic
from tests.synthetic import Clock, Condition, queue

CLAIMS = ["network-adds-most", "sending-not-receiving", "xen-bimodal"]
LINKS = [
    {
        "host": "sut",
        "agent": "link.sut",
        "engine": "own",
        "state": "running",
        "realtime": True,
        "pauses": {"count": 1, "longest_ns": 3_000_000},
        "floor": {"watched_ns": 50_000_000, "held_up_ns": 700_000, "p99_ns": 9_000},
        "directions": [
            {
                "link": "lan",
                "node": "probe",
                "port": "vif-probe",
                "nodes": ["probe"],
                "asked": {
                    "delay_ns": 5_000_000,
                    "loss": {"model": "independent", "share": 0.1},
                    "rate": {"bps": 10_000_000, "overhead_bytes": 24, "minimum_bytes": 84},
                    "queue": {"packets": 50, "discipline": {"kind": "droptail"}},
                },
                "in": {"frames": 1000, "bytes": 100_000},
                "out": {"frames": 900, "bytes": 90_000},
                "dropped": {"loss": 100},
                "late": {"count": 900, "p50_ns": 2000.0, "p99_ns": 2_000_000.0},
                "first_out_ns": 1_700_000_000_000_000_000,
                "last_out_ns": 1_700_000_002_000_000_000,
            },
            {
                "link": "lan",
                "node": None,
                "port": "uplink",
                "asked": {},
                "in": {"frames": 3, "bytes": 300},
            },
        ],
    }
]


def write(place: Path) -> Path:
    """Write the dataset; return its directory."""
    guest = Clock("realtime@guest", offset_ns=9_000_000, drift=2e-5)
    conditions = [
        Condition("netns", "rest", at_rest=20, seed=1, links=LINKS),
        Condition("netns", "network", delays={("request", "sender.uplink"): queue(900)}, seed=2),
        Condition("native", "cpu", packets=50, lost_after={3: ("request", "wire")}, seed=3),
        Condition(
            "uml",
            "rest",
            at_rest=50,
            clocks={"sender": guest},
            seed=4,
            unseen=[(1, "reply", "wire")],
        ),
    ]
    directory = synthetic.write(place / "run", conditions, CLAIMS, "whiteaker2011")
    failed = Condition("native", "rest")
    record = synthetic.trial(failed, 9) | {"status": "failed", "reason": "stress-ng: not found"}
    record["warnings"] = [{"kind": "fabric", "message": "no cpu set", "remedy": "mount cgroups"}]
    stamps, probes = synthetic.tables(failed)
    synthetic.write_trial(directory, record, stamps.clear(), probes.clear(), synthetic.hosts())
    return directory
