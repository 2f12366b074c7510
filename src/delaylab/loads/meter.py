"""What goes through the interface of a load, as the kernel counts it."""

from __future__ import annotations

import ipaddress
import time
from dataclasses import dataclass

from delaylab.lab import Lab
from delaylab.loads.programs import STOP_DEADLINE_S

POLL_S = 0.05
QUIET_BYTES = 20_000
"""Less than this on an interface within one poll is quiet: no bulk flow does so little."""


def address_of(lab: Lab, node: str, link: str) -> str:
    """A node's address on a link."""
    interface = next(i for i in lab.plan.interfaces[node] if i.link == link)
    return str(ipaddress.ip_interface(interface.addresses[0]).ip)


@dataclass(frozen=True)
class Reading:
    """An interface's counters at a moment (monotonic seconds): bytes, then packets."""

    at_s: float
    sent: int
    received: int
    packets_sent: int
    packets_received: int


class Meter:
    """Byte counters of the interface that a network load goes through, as the kernel has them."""

    def __init__(self, lab: Lab, node: str, link: str) -> None:
        self._session = lab.node_session(node)
        self._interface = next(i.name for i in lab.plan.interfaces[node] if i.link == link)

    def read(self) -> Reading:
        """The counters now."""
        found = self._session.call("counters").done["interfaces"][self._interface]
        names = ("tx_bytes", "rx_bytes", "tx_packets", "rx_packets")
        return Reading(time.monotonic(), *(found[name] for name in names))

    def wait_quiet(self) -> Reading:
        """The last reading, once queues have drained, so that what follows is at rest."""
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
    """Bits per second between two readings, Ethernet headers counted."""
    seconds = max(after.at_s - before.at_s, 1e-9)
    return {
        "sent_bps": (after.sent - before.sent) * 8 / seconds,
        "received_bps": (after.received - before.received) * 8 / seconds,
    }
