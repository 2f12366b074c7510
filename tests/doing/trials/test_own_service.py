"""Trials whose packets are requests to a service of the lab's author."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

import polars as pl
import pytest

from delaylab.agent.failures import AgentError
from delaylab.agent.wire.sessions import Exec
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.points import AT_SERVICE
from delaylab.resolve.resolve import lab_from_data
from delaylab_study.study_file.combine import Combination
from delaylab_study.study_file.probe import ProbeSpec
from delaylab_study.trial.measure import measure
from delaylab_study.trial.recording import Recording
from tests.doing.conftest import own_run_directory
from tests.sealed import certificate_of
from tests.stamped import column, columns, packets

pytestmark = pytest.mark.root

TURN_NS, LINK_NS = 5_000_000, 20_000_000
"""The delays that are injected: in the service or before its socket, and on the link in each
direction."""

SERVER = """\
import http.server, ssl, sys, threading, time

class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        time.sleep(0.005 if self.path == "/slow" else 0)
        status = {"/missing": 404, "/ended": 500 if Server.errors else 200}
        self.send_response(status.get(self.path, 200))
        self.send_header("Content-Length", "5000")
        self.end_headers()
        self.wfile.write(b"x" * 5000)
    def log_message(self, *_):
        pass

class Server(http.server.ThreadingHTTPServer):
    errors = []
    def handle_error(self, request, address):
        self.errors.append(sys.exc_info()[1])

plain, sealed = Server(("", 8000), Answers), Server(("", 8443), Answers)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("/etc/cert.pem", "/etc/key.pem")
sealed.socket = context.wrap_socket(sealed.socket, server_side=True)
threading.Thread(target=plain.serve_forever, daemon=True).start()
sealed.serve_forever()
"""
HOLDER = """\
import select, socket, struct, time
from collections import deque

HELD_S, PACKET, VERDICT, CONFIG = 0.005, 0, 1, 2  # linux/netfilter/nfnetlink_queue.h
queue = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)
queue.bind((0, 0))

def send(kind, attribute, value):
    body = struct.pack("=BBH", 0, 0, socket.htons(1))
    body += struct.pack("=HH", 4 + len(value), attribute) + value + bytes(-len(value) % 4)
    queue.send(struct.pack("=IHHII", 16 + len(body), 3 << 8 | kind, 1, 0, 0) + body)

send(CONFIG, 1, struct.pack(">BBH", 1, 0, 0))
send(CONFIG, 2, struct.pack(">IB", 0, 1))
held = deque()
while True:
    wait = max(0, held[0][0] - time.monotonic()) if held else None
    if select.select([queue], [], [], wait)[0]:
        message = queue.recv(65536)
        if message[4:6] == struct.pack("=H", 3 << 8 | PACKET):
            held.append((time.monotonic() + HELD_S, message[24:28]))
    while held and held[0][0] <= time.monotonic():
        send(VERDICT, 2, struct.pack(">I", 1) + held.popleft()[1])
"""
"""A program that holds each packet of queue 1 of the firewall for 5 ms."""
UPSTREAM = """\
import socket, time
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 5300))
while True:
    query, peer = server.recvfrom(9000)
    time.sleep(0.005)
    answer = b"\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\0\\0\\4\\xc0\\0\\2\\7"
    end = 12 + query[12:].index(0) + 5
    server.sendto(query[:2] + b"\\x81\\x80\\0\\1\\0\\1\\0\\0\\0\\0" + query[12:end] + answer, peer)
"""
"""A name server that takes 5 ms; its answers are not to be kept."""
ECHO = """\
import socket, time
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("", 9000))
while True:
    data, peer = server.recvfrom(9000)
    time.sleep(0.005 if data == b"slow" else 0)
    server.sendto(b"got " + data, peer)
