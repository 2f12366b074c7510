"""`delaylab ping` by TCP handshakes and by HTTP requests."""

from __future__ import annotations

import http.server
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from delaylab.errors import BadInput
from delaylab.verbs.ping.target import Asking, Target, find_target
from tests.doing.conftest import Run, as_json
from tests.sealed import certificate_of

TURN_S = 0.02
"""The time that the web server takes for an answer."""


class Answers(http.server.BaseHTTPRequestHandler):
    """A web server that has a page and one that was moved, and remembers the last request."""

    protocol_version = "HTTP/1.1"
    asked: list[str] = []  # noqa: RUF012

    def do_GET(self) -> None:
        """Answer after a while."""
        self.asked[:] = [self.path, self.headers["Host"]]
        time.sleep(TURN_S)
        place = self.path.split("?")[0].rstrip("s")
        self.send_response({"/page": 200, "/moved": 301}.get(place, 404))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def web_port() -> Iterator[int]:
    """The port of a web server of this machine."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.fixture
def tcp_port() -> Iterator[int]:
    """A TCP port of this machine at which somebody listens."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield server.getsockname()[1]


@pytest.mark.root
def test_a_tcp_handshake_has_user_and_kernel_round_trip(delaylab: Run, tcp_port: int) -> None:
    argv = ("ping", "--tcp", "--port", str(tcp_port), "-c", "5", "-i", "20ms", "127.0.0.1")
    result = as_json(delaylab(*argv, "--json"))
    assert (result["sent"], result["replied"], result["lost"]) == (5, 5, 0)
    for packet in result["packets"]:
        assert packet["outcome"] == "replied"
        assert packet["rtt_app_ns"] > packet["rtt_stack_ns"] > 0
        assert packet["ttl"] == 64
    shown = delaylab(*argv).stdout
    assert f"IPv4, TCP handshakes with port {tcp_port}\n" in shown
    assert len(re.findall(r"^seq=\d+ .*user=.*kernel=.*added-here=.*slip=", shown, re.M)) == 5


def test_a_closed_tcp_port_answers_and_is_no_success(delaylab: Run) -> None:
    with socket.socket() as bound:
        # Bound, but not listening: no other program gets the port meanwhile.
        bound.bind(("127.0.0.1", 0))
        port = str(bound.getsockname()[1])
        argv = ("ping", "--tcp", "--port", port, "-c", "2", "-i", "10ms", "127.0.0.1")
        shown = delaylab(*argv, code=1).stdout
        result = as_json(delaylab(*argv, "--json", code=1))
    assert len(re.findall(r"^seq=\d+ .*user=.*\(port closed\)  at=\S+$", shown, re.M)) == 2
    assert "2 sent, 2 replied (2 by a closed port), 0 late, 0 lost (0.0 %)" in shown
    assert (result["replied"], result["closed"]) == (2, 2)


def test_an_ordinary_user_times_handshakes_without_the_kernels_stamps(
    nobody: Run, tcp_port: int
) -> None:
    argv = ("ping", "--tcp", "--port", str(tcp_port), "-c", "2", "-i", "10ms", "127.0.0.1")
    shown = nobody(*argv).stdout
    assert (
        len(re.findall(r"^seq=\d+  user=\S+  slip=\S+  at=\d\d:\d\d:\d\d\.\d{6}$", shown, re.M))
        == 2
    )
    assert "note: no stamps of the kernel were taken: Operation not permitted" in shown


