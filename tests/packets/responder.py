"""A UDP responder that misbehaves: run in a namespace, says its port, echoes as it was told.

With the argument `junk` it answers nothing, and sends what is no reply for as long as it lives.
"""

from __future__ import annotations

import socket
import struct
import sys
import time

PROBE_HEADER = 24
DROPPED, DOUBLED, HELD, RELEASES = 3, 5, 8, 12


def main() -> None:
    """Drop packet 3, answer 5 twice, and hold 8 back until 12 was answered."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as echo:
        echo.bind(("0.0.0.0", 0))
        print(echo.getsockname()[1], flush=True)
        held: bytes | None = None
        while True:
            packet, sender = echo.recvfrom(2048)
            if "junk" in sys.argv:
                send_junk(echo, sender)
            if len(packet) < PROBE_HEADER:
                continue
            (seq,) = struct.unpack_from("!I", packet, 12)
            if seq == HELD:
                held = packet
                continue
            if seq != DROPPED:
                echo.sendto(packet, sender)
            if seq == DOUBLED:
                echo.sendto(packet, sender)
            if seq == RELEASES and held is not None:
                echo.sendto(held, sender)


def send_junk(echo: socket.socket, to: tuple[str, int]) -> None:
    """Send a packet that answers nothing each 20 ms, and do not return."""
    while True:
        echo.sendto(bytes(PROBE_HEADER), to)
        time.sleep(0.02)


if __name__ == "__main__":
    main()
