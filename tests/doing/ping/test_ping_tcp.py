"""`delaylab ping` by TCP handshakes and by HTTP requests."""

from __future__ import annotations

import http.server
import re
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from delaylab.errors import BadInput
from delaylab.verbs.ping.target import Target, find_target
from tests.doing.conftest import Run, as_json

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
    assert len(re.findall(r"^seq=\d+ .*user=.*\(port closed\)$", shown, re.M)) == 2
    assert "2 sent, 2 replied (2 by a closed port), 0 late, 0 lost (0.0 %)" in shown
    assert (result["replied"], result["closed"]) == (2, 2)


def test_an_ordinary_user_times_handshakes_without_the_kernels_stamps(
    nobody: Run, tcp_port: int
) -> None:
    argv = ("ping", "--tcp", "--port", str(tcp_port), "-c", "2", "-i", "10ms", "127.0.0.1")
    shown = nobody(*argv).stdout
    assert len(re.findall(r"^seq=\d+  user=\S+  slip=\S+$", shown, re.M)) == 2
    assert "note: no stamps of the kernel were taken: Operation not permitted" in shown


@pytest.mark.root
def test_an_http_request_has_its_round_trip_and_the_handshake_apart(
    delaylab: Run, web_port: int
) -> None:
    url = f"http://127.0.0.1:{web_port}/page?of=1"
    argv = ("ping", "--http", "-c", "4", "-i", "50ms", url)
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
    line = r"^seq=\d+ .*handshake=.*user=.*kernel=.*added-here=.*slip=\S+$"
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
    assert len(re.findall(r"^seq=\d+ .*user=.*  \(HTTP 404\)$", shown, re.M)) == 2
    assert "2 sent, 2 replied, 0 late, 0 lost (0.0 %), 2 replies with errors (HTTP 404)" in shown


@pytest.mark.parametrize("quiet", [(), ("-q",)])
def test_a_redirection_is_named_and_is_no_error(
    delaylab: Run, web_port: int, quiet: tuple[str, ...]
) -> None:
    argv = ("ping", "--http", "-c", "2", "-i", "10ms", f"http://127.0.0.1:{web_port}/moved", *quiet)
    shown = delaylab(*argv).stdout
    lines = re.findall(r"^seq=\d+ .*user=.*  \(redirected: HTTP 301\)$", shown, re.M)
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


@pytest.mark.parametrize(
    ("host", "options", "target"),
    [
        ("a.example", {}, Target("a.example", "icmp")),
        ("a.example", {"tcp": True, "port": 443}, Target("a.example", "tcp", 443)),
        ("::1", {"http": True}, Target("::1", "http", 80, "/")),
        ("http://[::1]:8080/x?y", {"http": True}, Target("::1", "http", 8080, "/x?y")),
        ("a.b", {"http": True, "port": 81, "path": "/z"}, Target("a.b", "http", 81, "/z")),
        ("a.example:82", {"http": True}, Target("a.example", "http", 82, "/")),
    ],
)  # fmt: skip
def test_targets(host: str, options: dict[str, object], target: Target) -> None:
    given = {"tcp": False, "http": False, "port": None, "path": None} | options
    assert find_target(host, **given) == target  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("host", "options", "says"),
    [
        ("a.example", {"tcp": True}, "--tcp needs a port, such as --port 443"),
        ("a.example", {"port": 443}, "--port goes with --tcp or --http"),
        ("a.example", {"path": "/"}, "--path goes with --http"),
        ("a.example", {"tcp": True, "http": True}, "either --tcp or --http"),
        ("https://a.example/", {"http": True}, "--http has no TLS; --tcp --port 443"),
        ("http://a.example/", {}, "is a URL: say --http"),
        ("http:///x", {"http": True}, "names no host"),
        ("http://a.example:99999/", {"http": True}, "out of range"),
        ("a.example", {"http": True, "path": "/a b"}, "a path begins with /"),
        ("a.example", {"http": True, "path": "/\r\nX: y"}, "a path begins with /"),
        ("a.example", {"http": True, "path": "x"}, "a path begins with /"),
    ],
)
def test_impossible_targets(host: str, options: dict[str, object], says: str) -> None:
    given = {"tcp": False, "http": False, "port": None, "path": None} | options
    with pytest.raises(BadInput, match=re.escape(says)):
        find_target(host, **given)  # type: ignore[arg-type]


def test_a_payload_does_not_go_with_tcp(delaylab: Run) -> None:
    done = delaylab("ping", "--tcp", "--port", "443", "-s", "99", "127.0.0.1", code=2)
    assert "leave out --size" in done.stderr
