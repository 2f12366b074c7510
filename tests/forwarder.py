"""A test forwarder: passes frames between two interfaces, each direction with a known delay.

It stands in line where a bridge port was. A delay counts from the kernel's receive stamp, so that
the forwarder's own lateness does not add to it; that takes a delay longer than its lateness, a
few hundred microseconds, in both directions. On a machine that is busy, or does not run, it is
late all the same: in the end it says how long it held the frames of each direction, at the median.

    python3 forwarder.py LEFT RIGHT --left-to-right NS --right-to-left NS
"""

from __future__ import annotations

import argparse
import contextlib
import heapq
import os
import select
import socket
import statistics
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


def forward(
    left: socket.socket, right: socket.socket, delays: dict[socket.socket, int]
) -> dict[socket.socket, list[int]]:
    """Until standard input ends; for how many ns frames were held, by where they came in."""
    other = {left: right, right: left}
    held: dict[socket.socket, list[int]] = {left: [], right: []}
    inputs = [left.fileno(), right.fileno(), 0]
    waiting: list[tuple[int, int, int, bytes, socket.socket]] = []
    number = 0
    while True:
        for source in other:
            while (frame := received(source)) is not None:
                data, stamp = frame
                number += 1
                heapq.heappush(waiting, (stamp + delays[source], number, stamp, data, source))
        now = time.time_ns()
        while waiting and waiting[0][0] <= now:
            _, _, stamp, data, source = heapq.heappop(waiting)
            held[source].append(time.time_ns() - stamp)
            other[source].send(data)
        left_ns = waiting[0][0] - now if waiting else IDLE_MS * 10**6
        if left_ns > SPIN_NS:
            # select() and not poll(), whose milliseconds are too coarse.
            ready, _, _ = select.select(inputs, [], [], (left_ns - SPIN_NS) / 1e9)
            if 0 in ready and not os.read(0, 1):
                return held


def main() -> None:
    """Parse, open, say that it is ready, forward."""
    parser = argparse.ArgumentParser()
    parser.add_argument("left")
    parser.add_argument("right")
    parser.add_argument("--left-to-right", type=int, required=True, metavar="NS")
    parser.add_argument("--right-to-left", type=int, required=True, metavar="NS")
    options = parser.parse_args()
    left, right = opened(options.left), opened(options.right)
    with contextlib.suppress(PermissionError):  # else other work on the machine makes it late
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(20))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    held = forward(left, right, {left: options.left_to_right, right: options.right_to_left})
    print(*(int(statistics.median(held[source])) for source in (left, right)))


if __name__ == "__main__":
    main()
