"""Metrics of a running ping for Prometheus and others: OpenMetrics text over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Histogram

from delaylab.errors import BadInput
from delaylab.io.metrics_server import AT_ONCE, serving
from delaylab.io.printable import printable
from delaylab.io.terminal import print_error
from delaylab.verbs.ping.reading import OnPacket
from delaylab.verbs.ping.result import PingPacket
from delaylab.verbs.ping.run import WEB, PingOptions

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
        # Half a character, which a shell can give, has no encoding: no metric could be read then.
        labels = printable(options.host), printable(options.target)
        http = options.protocol in WEB
        for name, times in self._times.items():
            if http or name != "handshake":
                times.labels(*labels)
        return partial(self._add, labels, http)

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
