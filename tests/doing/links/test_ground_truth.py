"""A known delay, put between two points in one direction, is found there and nowhere else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.resolve.resolve import lab_from_data
from delaylab_study.study_file.combine import Combination
from delaylab_study.study_file.probe import ProbeSpec
from delaylab_study.trial.measure import measure
from delaylab_study.trial.recording import Recording
from tests.stamped import complete, packets, segments
from tests.waiting import PATIENCE_S

FORWARDER = Path(__file__).parents[2] / "forwarder.py"
PART = 0.1
"""The share of an injected delay by which its segment may differ; no other segment is as long."""
OTHER_WAY_NS = 2_000_000
"""The forwarder's delay against the asked direction: also known, also to be found."""
LAB = lab_from_data(
    {
        "lab": "truth",
        "hosts": {"sut": {}, "target": {}},
        "nodes": {
            "probe": {"kind": "netns", "host": "sut"},
            "echo": {"kind": "netns", "host": "target"},
        },
        "links": [{"join": ["probe", "echo"], "name": "lan"}],
    }
)
PROBE = ProbeSpec.model_validate(
    {"from": "probe", "to": "echo", "count": 100, "interval": "12ms", "at_rest": 0, "late": "2s"}
)
PLACES = {
    # where: (agent, port to put the forwarder behind, port is nearer to the sender, the segment)
    "host": ("host.sut", "probe.lan", True, ("sender.vif", "sender.uplink")),
    "wire": ("wire", "sut.lan", True, ("sender.uplink", "wire")),
    "far": ("host.target", "echo.lan", False, ("responder.uplink", "responder.vif")),
}


def in_network(lab: LiveLab, agent: str, *argv: str) -> None:
    enter = ["nsenter", "--target", str(lab.pid(agent)), "--net"]
    subprocess.run([*enter, *argv], check=True, capture_output=True, timeout=PATIENCE_S)


@contextmanager
def delaying(lab: LiveLab, place: str, leg: str, delay_ns: int) -> Iterator[dict[str, int]]:
    """Take a port out of its bridge and put the forwarder between the two.

    Behind the block: for how many ns the forwarder held the frames of each leg, at the median.
    """
    agent, port, near_sender, _ = PLACES[place]
    in_network(lab, agent, "ip", "link", "set", port, "nomaster")
    in_network(lab, agent, "ip", "link", "add", "fwd0", "type", "veth", "peer", "fwd1")
    in_network(lab, agent, "ip", "link", "set", "fwd1", "master", "br-lan", "up")
    in_network(lab, agent, "ip", "link", "set", "fwd0", "up")
    leftward, rightward = OTHER_WAY_NS, delay_ns
    if (leg == "request") != near_sender:
        leftward, rightward = rightward, leftward
    enter = ["nsenter", "--target", str(lab.pid(agent)), "--net"]
    forwarder = [sys.executable, str(FORWARDER), port, "fwd0"]
    process = subprocess.Popen(
        [*enter, *forwarder, "--left-to-right", f"{rightward}", "--right-to-left", f"{leftward}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    held: dict[str, int] = {}
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield held
    finally:
        said, _ = process.communicate(timeout=PATIENCE_S)
    rightward_first = ("request", "reply") if near_sender else ("reply", "request")
    held.update(zip(rightward_first, map(int, said.split()), strict=True))


def delays(recording: Recording) -> dict[tuple[str, str, str], NDArray[np.int64]]:
    path = recording.record.way
    table = complete(packets(recording.stamps, recording.probes, path), path)
    assert len(table) >= 0.9 * PROBE.count
    return {(s.leg, s.start, s.end): s.delay_ns for s in segments(table, path) if not s.merged}


@pytest.mark.root
@pytest.mark.parametrize("delay_ms", [3, 5])
@pytest.mark.parametrize("leg", ["request", "reply"])
@pytest.mark.parametrize("place", PLACES)
def test_a_known_delay_is_found_where_it_is(place: str, leg: str, delay_ms: int) -> None:
    with (
        temporary(LAB, accounting=False) as lab,
        delaying(lab, place, leg, delay_ms * 10**6) as held,
    ):
        found = delays(measure(lab, Combination({}, LAB, (), PROBE), probe_id=7))
    start, end = PLACES[place][3]
    ways = {"request": ("request", start, end), "reply": ("reply", end, start)}
    other = "reply" if leg == "request" else "request"
    # The forwarder is on time where the machine runs; it knows by how much it was not.
    for way, asked_ns in ((leg, delay_ms * 10**6), (other, OTHER_WAY_NS)):
        assert held[way] >= asked_ns
        assert abs(np.median(found.pop(ways[way])) - held[way]) < PART * held[way], held
    # The least is that of the packet that waited least for a CPU.
    elsewhere = {where: int(ns.min()) for where, ns in found.items()}
    assert max(elsewhere.values()) < PART * held[leg], elsewhere
