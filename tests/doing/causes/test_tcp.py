"""A link that loses all for a moment: requests are late by TCP's waiting, and the end is named.

Both ends of a connection send again what nobody acknowledges. Which of them held a packet follows
from the direction that lost it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from delaylab.api.labs import RunningLab
from delaylab.causes.explained import Explained
from delaylab.causes.pieces import Cause
from delaylab.lab.links.passages import WithinLab
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.resolve.resolve import lab_from_data
from delaylab.units import Duration
from delaylab.verbs.ping import run as ping
from delaylab.verbs.ping.result import PingPacket, PingResult
from delaylab.verbs.ping.target import Asking
from tests.doing.conftest import Run, as_json, own_run_directory

pytestmark = pytest.mark.root

PORT = 8000
SERVER = """\
import http.server, socket

class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def setup(self):
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().setup()
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer(("", 8000), Answers).serve_forever()
"""
STUDY = """\
study: again
lab:
  lab: again
  nodes: {one: {}, two: {start: [{run: [python3, FOLDER/server.py], ready: {tcp: 8000}}]}}
  links: [{between: [one, two], name: line, delay: 2ms, loss: 0%}]
  timeline:
    - {at: 1500ms, link: line, node: two, set: {loss: 100%}}
    - {at: 1600ms, link: line, node: two, set: {loss: 0%}}
probe: {from: one, to: two, protocol: http, port: 8000, connections: keep-alive, count: 80,
  interval: 40ms, at_rest: 24, causes: true, late: 3s}
scales: {quick: {repeat: 1}}
"""
BEFORE, PACKETS = 20, 40
"""The packets before the link changes, which say what is usual, and all of them."""
MOMENT_S = 0.1
LATE_NS = 150_000_000
"""Less than the shortest timer of TCP, 200 ms, and more than anything else takes here."""
NEAR = 0.1
WITHIN_S = 180
"""On a busy machine hundreds of thousands of records are looked at."""


@dataclass
class Asked:
    """A ping under way in a thread of its own; `usual` is set once it knows what is usual."""

    usual: threading.Event = field(default_factory=threading.Event)
    found: list[PingResult] = field(default_factory=list)

    def note(self, packet: PingPacket) -> None:
        """Take a packet whose fate is known."""
        if packet.seq >= BEFORE:
            self.usual.set()


@pytest.fixture(scope="module")
def lab() -> Iterator[LiveLab]:
    """A lab whose second node has a service."""
    start = [{"run": ["python3", "/etc/server.py"], "ready": {"tcp": PORT}}]
    data = {
        "lab": "tcp",
        "nodes": {"one": {}, "two": {"files": {"/etc/server.py": SERVER}, "start": start}},
        "links": [{"name": "line", "between": ["one", "two"], "delay": "2ms", "loss": "0%"}],
    }
    with own_run_directory(), temporary(lab_from_data(data)) as live:
        yield live


def during(lab: LiveLab, *, keep_alive: bool, node: str | None, **change: str) -> PingResult:
    """Ask the service while a condition of the link changes for a moment."""
    (address,) = RunningLab(lab).node("two").addresses["line"]
    options = ping.PingOptions(
        address,
        PACKETS,
        Duration.parse("40ms"),
        56,
        None,
        realtime=True,
        protocol="http",
        port=PORT,
        asking=Asking(keep_alive=keep_alive),
        why=True,
    )
    session = lab.node_session("one")
    within, asked = WithinLab(lab, "one"), Asked()

    def ask() -> None:
        asked.found.append(ping.run(options, session=session, watch=asked.note, within=within))

    beside = threading.Thread(target=ask)
    beside.start()
    assert asked.usual.wait(WITHIN_S)
    line = RunningLab(lab).link("line")
    before = {"loss": "0%", "delay": "2ms"}
    line.set(node=node, **change)
    time.sleep(MOMENT_S)
    line.set(node=node, **{name: before[name] for name in change})
    beside.join(WITHIN_S)
    (found,) = asked.found
    assert (found.sent, found.replied) == (PACKETS, PACKETS)
    return found


def explained(found: PingResult) -> list[Explained]:
    """Return the late packets that were looked at, which are all of them."""
    assert found.why is not None
    assert found.why.failed is None
    return list(found.why.explained)


def of_tcp(late: Explained) -> dict[str, int]:
    """Return how long TCP held a packet, by the node that waited."""
    return {share.where: share.ns for share in late.shares if share.cause == Cause.TCP}


def sent_again(lab: LiveLab, node: str) -> int:
    """Return the segments that a node's kernel has sent again, by its own counter."""
    counters = RunningLab(lab).node(node).run(["cat", "/proc/net/snmp"], check=True)
    lines = counters.stdout.splitlines()
    names, values = (line.split() for line in lines if line.startswith("Tcp:"))
    return int(dict(zip(names, values, strict=True))["RetransSegs"])


@pytest.mark.parametrize("keep_alive", [False, True], ids=["handshake", "request"])
@pytest.mark.parametrize("node", ["one", "two"])
def test_the_node_whose_segment_was_lost_is_named(
    lab: LiveLab, node: str, *, keep_alive: bool
) -> None:
    """What node one sends is requests and SYNs; what node two sends is answers to both."""
    found = explained(during(lab, keep_alive=keep_alive, node=node, loss="100%"))
    held = [each for each in found if each.excess_ns >= LATE_NS]
    assert held
    for each in held:
        # On a connection that is kept a request may wait, and so may a SYN of another one.
        assert set(of_tcp(each)) == {f"node.{node}"}, each.shares
        assert sum(of_tcp(each).values()) == pytest.approx(each.excess_ns, rel=NEAR)
        if not keep_alive:
            assert each.excess_ns >= 1e9 * (1 - NEAR), "the timer of a SYN is 1 s"
    assert not any(of_tcp(each) for each in found if each.excess_ns < LATE_NS)


def test_a_segment_that_came_late_and_was_sent_again_for_nothing_is_not_tcp_s(
    lab: LiveLab,
) -> None:
    """The first copy is under way for 300 ms; it is this one that is answered."""
    before = sent_again(lab, "one")
    found = explained(during(lab, keep_alive=True, node="one", delay="300ms"))
    assert sent_again(lab, "one") > before
    assert any(each.excess_ns >= LATE_NS for each in found)
    assert not [each for each in found if of_tcp(each)]


def test_a_dataset_names_the_node_and_the_segment(delaylab: Run, tmp_path: Path) -> None:
    """What waits here is an answer, and the connections that are opened meanwhile."""
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "study.yaml").write_text(STUDY.replace("FOLDER", str(tmp_path)))
    dataset = tmp_path / "data"
    delaylab("run", str(tmp_path / "study.yaml"), "--out", str(dataset))
    said = as_json(delaylab("why", str(dataset), "--slowest", "50", "--json"))
    held = [packet for packet in said["slowest"] if packet["excess_ns"] >= LATE_NS]
    seen = set()
    for packet in held:
        shares = [each for each in packet["shares"] if each["cause"] == Cause.TCP.value]
        assert {each["text"].split()[2] for each in shares} == {"node.two"}
        assert sum(each["ns"] for each in shares) == pytest.approx(packet["excess_ns"], rel=NEAR)
        seen |= {each["segment"] for each in shares}
    assert "remote link with conditions" in seen
    assert seen <= {"remote link with conditions", "handshake"}
    for packet in said["slowest"]:
        if packet["excess_ns"] < LATE_NS:
            assert not any(each["cause"] == Cause.TCP.value for each in packet["shares"])