"""


@pytest.fixture(scope="module")
def lab() -> Iterator[LiveLab]:
    """A lab whose node `svc` has services that delaylab knows nothing of."""
    key, certificate = certificate_of("svc")
    files = {
        "/etc/server.py": SERVER,
        "/etc/echo.py": ECHO,
        "/etc/holder.py": HOLDER,
        "/etc/upstream.py": UPSTREAM,
        "/etc/cert.pem": certificate,
        "/etc/key.pem": key,
    }
    start: list[object] = [
        {"run": ["python3", "/etc/server.py"], "name": "web", "ready": {"tcp": 8443}},
        {"run": ["python3", "/etc/echo.py"], "name": "echo", "ready": {"udp": 9000}},
        {"run": ["python3", "/etc/holder.py"], "name": "holder"},
        {"run": ["python3", "/etc/upstream.py"], "name": "upstream", "ready": {"udp": 5300}},
        {
            "run": ["dnsmasq", "-k", "--no-resolv", "--no-hosts", "--pid-file=", "--user=root",
                    "--address=/a.example/192.0.2.7", "--server=/slow.example/127.0.0.1#5300"],
            "ready": {"udp": 53},
        },
    ]  # fmt: skip
    data = {
        "lab": "own",
        "nodes": {"a": {}, "svc": {"files": files, "start": start}},
        "links": [{"name": "l", "between": ["a", "svc"], "delay": f"{LINK_NS}ns"}],
    }
    with own_run_directory(), temporary(lab_from_data(data)) as live:
        yield live


def asked(lab: LiveLab, number: int, **fields: object) -> Recording:
    """Send requests to the service by a probe of this number; return what was recorded."""
    given = {"from": "a", "to": "svc", "count": 12, "interval": "30ms", "at_rest": 2}
    probe = ProbeSpec.model_validate({**given, "responder": "own", **fields})
    return measure(lab, Combination({}, lab.spec, (), probe), number)


@dataclass(frozen=True)
class Medians:
    """Median delays in ns: on the link there, before the socket, in the service, on the link
    back."""

    there: float
    before: float
    turn: float
    back: float


def medians(recording: Recording) -> Medians:
    """Return the median delays of a trial in which each point stamped each packet."""
    way = recording.record.way
    table = packets(recording.stamps, recording.probes, way)
    table = table.filter(pl.col("phase") != "untapped")
    assert set(table["outcome"]) == {"replied"}
    assert {name: table[name].null_count() for name in columns(way)} == dict.fromkeys(
        columns(way), 0
    )
    near, far, stack = "sender.vif", "responder.vif", "responder.stack"
    found = [
        (table[column(*end)] - table[column(*begin)]).median()
        for begin, end in (
            (("request", near), ("request", far)),
            (("request", stack), ("request", AT_SERVICE)),
            (("request", AT_SERVICE), ("reply", AT_SERVICE)),
            (("reply", far), ("reply", near)),
        )
    ]
    return Medians(*(each for each in found if isinstance(each, float)))


@contextmanager
def held(lab: LiveLab, port: int, protocol: str) -> Iterator[None]:
    """Hold packets to a port for 5 ms between the node's interface and the socket."""
    rule = ["INPUT", "-p", protocol, "--dport", str(port), "-j", "NFQUEUE", "--queue-num", "1"]
    run(lab, ["iptables", "-I", *rule])
    try:
        yield
    finally:
        run(lab, ["iptables", "-D", *rule])


def run(lab: LiveLab, argv: list[str]) -> None:
    """Run a command in the service's node."""
    session = lab.node_session("svc")
    assert session.call(Exec(argv=argv)).done.exit == 0
    session.close()


SLOW = {"path": "/slow"}
UDP = ("udp", "dns")


