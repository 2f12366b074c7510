"""Trials whose packets are requests to a service of the lab's author."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import pytest

from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.resolve.resolve import lab_from_data
from delaylab_study.study_file.combine import Combination
from delaylab_study.study_file.probe import ProbeSpec
from delaylab_study.trial.measure import measure
from delaylab_study.trial.recording import Recording
from tests.doing.conftest import own_run_directory
from tests.sealed import certificate_of
from tests.stamped import column, columns, packets

pytestmark = pytest.mark.root

TURN_NS, LINK_NS, EARLY_NS = 5_000_000, 20_000_000, 200_000
"""The delays that are injected: in the service, and on the link in each direction; and how much
later than the link's engine a tap before it may see a segment."""

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
        "/etc/cert.pem": certificate,
        "/etc/key.pem": key,
    }
    start: list[object] = [
        {"run": ["python3", "/etc/server.py"], "name": "web", "ready": {"tcp": 8443}},
        {"run": ["python3", "/etc/echo.py"], "name": "echo", "ready": {"udp": 9000}},
        {
            "run": ["dnsmasq", "-k", "--no-resolv", "--no-hosts", "--pid-file=", "--user=root",
                    "--address=/a.example/192.0.2.7"],
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


def medians(recording: Recording) -> tuple[float, float, float]:
    """Return the median delay on the link there, in the service, and on the link back, in ns."""
    way = recording.record.way
    table = packets(recording.stamps, recording.probes, way)
    table = table.filter(pl.col("phase") != "untapped")
    assert set(table["outcome"]) == {"replied"}
    assert {name: table[name].null_count() for name in columns(way)} == dict.fromkeys(
        columns(way), 0
    )
    near, far, stack = "sender.vif", "responder.vif", "responder.stack"
    there, turn, back = (
        (table[column(*end)] - table[column(*begin)]).median()
        for begin, end in (
            (("request", near), ("request", far)),
            (("request", stack), ("reply", stack)),
            (("reply", far), ("reply", near)),
        )
    )
    assert isinstance(there, float)
    assert isinstance(turn, float)
    assert isinstance(back, float)
    return there, turn, back


SLOW = {"path": "/slow"}


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
    ],
)
def test_a_delay_is_found_where_it_was_put(
    lab: LiveLab, probe: dict[str, object], slow: dict[str, object]
) -> None:
    if probe.get("trust") == "certificate":
        probe = {**probe, "trust": certificate_of("svc")[1]}
    fast, late = asked(lab, 1, **probe), asked(lab, 2, **(probe | slow))
    for recording in (fast, late):
        there, _, back = medians(recording)
        assert there >= LINK_NS - EARLY_NS
        assert back >= LINK_NS - EARLY_NS
        assert recording.record.answered_by == "own"
        assert recording.record.port == probe["port"]
    (there, turn, back), (there_late, turn_late, back_late) = medians(fast), medians(late)
    assert turn_late >= TURN_NS > turn, "the service waits"
    assert max(there_late - there, back_late - back) < TURN_NS / 2, "the link does not"
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


def test_dns_is_answered_by_a_server_of_the_distribution(lab: LiveLab) -> None:
    recording = asked(lab, 3, protocol="dns", port=53, query="a.example")
    there, turn, back = medians(recording)
    assert min(there, back) >= LINK_NS - EARLY_NS > turn
    assert set(recording.answers["status"]) == {0}
    assert not [each for each in recording.record.warnings if each.kind == "failed-requests"]


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
