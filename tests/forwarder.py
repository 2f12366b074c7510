"""A test forwarder: passes frames between two interfaces, one direction with a known delay.

It stands in line where a bridge port was. The delay counts from the kernel's receive stamp, so the
forwarder's own lateness does not add to it; the other direction passes at once.

    python3 forwarder.py LEFT RIGHT --delay-ns N --direction left-to-right|right-to-left
"""

from __future__ import annotations

import argparse
import heapq
import os
import select
import socket
import struct
import sys
import time

ETH_P_ALL = 3
SO_TIMESTAMPNS = 35
SOL_PACKET, PACKET_ADD_MEMBERSHIP, PACKET_MR_PROMISC = 263, 1, 1
SPIN_NS = 300_000
IDLE_MS = 200


def opened(name: str) -> socket.socket:
    """A packet socket on one interface that sees all frames and stamps them."""
    packet = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    packet.bind((name, 0))
    request = struct.pack("IHH8s", socket.if_nametoindex(name), PACKET_MR_PROMISC, 0, b"")
    packet.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, request)
    packet.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    packet.setblocking(False)
    return packet


def received(source: socket.socket) -> tuple[bytes, int] | None:
    """The next frame that came in, and its kernel receive stamp in ns."""
    while True:
        try:
            data, ancillary, _, address = source.recvmsg(65536, 64)
        except BlockingIOError:
            return None
        if address[2] == socket.PACKET_OUTGOING:
            continue
        seconds, nanoseconds = struct.unpack("qq", ancillary[0][2][:16])
        return data, seconds * 10**9 + nanoseconds


def forward(left: socket.socket, right: socket.socket, delays: dict[socket.socket, int]) -> None:
    """Until standard input ends."""
    other = {left: right, right: left}
    waiting: list[tuple[int, int, bytes, socket.socket]] = []
    number = 0
    poll = select.poll()
    for fd in (left.fileno(), right.fileno(), 0):
        poll.register(fd, select.POLLIN)
    while True:
        for source, target in other.items():
            while (frame := received(source)) is not None:
                data, stamp = frame
                number += 1
                heapq.heappush(waiting, (stamp + delays[source], number, data, target))
        now = time.time_ns()
        while waiting and waiting[0][0] <= now:
            _, _, data, target = heapq.heappop(waiting)
            target.send(data)
        left_ns = waiting[0][0] - now if waiting else IDLE_MS * 10**6
        if left_ns > SPIN_NS:
            events = poll.poll((left_ns - SPIN_NS) / 1e6)
            if any(fd == 0 for fd, _ in events) and not os.read(0, 1):
                return


def main() -> None:
    """Parse, open, say that it is ready, forward."""
    parser = argparse.ArgumentParser()
    parser.add_argument("left")
    parser.add_argument("right")
    parser.add_argument("--delay-ns", type=int, required=True)
    parser.add_argument("--direction", choices=("left-to-right", "right-to-left"), required=True)
    options = parser.parse_args()
    left, right = opened(options.left), opened(options.right)
    slow = left if options.direction == "left-to-right" else right
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    forward(left, right, {left: 0, right: 0, slow: options.delay_ns})


if __name__ == "__main__":
    main()
