"""Losses, copies and reordering are counted on the leg of the link's direction that makes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from delaylab.records.links import Direction
from delaylab_study.analysis.packets.accounting import ByLeg, PhaseAccount, by_phase
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.trial.recording import Recording
from tests.doing.links.test_link_truth import lab, trial
from tests.stamped import of_trial, packets

pytestmark = pytest.mark.root
LEGS = {"a": "request", "b": "reply"}
"""The leg of the packets that a node sends: `a` sends the requests."""


def account(recording: Recording) -> dict[str, PhaseAccount]:
    head = {"id": "x", "index": 0, "factors": {}, "repeat": 1, "status": "ok"}
    record = TrialRecord.model_validate({**head, **dict(recording.record)})
    found = of_trial(record, recording.stamps, recording.probes)
    return {phase.phase: phase for phase in by_phase([found])}


def direction(recording: Recording, node: str) -> Direction:
    found = [d for engine in recording.record.links for d in engine.of_nodes if d.node == node]
    assert len(found) == 1
    return found[0]


def one_way(node: str, **conditions: Any) -> dict[str, Any]:
    return {"delay": "1ms", "from": {node: conditions}}


def other(leg: str) -> str:
    return "reply" if leg == "request" else "request"


@pytest.mark.parametrize("hosts", [1, 2])
@pytest.mark.parametrize("node", LEGS)
def test_copies_are_counted_where_they_are_made(hosts: int, node: str) -> None:
    recording = trial(lab("netns", hosts, **one_way(node, duplicate="10%")), count=400)
    made = direction(recording, node).duplicated
    found = account(recording)["load"]
    assert made is not None
    assert made > 10
    # A copied ARP frame is none of the probe's.
    assert made - 2 <= getattr(found.duplicated, LEGS[node]) <= made
    assert getattr(found.duplicated, other(LEGS[node])) == 0
    assert found.duplicated.unknown == 0
    assert (found.answered, found.lost) == (400, ByLeg())


@pytest.mark.parametrize("protocol", ["icmp", "udp"])
@pytest.mark.parametrize("node", LEGS)
def test_losses_are_counted_where_they_happen(node: str, protocol: str) -> None:
    spec = lab("netns", 2, **one_way(node, loss="10%"))
    # At rest each of ten bursts would wait for the packets that it lost.
    recording = trial(spec, count=400, at_rest=0, late="2s", protocol=protocol)
    made = direction(recording, node).dropped.loss
    found = account(recording)["load"]
    assert made > 10
    assert made - 2 <= getattr(found.lost, LEGS[node]) <= made
    assert found.lost.total == getattr(found.lost, LEGS[node])
    assert found.answered == 400 - found.lost.total
    assert found.duplicated == ByLeg()


@pytest.mark.parametrize("node", LEGS)
def test_overtaken_packets_are_counted_where_that_happens(node: str) -> None:
    """Packets come every 10 ms and take 15: who skips the delay overtakes the one before."""
    spec = lab("netns", 1, delay="15ms", **{"from": {node: {"reorder": "10%"}}})
    recording = trial(spec, count=300, interval="10ms")
    leg, start, end = LEGS[node], "sender.vif", "responder.vif"
    if node == "b":
        start, end = end, start
    table = packets(recording.stamps, recording.probes, recording.record.way)
    table = table.filter(phase="load").drop_nulls([f"{leg} {start}", f"{leg} {end}"])
    came_ns = table[f"{leg} {end}"].to_numpy()
    # Row: a packet; column: one that was sent later. True where the later one came first.
    passed = np.triu(came_ns[:, None] > came_ns[None, :])
    overtaken = int(passed.any(axis=1).sum())
    found = account(recording)["load"]
    assert overtaken > 5
    # The engine let some frames skip the delay, ARP's among them. No others overtook.
    assert 5 < int(passed.any(axis=0).sum()) <= (direction(recording, node).reordered or 0)
    # Where the machine is late by more than a probe waits, an account does not know the leg.
    assert getattr(found.reordered, leg) <= overtaken
    assert getattr(found.reordered, leg) + found.reordered.unknown == overtaken
