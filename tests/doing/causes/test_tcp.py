"""A link that loses all for a moment: requests are late by TCP's waiting, and the end is named.

Both ends of a connection send again what nobody acknowledges. Which of them held a packet follows
from the direction that lost it.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
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

class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128  # With a short queue the kernel drops requests of its own accord.

Server(("", 8000), Answers).serve_forever()
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
BEFORE, PACKETS = 20, 70
"""The packets before the link changes, which say what is usual, and all of them."""
BEFORE_IT = {"loss": "0%", "delay": "2ms"}
MOMENT_S = 0.15
ROOM_NS = 30_000_000
"""The time in which a request surely reaches the server, and is answered."""
LATE_NS = 190_000_000
"""A little less than the shortest timer of TCP, 200 ms."""
SYN_NS = 900_000_000
"""A little less than the timer of a SYN, 1 s."""
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


@dataclass(frozen=True)
class Moment:
    """A moment in which a link was another one, and the ping meanwhile; times as of packets.

    The change was asked for at `asked_ns` and made at `made_ns`; `back_ns` are the same times of
    its end.
    """

    found: PingResult
    asked_ns: int
    made_ns: int
    back_ns: tuple[int, int]

    @property
    def explained(self) -> dict[int, Explained]:
        """Return the late packets, by their sequence numbers: all were looked at."""
        assert self.found.why is not None
        assert self.found.why.failed is None
        return {each.seq: each for each in self.found.why.explained}

    @property
    def within(self) -> list[int]:
        """Return the packets that were surely sent and answered in it, but for the change."""
        first_ns, last_ns = self.made_ns, self.back_ns[0] - ROOM_NS
        return [each.seq for each in self.found.packets if first_ns <= begun_ns(each) <= last_ns]

    @property
    def outside(self) -> list[int]:
        """Return the packets that were answered before it, or sent after it."""
        return [
            each.seq
            for each in self.found.packets
            if (each.sent_ns or 0) + (each.rtt_user_ns or 0) < self.asked_ns
            or begun_ns(each) > self.back_ns[1]
        ]


def begun_ns(packet: PingPacket) -> int:
    """Return when a packet was sent, or the SYN of a connection for it."""
    return (packet.sent_ns or 0) - packet.opening_ns


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


def during(lab: LiveLab, *, keep_alive: bool, node: str | None, **change: str) -> Moment:
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

    line = RunningLab(lab).link("line")
    before = {name: BEFORE_IT[name] for name in change}
    # What changes a link takes a while to import, and the packets do not wait.
    line.set(node=node, **before)
    beside = threading.Thread(target=ask)
    beside.start()
    assert asked.usual.wait(WITHIN_S)
    asked_ns = time.time_ns()
    line.set(node=node, **change)
    made_ns = time.time_ns()
    time.sleep(MOMENT_S)
    ends_ns = time.time_ns()
    line.set(node=node, **before)
    back_ns = ends_ns, time.time_ns()
    beside.join(WITHIN_S)
    (found,) = asked.found
    assert (found.sent, found.replied) == (PACKETS, PACKETS)
    return Moment(found, asked_ns, made_ns, back_ns)


def of_tcp(late: Explained) -> dict[str, int]:
    """Return how long TCP held a packet, by the node that waited.

    Where it held the packet less than usual, nobody is named.
    """
    return {
        share.where: share.ns for share in late.shares if share.cause == Cause.TCP and share.where
    }


def rest_ns(late: Explained) -> int:
    """Return a packet's excess without what it waited for CPUs, which others have here, too."""
    return late.excess_ns - sum(share.ns for share in late.shares if share.cause == Cause.HELD)


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
    """Node one sends requests and SYNs; node two sends the answers to both."""
    moment = during(lab, keep_alive=keep_alive, node=node, loss="100%")
    found = moment.explained
    assert moment.within
    for seq in moment.within:
        # On a connection that is kept a request waits, and so does the handshake of another one.
        late = found[seq]
        assert late.excess_ns >= (LATE_NS if keep_alive else SYN_NS)
        assert set(of_tcp(late)) == {f"node.{node}"}, late.shares
        assert sum(of_tcp(late).values()) == pytest.approx(rest_ns(late), rel=NEAR)
    assert len(moment.outside) >= BEFORE
    assert not [seq for seq in moment.outside if seq in found and of_tcp(found[seq])]


def test_a_segment_that_came_late_and_was_sent_again_for_nothing_is_not_tcp_s(
    lab: LiveLab,
) -> None:
    """The first copy is under way for 300 ms; it is this one that is answered."""
    before = sent_again(lab, "one")
    moment = during(lab, keep_alive=True, node="one", delay="300ms")
    assert sent_again(lab, "one") > before
    assert any(moment.explained[seq].excess_ns >= LATE_NS for seq in moment.within)
    assert not [late for late in moment.explained.values() if of_tcp(late)]


def test_a_dataset_names_the_node_and_the_segment(delaylab: Run, tmp_path: Path) -> None:
    """Answers are lost, and so are those to connections that are opened meanwhile."""
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "study.yaml").write_text(STUDY.replace("FOLDER", str(tmp_path)))
    dataset = tmp_path / "data"
    delaylab("run", str(tmp_path / "study.yaml"), "--out", str(dataset))
    said = as_json(delaylab("why", str(dataset), "--slowest", "50", "--json"))
    seen = set()
    for packet in said["slowest"]:
        by_cause: dict[str, int] = Counter()
        for share in packet["shares"]:
            by_cause[share["cause"]] += share["ns"]
            if share["cause"] == Cause.TCP.value:
                assert share["text"].startswith("TCP of node.two waited")
                seen.add(share["segment"])
        if by_cause[Cause.TCP.value]:
            rest = packet["excess_ns"] - by_cause[Cause.HELD.value]
            assert rest >= LATE_NS
            assert by_cause[Cause.TCP.value] == pytest.approx(rest, rel=NEAR)
    assert "remote link with conditions" in seen
    assert seen <= {"remote link with conditions", "handshake"}