@pytest.mark.root
def test_an_http_request_has_its_round_trip_and_the_handshake_apart(
    delaylab: Run, web_port: int
) -> None:
    url = f"http://127.0.0.1:{web_port}/page?of=1"
    argv = ("ping", "--http", "-c", "4", "-i", "200ms", url)
    result = as_json(delaylab(*argv, "--json"))
    assert (result["sent"], result["replied"], result["lost"]) == (4, 4, 0)
    for packet in result["packets"]:
        assert packet["rtt_app_ns"] > packet["rtt_stack_ns"] > TURN_S * 1e9
        assert packet["handshake_ns"] > 0
        assert packet["error"] is None
    # The server's turn is in none of them; a busy machine may have held up some.
    assert min(packet["handshake_ns"] for packet in result["packets"]) < TURN_S * 1e9
    assert result["handshake_rtt_ns"]["n"] == 4
    assert Answers.asked == ["/page?of=1", f"127.0.0.1:{web_port}"]
    shown = delaylab(*argv).stdout
    assert f"IPv4, HTTP requests of /page?of=1 at port {web_port}\n" in shown
    line = r"^seq=\d+ .*handshake=.*user=.*kernel=.*added-here=.*slip=.*whole=.*bytes=\d+  at=\S+$"
    assert len(re.findall(line, shown, re.M)) == 4
    assert re.search(r"^TCP handshake +4 ", shown, re.M)


def test_a_quiet_ping_knows_the_handshakes_too(delaylab: Run, web_port: int) -> None:
    argv = ("--http", "--path", "/page", "--port", str(web_port), "-c", "3", "-i", "10ms", "-q")
    shown = delaylab("ping", *argv, "127.0.0.1").stdout
    assert "seq=" not in shown
    assert re.search(r"^TCP handshake +3 ", shown, re.M)
    assert re.search(r"^user round trip +3 ", shown, re.M)


def test_a_status_of_failure_is_shown(delaylab: Run, web_port: int) -> None:
    argv = ("--http", "--port", str(web_port), "--path", "/other", "-c", "2", "-i", "10ms")
    shown = delaylab("ping", *argv, "127.0.0.1", code=1).stdout
    assert len(re.findall(r"^seq=\d+ .*user=.*  \(HTTP 404\)  at=\S+$", shown, re.M)) == 2
    assert "2 sent, 2 replied, 0 late, 0 lost (0.0 %), 2 replies with errors (HTTP 404)" in shown


@pytest.mark.parametrize("quiet", [(), ("-q",)])
def test_a_redirection_is_named_and_is_no_error(
    delaylab: Run, web_port: int, quiet: tuple[str, ...]
) -> None:
    argv = ("ping", "--http", "-c", "2", "-i", "10ms", f"http://127.0.0.1:{web_port}/moved", *quiet)
    shown = delaylab(*argv).stdout
    lines = re.findall(r"^seq=\d+ .*user=.*  \(redirected: HTTP 301\)  at=\S+$", shown, re.M)
    assert len(lines) == (0 if quiet else 2)
    assert "2 sent, 2 replied, 0 late, 0 lost (0.0 %), 2 redirected" in shown
    found = as_json(delaylab(*argv, "--json"))
    each = [(packet["error"], packet["redirect"]) for packet in found["packets"]]
    assert each == [(None, "HTTP 301")] * 2


def test_two_pages_of_one_host_are_two_targets_and_one_fails(delaylab: Run, web_port: int) -> None:
    urls = [f"http://127.0.0.1:{web_port}/{page}" for page in ("page", "other")]
    argv = ("ping", "--http", "-c", "3", "-i", "10ms", "-q", *urls)
    shown = delaylab(*argv, code=1).stdout
    # A narrow terminal folds a URL; what was counted stands in its first line.
    rows = [line.split()[1:4] for line in shown.splitlines() if line.startswith("http://")]
    assert rows == [["3", "3", "0"], ["3", "3", "3"]]
    found = as_json(delaylab(*argv, "--json", code=1))
    assert [(each["target"], each.get("errors", {})) for each in found] == [
        (urls[0], {}),
        (urls[1], {"HTTP 404": 3}),
    ]


