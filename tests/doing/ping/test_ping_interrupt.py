"""A ping that Ctrl-C ends: its summary, and the packets that were still under way."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from delaylab.units import Duration
from delaylab.verbs.ping import reading
from delaylab.verbs.ping.hops import hops_of
from delaylab.verbs.ping.result import PingPacket
from delaylab.verbs.ping.run import PingOptions, run
from tests.doing.conftest import DELAYLAB, Run, Up
from tests.doing.ping.test_ping import FAR, addresses

EVERY_MS = PingOptions("127.0.0.1", None, Duration.parse("1ms"), 56, 4, realtime=False)


def test_ctrl_c_prints_the_summary(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [str(DELAYLAB), "ping", "-i", "20ms", "127.0.0.1"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(4)]
    process.send_signal(signal.SIGINT)
    rest = process.stdout.read()
    assert process.wait() == 130
    assert lines[3].startswith("seq=2")
    assert re.search(r"\d+ sent, \d+ replied", rest)


def test_what_ctrl_c_leaves_unanswered_is_under_way(delaylab: Run, up: Up) -> None:
    """A link without loss has none, whatever is on its way when a ping ends."""
    up(FAR.replace("800ms", "150ms"))
    there = addresses(delaylab, 4)["b"][0]
    ways = {
        "json": ("-i", "20ms", "--json"),
        "tcp": ("-i", "20ms", "--tcp", "-p", "9"),
        "flood": ("-f",),
        "plain": ("-i", "20ms"),
    }
    pings = {
        name: subprocess.Popen(
            [str(DELAYLAB), "exec", "a", "--", str(DELAYLAB), "ping", *options, there],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )
        for name, options in ways.items()
    }  # fmt: skip
    # Each has had replies when it is interrupted; that with --json, which says nothing before,
    # has had a second more than the one that was started last.
    for name, last in (("tcp", "seq=0"), ("flood", "seq=0"), ("plain", "seq=50")):
        output = pings[name].stdout
        assert output is not None
        assert any(line.startswith(f"{last} ") for line in output), name
    for ping in pings.values():
        ping.send_signal(signal.SIGINT)
    found = {name: ping.stdout.read() for name, ping in pings.items() if ping.stdout}
    assert {ping.wait() for ping in pings.values()} == {130}
    for name in ("plain", "tcp", "flood"):
        said = re.search(r", 0 late, 0 lost \(0\.0 %\), (\d+) under way", found[name])
        assert said, found[name]
        if name == "flood":
            assert int(said[1]) <= 64
    result = json.loads(found["json"])
    assert result["lost"] == 0 < result["under_way"]
    assert result["sent"] == result["replied"] + result["under_way"] == len(result["packets"])


@pytest.mark.parametrize("first", range(1, 61, 20))
def test_ctrl_c_at_any_line_of_the_reader_ends_a_ping_with_its_summary(first: int) -> None:
    for number in range(first, first + 20):
        with ctrl_c_at(number) as counted:
            try:
                result = run(EVERY_MS)
            except KeyboardInterrupt:  # pytest would end
                pytest.fail(f"Ctrl-C at line {number} was not caught")
        assert result.interrupted, number
        assert result.sent == len(result.packets), number
        assert counted == [number]


@contextmanager
def ctrl_c_at(number: int) -> Iterator[list[int]]:
    """Send Ctrl-C at a line of `verbs/ping/reading.py`, counted from when it first reads."""
    counted = [0]

    def at_line(frame: FrameType, event: str, _: object) -> Callable[..., Any] | None:
        name = frame.f_code.co_name
        if event == "call" and counted == [0] and name == "to_the_end":
            counted[0] = 1
        elif event == "line" and 0 < counted[0] < number:
            counted[0] += 1
        if event == "line" and counted == [number] and not sent:
            sent.append(name)
            signal.raise_signal(signal.SIGINT)
        return at_line if frame.f_code.co_filename == reading.__file__ else None

    sent: list[str] = []
    sys.settrace(at_line)
    try:
        yield counted
    finally:
        sys.settrace(None)


def test_a_packet_under_way_to_a_hop_is_not_lost() -> None:
    outcomes = ["expired", "replied", "expired", "lost", "under-way", "under-way"]
    senders = ["10.0.0.1", "10.0.0.2", "10.0.0.1", None, None, None]
    packets = [
        PingPacket(seq, 1000 if sender else None, None, 0, outcome, sender, None, None)
        for seq, (outcome, sender) in enumerate(zip(outcomes, senders, strict=True))
    ]
    near, far = hops_of(packets, 2)
    assert (near.sent, near.lost, near.under_way, near.loss) == (3, 0, 1, 0.0)
    assert (far.sent, far.lost, far.under_way, far.loss) == (3, 1, 1, 0.5)
    assert far.as_json()["under_way"] == 1
