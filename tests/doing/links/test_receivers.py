"""Conditions at the receiver: known delays and losses of each, after those of the sender."""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from itertools import groupby
from typing import Any

import polars as pl
import pytest

from delaylab.lab.links import link_engines
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.resolve.lab import Lab
from delaylab.resolve.resolve import lab_from_data
from delaylab.verdicts.links import judge
from delaylab_study.analysis.links.fidelity import TrialLink, trial_links
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.trial.recording import Recording
from tests.doing.conftest import Run, Up, as_json
from tests.doing.links.test_link_states import said
from tests.doing.links.test_link_truth import lab as link_of_two
from tests.doing.links.test_link_truth import measured, nothing_but_a_busy_machine, trial
from tests.stamped import narrow
from tests.waiting import wait_until

pytestmark = pytest.mark.root
BAD_INPUT = 2
PART = 0.2
"""The share of a round trip by which the fastest of its packets may be slower."""


def air(hosts: int = 1, **link: object) -> Lab:
    """Return a lab of three nodes on a broadcast link; the last is on another host if there is."""
    names = ["left", "right"][:hosts]
    return lab_from_data(
        {
            "lab": "radio",
            "ip": [4, 6],
            "hosts": {name: {} for name in names},
            "nodes": {node: {"host": names[-(node == "c")]} for node in "abc"},
            "links": [{"join": ["a", "b", "c"], "name": "air", **link}],
        }
    )


def fastest_ms(lab: LiveLab, node: str, to: str) -> float:
    shown = said(lab, node, "ping", "-q", "-c", "20", "-i", "0.02", to)
    found = re.search(r"= ([\d.]+)/", shown)
    assert found, shown
    return float(found[1])


@pytest.mark.parametrize("hosts", [1, 2])
def test_each_receiver_has_its_delay_after_that_of_the_sender(hosts: int) -> None:
    both: dict[str, Any] = {
        "from": {"a": {"delay": "2ms"}},
        "to": {"b": {"delay": "20ms"}, "c": {"delay": "5ms"}},
    }
    configured = {("a", "b"): 23, ("a", "c"): 8, ("b", "c"): 27}
    with temporary(air(hosts, delay="1ms", **both), accounting=False) as lab:
        for (node, to), delay in configured.items():
            assert delay <= fastest_ms(lab, node, to) < (1 + PART) * delay, (node, to)
        # One frame to all: each answers after its own delay.
        shown = said(lab, "a", "ping", "-c", "10", "-i", "0.1", "ff02::1%air")
        seen = defaultdict[str, list[float]](list)
        for address, ms in re.findall(r"from (\S+?)(?:%\S+)?: .*time=([\d.]+)", shown):
            seen[address].append(float(ms))
        fastest = sorted(min(times) for times in seen.values())
        assert len(fastest) >= 2, shown
        for found, delay in zip(fastest[-2:], (8, 23), strict=True):
            assert delay <= found < (1 + PART) * delay, shown
        held = judge(link_engines.reports(lab))
        assert {each.name for each in held if each.direction.receives} == {
            "link air to b",
            "link air to c",
        }
        busy = ("paused", " late", "missed")
        reasons = [why for each in held for why in each.why]
        assert all(any(word in why for word in busy) for why in reasons), reasons


def test_each_receiver_loses_by_chances_of_its_own() -> None:
    both: dict[str, Any] = {"to": {"b": {"loss": "50%"}, "c": {"loss": "50%"}}}
    with temporary(air(delay="1ms", **both), accounting=False) as lab:
        # Warm up: who is where has to be known before frames are counted.
        said(lab, "a", "ping", "-c", "3", "-i", "0.1", "ff02::1%air")
        link_engines.reports(lab, reset=True)
        shown = said(lab, "a", "ping", "-c", "200", "-i", "0.01", "-W", "1", "ff02::1%air")
        answers = defaultdict[str, set[int]](set)
        for address, seq in re.findall(r"from (\S+?)(?:%\S+)?: icmp_seq=(\d+)", shown):
            answers[address].add(int(seq))
        of_others = [seqs for seqs in answers.values() if len(seqs) < 200]
        assert len(of_others) == 2, "a answers itself, without a link"
        one, other = of_others
        assert one - other, "a frame that one received and the other lost"
        assert other - one
        (report,) = link_engines.reports(lab)
        received = {each.node: each for each in report.of_nodes if each.receives}
        for direction in received.values():
            assert direction.entered.frames >= 200
            assert direction.entered.frames == direction.left.frames + direction.dropped.loss
        for verdict in judge([report]):
            for name, check in verdict.shares.items():
                assert check.agrees, check.text(name)


def found_links(recording: Recording) -> dict[tuple[str, bool], TrialLink]:
    """Return the directions of a recording, by node and whether it receives."""
    head = {"id": "x", "index": 0, "factors": {}, "repeat": 1, "status": "ok"}
    record = TrialRecord.model_validate({**head, **dict(recording.record)})
    found = trial_links(record, [(record.way, narrow(measured(recording)))])
    return {
        (str(each.verdict.direction.node), each.verdict.direction.receives): each for each in found
    }


