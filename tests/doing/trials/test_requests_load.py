"""Loads of requests: what the service counts itself was sent, at the rate that was asked for."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from delaylab.agent.wire.sessions import Exec
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.resolve.resolve import lab_from_data
from delaylab_study import loads
from delaylab_study.dataset.records.trial import Load
from delaylab_study.study_file.loads import LoadSpec, RequestsLoad
from tests.doing.conftest import own_run_directory
from tests.sealed import certificate_of

pytestmark = pytest.mark.root

SERVER = """\
import http.server, os, socket, ssl, threading

def count(text):
    with open("/tmp/counted", "a") as file:
        file.write(text)

class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        count("x")
        self.send_response(503 if self.path == "/bad" else 200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def log_message(self, *_):
        pass

class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 200

def echo():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("", 9000))
    while True:
        data, peer = server.recvfrom(9000)
        count("x")
        if data != b"silence":
            server.sendto(b"got " + data, peer)

plain, sealed = Server(("", 8000), Answers), Server(("", 8443), Answers)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("/etc/cert.pem", "/etc/key.pem")
sealed.socket = context.wrap_socket(sealed.socket, server_side=True)
for serve in (plain.serve_forever, echo):
    threading.Thread(target=serve, daemon=True).start()
sealed.serve_forever()
"""
SECONDS, RATE = 2.0, 100.0


@pytest.fixture(scope="module")
def lab() -> Iterator[LiveLab]:
    """A lab whose node `svc` counts what it is asked."""
    key, certificate = certificate_of("svc")
    files = {"/etc/server.py": SERVER, "/etc/cert.pem": certificate, "/etc/key.pem": key}
    server = {"run": ["python3", "/etc/server.py"], "ready": {"tcp": 8443}}
    dns = {
        "run": ["dnsmasq", "-k", "--no-resolv", "--no-hosts", "--pid-file=", "--user=root",
                "--address=/a.example/192.0.2.7"],
        "ready": {"udp": 53},
    }  # fmt: skip
    data = {
        "lab": "requests",
        "nodes": {"a": {}, "svc": {"files": files, "start": [server, dns]}},
        "links": [{"name": "l", "between": ["a", "svc"]}],
    }
    with own_run_directory(), temporary(lab_from_data(data)) as live:
        yield live


def sent(lab: LiveLab, **fields: object) -> tuple[Load, int, float]:
    """Run a load for some time; return its record, what the service counted, and the seconds."""
    load = LoadSpec.model_validate({"on": "a", "to": "svc", "requests": RATE, **fields})
    assert isinstance(load, RequestsLoad)
    _in_service(lab, "truncate -s 0 /tmp/counted")
    began_s = time.monotonic()
    with loads.running(lab, (load,), foreseen_s=SECONDS) as running:
        time.sleep(SECONDS)  # the rate itself is under test
        (session,) = running.sessions
        lasted_s = time.monotonic() - began_s
    assert session not in running.sessions
    counted = int(_in_service(lab, "stat -c %s /tmp/counted"))
    return running.achieved[0].record(), counted, lasted_s


def _in_service(lab: LiveLab, line: str) -> str:
    session = lab.node_session("svc")
    try:
        return session.call(Exec(argv=["sh", "-c", line])).stdout.decode()
    finally:
        session.close()


@pytest.mark.parametrize(
    "fields",
    [
        {"port": 8000},
        {"port": 8000, "connections": "keep-alive"},
        {"protocol": "https", "port": 8443, "trust": "any", "connections": "keep-alive"},
        {"protocol": "udp", "port": 9000, "payload": "hello", "answer": "got *"},
    ],
)
def test_the_service_counts_the_rate_times_the_time(
    lab: LiveLab, fields: dict[str, object]
) -> None:
    record, counted, lasted_s = sent(lab, **fields)
    got = record.achieved
    # The last may be under way when the load ends.
    assert abs(counted - got["sent"]) <= got["under_way"]
    assert got["sent"] == pytest.approx(RATE * lasted_s, rel=0.02, abs=2)
    assert got["sent_per_s"] == pytest.approx(RATE, rel=0.02)
    assert got["answered"] + got["under_way"] == got["sent"]
    assert (record.load, record.on, record.to) == ("requests", "a", "svc")


def test_dns_is_asked_at_the_rate(lab: LiveLab) -> None:
    record, _, _ = sent(lab, protocol="dns", query="a.example")
    assert record.achieved["answered_share"] == 1.0
    assert record.achieved["sent_per_s"] == pytest.approx(RATE, rel=0.02)


@pytest.mark.parametrize(
    ("fields", "fate"),
    [
        ({"port": 8000, "path": "/bad"}, "failed"),
        ({"port": 8000, "path": "/bad", "connections": "keep-alive"}, "failed"),
        ({"protocol": "udp", "port": 9000, "payload": "silence", "late": "100ms"}, "unanswered"),
        ({"port": 8001, "late": "100ms"}, "unanswered"),
    ],
)
def test_what_has_no_good_answer_is_counted(
    lab: LiveLab, fields: dict[str, object], fate: str
) -> None:
    record, _, _ = sent(lab, **fields)
    got = record.achieved
    assert got["answered"] == 0
    assert got[fate] + got["under_way"] == got["sent"] > 0
    assert got["answered_share"] == 0.0
