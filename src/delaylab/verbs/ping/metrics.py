"""Metrics of a running ping for Prometheus and others: OpenMetrics text over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Histogram

from delaylab.errors import BadInput
from delaylab.io.metrics_server import AT_ONCE, serving
from delaylab.io.terminal import print_error
from delaylab.verbs.ping.reading import OnPacket
from delaylab.verbs.ping.result import PingPacket

BUCKETS = tuple(step * 10.0**power for power in range(-6, 1) for step in (1, 2, 5))
"""Upper bounds of the histograms' buckets in seconds: 1 µs to 5 s."""
LABELS = ("host",)


class Metrics:
    """Counters and histograms of the packets to each host; all times in seconds."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._packets = Counter(
            "delaylab_ping_packets",
            "Packets whose fate is known, by outcome",
            (*LABELS, "outcome"),
            registry=self.registry,
        )
        self._times = {
            name: self._histogram(name, text)
            for name, text in (
                ("rtt_user", "Round trip as programs see it"),
                ("rtt_kernel", "Round trip between the kernel's stamps"),
                ("added", "Round trip that this machine added: user less kernel"),
                ("slip", "Lateness of sending, one way"),
            )
        }

    def _histogram(self, name: str, text: str) -> Histogram:
        return Histogram(
            f"delaylab_ping_{name}_seconds", text, LABELS, registry=self.registry, buckets=BUCKETS
        )

    def of(self, host: str) -> OnPacket:
        """Return what counts the packets of a host, whose histograms are there from the start."""
        for times in self._times.values():
            times.labels(host)
        return partial(self._add, host)

    def _add(self, host: str, packet: PingPacket) -> None:
        self._packets.labels(host, packet.outcome).inc()
        times = {
            "rtt_user": packet.rtt_user_ns,
            "rtt_kernel": packet.rtt_kernel_ns,
            "added": packet.added_ns,
            "slip": packet.slip_ns,
        }
        for name, nanoseconds in times.items():
            if nanoseconds is not None:
                self._times[name].labels(host).observe(nanoseconds / 1e9)


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