def test_a_trial_accounts_for_both_ends() -> None:
    both: dict[str, Any] = {"from": {"a": {"delay": "3ms", "loss": "10%"}}}
    ends = {**both, "to": {"b": {"delay": "6ms", "loss": "20%"}}}
    spec = link_of_two("netns", 1, delay="1ms", **ends)
    recording = trial(spec, count=2000, interval="1ms", late="1s")
    found = found_links(recording)
    assert found.keys() == {("a", False), ("b", False), ("b", True)}
    sent, received = found["a", False], found["b", True]
    assert all(nothing_but_a_busy_machine(each) for each in found.values())
    lost = [each.verdict.direction.dropped.loss for each in (sent, received)]
    packets = measured(recording)
    missing = packets.filter(pl.col("outcome") == "lost").height
    # A neighbour that is looked up anew is a frame that the link may lose, too: it is asked for
    # again until an answer comes.
    others = sent.verdict.direction.entered.frames - packets.height
    assert 0 <= others < 20
    assert sum(lost) - others <= missing <= sum(lost)
    for link in (sent, received):
        assert link.verdict.shares["loss"].agrees, link.verdict.shares["loss"]
    assert sent.verdict.direction.left.frames == received.verdict.direction.entered.frames
    # Stamps stand at the two ports: the receiver's delay is no error of the sender's.
    assert sent.measured is not None
    assert sent.measured.error is not None
    assert received.measured is None
    late_us = (received.verdict.direction.late.p99_ns or 0) / 1000
    assert sent.measured.error.least >= -1
    assert sent.measured.error.median <= late_us + 1
    table = measured(recording)
    delays = (table["request responder.vif"] - table["request sender.vif"]).drop_nulls()
    delay_ms = delays.to_numpy() / 1e6
    assert 9 - 0.001 <= delay_ms.min() < 9 * (1 + PART)


def test_the_senders_to_one_receiver_share_its_rate() -> None:
    with temporary(air(to={"c": {"rate": "1Mbit", "queue": 1000}}), accounting=False) as lab:
        flood = ("ping", "-q", "-f", "-c", "60", "-s", "1400", "c")
        senders = [threading.Thread(target=said, args=(lab, node, *flood)) for node in "ab"]
        for each in senders:
            each.start()
        for each in senders:
            each.join()
        reports = link_engines.reports(lab)
        (verdict,) = (each for each in judge(reports) if each.direction.receives)
        # What both sent takes longer at this rate than what one did.
        assert verdict.direction.left.bytes > 1.9 * 60 * 1442
        assert verdict.direction.dropped.queue == 0
        assert verdict.rate is not None
        assert not verdict.rate.exceeded


def test_a_running_lab_and_a_timeline_change_what_a_node_receives(delaylab: Run, up: Up) -> None:
    name = up(
        """\
lab: radio
nodes: {a: {}, b: {}, c: {}}
links:
  - {join: [a, b, c], name: air, to: {b: {delay: 1ms}}}
timeline:
  - {at: 0s, link: air, to: c, set: {loss: 100%}}
"""
    )

    def received() -> dict[str, object]:
        (engine,) = as_json(delaylab("link", "show", name, "--json"))["engines"]
        received = (each for each in engine["directions"] if each.get("receives"))
        return {each["node"]: each["asked"] for each in received}

    lost = {"loss": {"model": "independent", "share": 1.0}}
    wait_until(lambda: received() == {"b": {"delay_ns": 1_000_000}, "c": lost})
    delaylab("exec", "--lab", name, "a", "--", "ping", "-c", "1", "-W", "1", "c", code=1)
    shown = delaylab("link", "set", name, "air", "--to", "c", "loss=none", "delay=7ms").stdout
    assert re.search(r"air +to c +delay=7ms", shown), shown
    assert received() == {"b": {"delay_ns": 1_000_000}, "c": {"delay_ns": 7_000_000}}
    pinged = delaylab("exec", "--lab", name, "a", "--", "ping", "-c", "3", "c").stdout
    assert min(map(float, re.findall(r"time=([\d.]+)", pinged))) >= 7
    for wrong, what in (
        (("--to", "a", "delay=1ms"), "no conditions for what a receives"),
        (("--to", "b", "--node", "a", "delay=1ms"), "make two changes"),
        (("--to", "b", "state=down"), "loses its carrier for both directions"),
        (("--to", "b", "queue=sender", "rate=1Mbit"), "does not wait at its sender"),
    ):
        refused = delaylab("link", "set", name, "air", *wrong, code=BAD_INPUT)
        assert what in refused.stderr, refused.stderr
        assert [len(list(g)) for _, g in groupby(refused.stderr.splitlines())] == [1]
    delaylab("link", "set", name, "air", "--to", "b", "state=silent")
    delaylab("exec", "--lab", name, "a", "--", "ping", "-c", "1", "-W", "1", "b", code=1)
    delaylab("link", "set", name, "air", "--to", "b", "state=up")
    delaylab("exec", "--lab", name, "a", "--", "ping", "-c", "3", "-i", "0.3", "b")
