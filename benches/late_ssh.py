"""A ProxyCommand of ssh (ssh_config(5)) by which everything arrives later, as from far away.

    python3 late_ssh.py HOST PORT SECONDS

SECONDS is the delay of each direction. Opening the connection takes both, as TCP's handshake would.
"""

from __future__ import annotations

import os
import queue
import socket
import sys
import threading
import time
from collections.abc import Callable

PIECE = 1 << 16


def carry(read: Callable[[], bytes], write: Callable[[bytes], object], delay_s: float) -> None:
    """Write what is read, each piece `delay_s` after it came; end this program at the last one."""
    under_way: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

    def deliver() -> None:
        while True:
            due_s, data = under_way.get()
            time.sleep(max(0.0, due_s - time.monotonic()))
            if not data:
                os._exit(0)
            write(data)

    threading.Thread(target=deliver, daemon=True).start()
    data = b"more"
    while data:
        try:
            data = read()
        except OSError:
            data = b""
        under_way.put((time.monotonic() + delay_s, data))


def print_all(data: bytes) -> None:
    """Write to standard output, in as many pieces as it takes."""
    while data:
        data = data[os.write(1, data) :]


def main() -> None:
    """Connect, and carry both directions."""
    host, port, delay_s = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    far = socket.create_connection((host, port))
    far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    time.sleep(2 * delay_s)
    back = (lambda: far.recv(PIECE), print_all, delay_s)
    threading.Thread(target=carry, args=back, daemon=True).start()
    carry(lambda: os.read(0, PIECE), far.sendall, delay_s)
    time.sleep(2 * delay_s)


if __name__ == "__main__":
    main()