def test_a_server_that_answers_nothing_is_named(delaylab: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def close_one() -> None:
            server.accept()[0].close()

        closing = threading.Thread(target=close_one)
        closing.start()
        port = str(server.getsockname()[1])
        shown = delaylab("ping", "--http", "--port", port, "-c", "1", "127.0.0.1", code=1).stdout
        closing.join()
    # Closing with the request unread is a reset, after it an end.
    assert re.search(r"^seq=0 lost: (Connection reset|the connection was closed)", shown, re.M)


@pytest.fixture
def sealed_port(tmp_path: Path) -> Iterator[int]:
    """The port of a web server of this machine that speaks TLS; its certificate is cert.pem."""
    key, certificate = certificate_of("localhost")
    (tmp_path / "key.pem").write_text(key)
    (tmp_path / "cert.pem").write_text(certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.mark.root
def test_https_has_the_handshake_and_tls_apart(
    delaylab: Run, sealed_port: int, tmp_path: Path
) -> None:
    url = f"https://localhost:{sealed_port}/page"
    trust = ("--authorities", str(tmp_path / "cert.pem"))
    argv = ("ping", "-4", "-c", "3", "-i", "200ms", url)
    result = as_json(delaylab(*argv, *trust, "--json"))
    assert result["replied"] == 3
    after = time.time_ns()
    for packet in result["packets"]:
        assert packet["rtt_app_ns"] > packet["rtt_stack_ns"] > TURN_S * 1e9
        assert packet["whole_ns"] >= packet["rtt_app_ns"]
        assert min(packet["handshake_ns"], packet["tls_ns"]) > 0
        assert packet["status"] == 200
        assert 0 < after - packet["sent_ns"] < 3600 * 1e9
    shown = delaylab(*argv, *trust).stdout
    assert re.search(r"^agreeing on TLS +3 ", shown, re.M)
    assert re.search(r"^to the last byte +3 ", shown, re.M)
    refused = delaylab(*argv, code=1).stdout
    assert "the certificate is refused: " in refused
    kept = as_json(delaylab(*argv, "-k", "--keep-alive", "--json"))
    assert kept["replied"] == 3
    # The answer takes less than the interval, so the second request finds the connection free.
    assert "tls_ns" not in kept["packets"][-1]


@contextmanager
def answering(answer: Callable[[bytes], bytes]) -> Iterator[str]:
    """Answer datagrams at a port of this machine; yield the port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))

        def serve() -> None:
            while True:
                data, peer = server.recvfrom(9000)
                if data == b"end":
                    return
                server.sendto(answer(data), peer)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield str(server.getsockname()[1])
        finally:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
                last.sendto(b"end", server.getsockname())
            thread.join()


def test_datagrams_of_ones_own_are_answered_as_the_pattern_says(delaylab: Run) -> None:
    with answering(lambda data: b"got " + data) as port:
        argv = ("ping", "--udp", "hello", "--port", port, "-c", "3", "-i", "10ms", "127.0.0.1")
        found = as_json(delaylab(*argv, "--answer", "got *", "--json"))
        assert [packet["bytes"] for packet in found["packets"]] == [len("got hello")] * 3
        other = as_json(delaylab(*argv, "--answer", "no *", "-W", "200ms", "--json", code=1))
        assert (other["replied"], other["mismatched"]) == (0, 3)
        assert f"datagrams of yours at UDP port {port}" in delaylab(*argv).stdout


@pytest.mark.parametrize(("code", "flaw"), [(0, {}), (3, {"DNS NXDOMAIN": 2})])
def test_dns_is_asked_and_its_failures_have_names(
    delaylab: Run, code: int, flaw: dict[str, int]
) -> None:
    def answer(query: bytes) -> bytes:
        return query[:2] + bytes([0x81, 0x80 | code]) + query[4:]

    with answering(answer) as port:
        argv = ("ping", "--dns", "a.example", "--record", "AAAA", "--port", port, "-c", "2")
        ended = delaylab(*argv, "-i", "10ms", "127.0.0.1", "--json", code=1 if flaw else 0)
    found = as_json(ended)
    assert found["target"] == f"dns://127.0.0.1:{port}"
    assert (found["replied"], found.get("errors", {})) == (2, flaw)
    assert [packet["status"] for packet in found["packets"]] == [code] * 2


def _found(host: str, options: dict[str, object]) -> Target:
    port = options.get("port")
    asking = Asking(**{name: value for name, value in options.items() if name != "port"})  # type: ignore[arg-type]
    return find_target(host, asking, port if isinstance(port, int) else None)


@pytest.mark.parametrize(
    ("host", "options", "target"),
    [
        ("a.example", {}, Target("a.example", "icmp")),
        ("a.example", {"tcp": True, "port": 443}, Target("a.example", "tcp", 443)),
        ("::1", {"http": True}, Target("::1", "http", 80, "/")),
        ("http://[::1]:8080/x?y", {"http": True}, Target("::1", "http", 8080, "/x?y")),
        ("a.b", {"http": True, "port": 81, "path": "/z"}, Target("a.b", "http", 81, "/z")),
        ("a.example:82", {"http": True}, Target("a.example", "http", 82, "/")),
        ("http://a.example/", {}, Target("a.example", "http", 80, "/")),
        ("https://a.example/x", {}, Target("a.example", "https", 443, "/x")),
        ("https://a.example:8443", {"unchecked": True}, Target("a.example", "https", 8443, "/")),
        ("192.0.2.1", {"dns": "a.example"}, Target("192.0.2.1", "dns", 53)),
        ("192.0.2.1", {"udp": "hello", "port": 9}, Target("192.0.2.1", "datagram", 9)),
    ],
)  # fmt: skip
def test_targets(host: str, options: dict[str, object], target: Target) -> None:
    assert _found(host, options) == target


@pytest.mark.parametrize(
    ("host", "options", "says"),
    [
        ("a.example", {"tcp": True}, "--tcp needs a port, such as --port 443"),
        ("a.example", {"port": 443}, "--port goes with --tcp, --http, --dns or --udp"),
        ("a.example", {"udp": "x"}, "--udp needs a port"),
        ("a.example", {"dns": "b", "udp": "x"}, "say only one of --dns and --udp"),
        ("a.example", {"record": "A"}, "--record goes with --dns"),
        ("a.example", {"dns": "b", "record": "X"}, "is one of A, NS"),
        ("a.example", {"answer": "x"}, "--answer goes with --udp"),
        ("a.example", {"keep_alive": True}, "--keep-alive goes with --http"),
        ("a.example", {"unchecked": True}, "--insecure and --authorities go with https"),
        ("http://a.example", {"authorities": "ca.pem"}, "go with https"),
        ("a.example", {"path": "/"}, "--path goes with --http"),
        ("a.example", {"tcp": True, "http": True}, "say only one of --tcp and --http"),
        ("ftp://a.example/", {"http": True}, "ftp is neither http nor https"),
        ("ftp://a.example/", {}, "is a URL: leave out all but the host"),
        ("http://a.example/", {"tcp": True, "port": 1}, "is a URL: leave out all but the host"),
        ("http:///x", {"http": True}, "names no host"),
        ("http://a.example:99999/", {"http": True}, "out of range"),
        ("a.example", {"http": True, "path": "/a b"}, "a path begins with /"),
        ("a.example", {"http": True, "path": "/\r\nX: y"}, "a path begins with /"),
        ("a.example", {"http": True, "path": "x"}, "a path begins with /"),
    ],
)
def test_impossible_targets(host: str, options: dict[str, object], says: str) -> None:
    with pytest.raises(BadInput, match=re.escape(says)):
        _found(host, options)


def test_a_payload_does_not_go_with_tcp(delaylab: Run) -> None:
    done = delaylab("ping", "--tcp", "--port", "443", "-s", "99", "127.0.0.1", code=2)
    assert "leave out --size" in done.stderr
