"""Metrics of a ping tell targets apart, and answers from errors."""

from __future__ import annotations

import pytest
from prometheus_client import generate_latest
from prometheus_client.exposition import choose_encoder
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as prometheus

from delaylab.causes.explained import Explained
from delaylab.causes.pieces import Cause
from delaylab.causes.shares import CauseShare
from delaylab.io.printable import printable
from delaylab.units import Duration
from delaylab.verbs.ping.metrics import BUCKETS, Metrics
from delaylab.verbs.ping.result import PingPacket, error_or_redirect
from delaylab.verbs.ping.run import PingOptions


def options(protocol: str, port: int = 0, path: str = "/", host: str = "a.example") -> PingOptions:
    between = Duration.parse("1s")
    return PingOptions(host, 1, between, 56, None, True, protocol=protocol, port=port, path=path)  # type: ignore[arg-type]


def packet(seq: int, error: str | None, outcome: str = "replied") -> PingPacket:
    rtt = None if outcome == "lost" else 1000
    error, redirect = error_or_redirect(error)
    return PingPacket(
        seq, rtt, None, 5, outcome, "192.0.2.1", None, error, handshake_ns=700, redirect=redirect
    )


@pytest.mark.parametrize(
    ("given", "target"),
    [
        (options("icmp"), "a.example"),
        (options("tcp", 443), "tcp://a.example:443"),
        (options("http", 80, "/x?y"), "http://a.example:80/x?y"),
        (options("http", 8080, host="::1"), "http://[::1]:8080/"),
    ],
)
def test_a_target_is_what_was_asked(given: PingOptions, target: str) -> None:
    assert given.target == target


def test_errors_are_no_replies_and_each_url_is_a_series() -> None:
    metrics = Metrics()
    good, bad = (metrics.of(options("http", 80, path)) for path in ("/good", "/bad"))
    good(packet(0, None))
    good(packet(1, "HTTP 301"))
    for seq, error in enumerate(("HTTP 503", "HTTP 503", "HTTP 404", "the answer is not HTTP/1")):
        bad(packet(seq, error))
    bad(packet(9, "Connection reset", "lost"))
    text = generate_latest(metrics.registry).decode()

    def value(name: str, path: str, **labels: str) -> float:
        wanted = {"host": "a.example", "target": f"http://a.example:80{path}", **labels}
        found = metrics.registry.get_sample_value(f"delaylab_ping_{name}", wanted)
        assert found is not None, text
        return found

    assert value("packets_total", "/good", outcome="replied") == 2
    assert value("packets_total", "/bad", outcome="error") == 4
    assert value("packets_total", "/bad", outcome="lost") == 1
    assert value("http_responses_total", "/good", status="2xx") == 1
    assert value("http_responses_total", "/good", status="3xx") == 1
    assert value("http_responses_total", "/bad", status="5xx") == 2
    assert value("http_responses_total", "/bad", status="4xx") == 1
    assert value("http_responses_total", "/bad", status="none") == 1
    assert value("handshake_seconds_count", "/bad") == 5


def explained(seq: int, **ns: int) -> Explained:
    """Return a late packet with shares of causes by their names."""
    shares = [CauseShare(0, Cause[name], each) for name, each in ns.items()]
    return Explained(seq=seq, excess_ns=sum(ns.values()), shares=shares, tasks={}, lab=None)


def test_late_packets_are_counted_and_their_excess_is_by_cause() -> None:
    """A counter only grows: what a packet has less of a cause than usual is left out."""
    metrics = Metrics()
    on_late = metrics.late_of(options("icmp"))
    labels = {"host": "a.example", "target": "a.example"}

    def value(name: str, **more: str) -> float | None:
        return metrics.registry.get_sample_value(f"delaylab_ping_{name}", labels | more)

    assert value("late_packets_total") == 0
    for _ in range(3):
        on_late.late()
    on_late.explained(explained(1, HELD=3_000_000, OWN=-20_000))
    on_late.explained(explained(2, HELD=500_000, STOLEN=250_000))
    assert value("late_packets_total") == 3
    assert value("excess_seconds_total", cause="run-queue wait") == pytest.approx(0.0035)
    assert value("excess_seconds_total", cause="steal") == pytest.approx(0.00025)
    assert value("excess_seconds_total", cause="computing") is None


ODD = ('a"b', "a\\b", "a\nb", "a\r\nb", 'x"} 1\nowned{a="', "\x1b[2J", "\udcff", "a\u2028b", "")


@pytest.mark.parametrize("accept", ["text/plain", "application/openmetrics-text; version=1.0.0"])
def test_names_of_any_characters_leave_the_text_well_formed(accept: str) -> None:
    metrics = Metrics()
    for odd in ODD:
        metrics.of(options("http", 80, f"/{odd}", host=f"h{odd}"))(packet(0, None))
    text = choose_encoder(accept)[0](metrics.registry).decode()
    read = openmetrics if "openmetrics" in accept else prometheus
    samples = [sample for family in read(text) for sample in family.samples]
    found = {sample.labels["host"] for sample in samples if "host" in sample.labels}
    assert found == {printable(f"h{odd}") for odd in ODD}
    assert not [sample for sample in samples if not sample.name.startswith("delaylab_ping_")]


def test_bounds_of_buckets_are_round_numbers() -> None:
    assert all(len(f"{bound!r}") <= 7 for bound in BUCKETS)
    assert 5e-06 in BUCKETS
