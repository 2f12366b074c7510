"""Byte and packet counts of a load's interface, as the kernel has them."""

from __future__ import annotations

import time
from dataclasses import dataclass

from delaylab.api.agents import Counters, of_interface
from delaylab.api.running import LiveLab
from delaylab_study.loads.programs import STOP_DEADLINE_S

POLL_S = 0.05
QUIET_BYTES = 20_000
"""The most bytes per poll on a quiet interface; every bulk flow sends more."""


def address_of(lab: LiveLab, node: str, link: str) -> str:
    """Return a node's address on a link."""
    return lab.plan.attachment(node, link).address


@dataclass(frozen=True)
class Reading:
    """An interface's counters (bytes, packets) at a time, in monotonic seconds."""

    at_s: float
    sent: int
    received: int
    packets_sent: int
    packets_received: int


class Meter:
    """A reader of the kernel's counters for the interface that a network load uses."""

    def __init__(self, lab: LiveLab, node: str, link: str) -> None:
        self._session = lab.node_session(node)
        self._interface = lab.plan.attachment(node, link).device

    def read(self) -> Reading:
        """Return the counters now."""
        counters = self._session.call(Counters()).done
        found = of_interface(counters, self._interface, self._session.label)
        return Reading(
            time.monotonic(), found.tx_bytes, found.rx_bytes, found.tx_packets, found.rx_packets
        )

    def wait_quiet(self) -> Reading:
        """Return the last reading once queues have drained, so that what follows is at rest."""
        deadline = time.monotonic() + STOP_DEADLINE_S
        last = self.read()
        while time.monotonic() < deadline:
            time.sleep(POLL_S)  # there is no event for "nothing came"
            now = self.read()
            if max(now.sent - last.sent, now.received - last.received) < QUIET_BYTES:
                break
            last = now
        self._session.close()
        return last


def rates(before: Reading, after: Reading) -> dict[str, float]:
    """Return bits per second between two readings, with Ethernet headers counted."""
    seconds = max(after.at_s - before.at_s, 1e-9)
    return {
        "sent_bps": (after.sent - before.sent) * 8 / seconds,
        "received_bps": (after.received - before.received) * 8 / seconds,
    }
