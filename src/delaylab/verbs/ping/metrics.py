"""Metrics of a running ping for Prometheus and others: OpenMetrics text over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Histogram

from delaylab.causes.explained import Explained
from delaylab.errors import BadInput
from delaylab.io.metrics_server import AT_ONCE, serving
from delaylab.io.printable import printable
from delaylab.io.terminal import print_error
from delaylab.verbs.ping.reading import OnPacket
from delaylab.verbs.ping.result import PingPacket
from delaylab.verbs.ping.run import WEB, PingOptions
from delaylab.verbs.ping.why import OnLate

BUCKETS = tuple(float(f"{step}e{power}") for power in range(-6, 1) for step in (1, 2, 5))
"""Upper bounds of the histograms' buckets in seconds: 1 µs to 5 s."""
LABELS = ("host", "target")
"""A target is what was asked: of HTTP the URL, of TCP host and port."""
ERROR = "error"
"""Outcome of packets whose answer is not as it should be, such as HTTP 503."""


class Metrics:
    """Counters and histograms of the packets to each target; all times in seconds."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._packets = Counter(
            "delaylab_ping_packets",
            "Packets whose fate is known, by outcome",
            (*LABELS, "outcome"),
            registry=self.registry,
        )
        self._responses = Counter(
            "delaylab_ping_http_responses",
            "Answers to HTTP requests, by class of status",
            (*LABELS, "status"),
            registry=self.registry,
        )
        self._late = Counter(
            "delaylab_ping_late_packets",
            "Late packets (with --why)",
            LABELS,
            registry=self.registry,
        )
        self._excess = Counter(
            "delaylab_ping_excess_seconds",
            "Time by which late packets took longer than usual, by cause (with --why)",
            (*LABELS, "cause"),
            registry=self.registry,
        )
        self._times = {
            name: self._histogram(name, text)
            for name, text in (
                ("rtt_user", "Round trip as programs see it"),
                ("rtt_kernel", "Round trip between the kernel's stamps"),
                ("added", "Round trip that this machine added: user less kernel"),
                ("slip", "Lateness of sending, one way"),
                ("handshake", "Time to open the connection of an HTTP request"),
            )
        }

    def _histogram(self, name: str, text: str) -> Histogram:
        return Histogram(
            f"delaylab_ping_{name}_seconds", text, LABELS, registry=self.registry, buckets=BUCKETS
        )

    def of(self, options: PingOptions) -> OnPacket:
        """Return what counts the packets of a ping, whose histograms are there from the start."""
        labels = _labels(options)
        http = options.protocol in WEB
        for name, times in self._times.items():
            if http or name != "handshake":
                times.labels(*labels)
        return partial(self._add, labels, http)

    def late_of(self, options: PingOptions) -> OnLate:
        """Return what counts the late packets of a ping, and their excess by cause."""
        labels = _labels(options)
        late = self._late.labels(*labels)
        return OnLate(explained=partial(self._add_excess, labels), late=late.inc)

    def _add_excess(self, labels: tuple[str, str], found: Explained) -> None:
        for cause, nanoseconds in found.by_cause.items():
            # A counter only grows: what a packet has less of a cause than usual is left out.
            if nanoseconds > 0:
                self._excess.labels(*labels, cause.value).inc(nanoseconds / 1e9)

    def _add(self, labels: tuple[str, str], http: bool, packet: PingPacket) -> None:
        self._packets.labels(*labels, ERROR if packet.flawed else packet.outcome).inc()
        if http and packet.rtt_user_ns is not None:
            self._responses.labels(*labels, packet.http_class).inc()
        times = {
            "handshake": packet.handshake_ns,
            "rtt_user": packet.rtt_user_ns,
            "rtt_kernel": packet.rtt_kernel_ns,
            "added": packet.added_ns,
            "slip": packet.slip_ns,
        }
        for name, nanoseconds in times.items():
            if nanoseconds is not None:
                self._times[name].labels(*labels).observe(nanoseconds / 1e9)


def _labels(options: PingOptions) -> tuple[str, str]:
    """Return the labels of a ping, in characters that have an encoding.

    Half a character, which a shell can give, has none: no metric could be read then.
    """
    return printable(options.host), printable(options.target)


@contextmanager
def served(port: int, address: str) -> Iterator[Metrics]:
    """Serve metrics of pings at http://ADDRESS:PORT/metrics while the block runs.

    At the end say if connections were refused. Raises BadInput if the port cannot be had.
    """
    metrics = Metrics()
    with ExitStack() as stack:
        try:
            server = stack.enter_context(serving(metrics.registry, address, port))
        except OSError as error:
            raise BadInput(f"{address}:{port}: {error.strerror or error}", "--metrics") from None
        yield metrics
        if server.refused:
            most = f"more than {AT_ONCE} were open at once"
            print_error(f"--metrics: {server.refused} connections were refused: {most}")