@pytest.mark.parametrize(
    ("probe", "slow"),
    [
        ({"protocol": "http", "port": 8000}, SLOW),
        ({"protocol": "http", "port": 8000, "connections": "keep-alive"}, SLOW),
        ({"protocol": "https", "port": 8443, "trust": "certificate"}, SLOW),
        ({"protocol": "https", "port": 8443, "trust": "any", "connections": "keep-alive"}, SLOW),
        (
            {"protocol": "udp", "port": 9000, "payload": "fast", "answer": "got *"},
            {"payload": "slow"},
        ),
        # A server of the distribution; names of slow.example are asked of another one.
        ({"protocol": "dns", "port": 53, "query": "a.example"}, {"query": "b.slow.example"}),
    ],
)
def test_a_delay_is_found_where_it_was_put(
    lab: LiveLab, probe: dict[str, object], slow: dict[str, object]
) -> None:
    if probe.get("trust") == "certificate":
        probe = {**probe, "trust": certificate_of("svc")[1]}
    fast, late = asked(lab, 1, **probe), asked(lab, 2, **(probe | slow))
    with held(lab, cast(int, probe["port"]), "udp" if probe["protocol"] in UDP else "tcp"):
        waiting = asked(lab, 3, **probe)
    for recording in (fast, late, waiting):
        found = medians(recording)
        assert min(found.there, found.back) >= LINK_NS
        assert recording.record.answered_by == "own"
        assert recording.record.port == probe["port"]
    usual, in_service, at_socket = medians(fast), medians(late), medians(waiting)
    assert in_service.turn >= TURN_NS > usual.turn, "the service waits"
    assert at_socket.before >= TURN_NS > usual.before, "packets wait before the socket"
    for other in (in_service, at_socket):
        assert max(other.there - usual.there, other.back - usual.back) < TURN_NS / 2, "not the link"
    assert in_service.before - usual.before < TURN_NS / 2, "the stack does not"
    assert at_socket.turn - usual.turn < TURN_NS / 2, "the service does not"
    if probe["protocol"] != "dns":
        _check_answers(fast, probe)


def _check_answers(recording: Recording, probe: dict[str, object]) -> None:
    answers = recording.answers
    assert len(answers) == len(recording.probes)
    if probe["protocol"] == "udp":
        assert set(answers["bytes"]) == {len("got fast")}
        return
    assert set(answers["status"]) == {200}
    assert set(answers["bytes"]) == {5000}
    assert answers["whole_ns"].null_count() == 0
    # Each run of the probe, three at rest and one under load, opens what it needs.
    opened = len(answers) - answers["handshake_ns"].null_count()
    assert (opened == len(answers)) == ("connections" not in probe)
    agreed = len(answers) - answers["tls_ns"].null_count()
    assert agreed == (opened if probe["protocol"] == "https" else 0)


@pytest.mark.parametrize(
    ("probe", "why"),
    [
        ({"protocol": "http", "port": 8000, "path": "/missing"}, "HTTP 404"),
        ({"protocol": "http", "port": 9}, None),
        ({"protocol": "https", "port": 8000}, "the connection was closed before TLS was agreed on"),
        ({"protocol": "https", "port": 8443, "trust": "other"}, "the certificate is refused"),
        ({"protocol": "dns", "port": 53, "query": "b.example"}, "DNS REFUSED"),
        ({"protocol": "udp", "port": 9, "payload": "x"}, "Connection refused"),
    ],
)
def test_a_request_that_fails_says_why(
    lab: LiveLab, probe: dict[str, object], why: str | None
) -> None:
    if probe.get("trust") == "other":
        probe = {**probe, "trust": certificate_of("other")[1]}
    recording = asked(lab, 4, **probe, late="200ms", count=3, at_rest=0)
    failed = [each for each in recording.record.warnings if each.kind == "failed-requests"]
    assert [each.message for each in failed] == (
        [] if why is None else [each.message for each in failed if why in each.message]
    )
    assert len(failed) == (why is not None)
    assert (set(recording.probes["outcome"]) == {"closed"}) == (why is None)


def test_connections_end_properly(lab: LiveLab) -> None:
    """The server answers with an error once it has seen a reset or a broken answer."""
    for number, kept in ((5, "new"), (6, "keep-alive")):
        plain = {"protocol": "http", "port": 8000, "connections": kept}
        asked(lab, number, **plain, count=20, interval="1ms")
    ended = asked(lab, 7, protocol="http", port=8000, path="/ended")
    assert set(ended.answers["status"]) == {200}


def test_a_port_that_is_taken_says_how_to_probe_the_service(lab: LiveLab) -> None:
    with pytest.raises(AgentError, match=r"in use.* \(say `responder: own`"):
        asked(lab, 8, protocol="http", port=8000, responder="delaylab")
