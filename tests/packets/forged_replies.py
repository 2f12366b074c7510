"""A forger of replies: run in a namespace whose kernel answers no echo itself.

To each request it sends two answers that only lack what it could not know or have: one from the
probed address without the packet's nonce, and one with all data from another address.
"""

from __future__ import annotations

import selectors
import socket
import struct

from tests.packets.corrupting import checksum

OTHER = "10.9.0.3"
PORT = 5001
NONCE = slice(16, 24)
"""The place of the nonce in a probe's data."""


def main() -> None:
    """Forge until killed."""
    raw = (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    with (
        socket.socket(*raw) as echo,
        socket.socket(*raw) as other_echo,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other_udp,
        selectors.DefaultSelector() as ready,
    ):
        other_echo.bind((OTHER, 0))
        udp.bind(("10.9.0.2", PORT))
        other_udp.bind((OTHER, PORT))
        ready.register(echo, selectors.EVENT_READ)
        ready.register(udp, selectors.EVENT_READ)
        print("ready", flush=True)
        while True:
            for key, _ in ready.select():
                if key.fileobj is udp:
                    data, source = udp.recvfrom(70_000)
                    other_udp.sendto(data, source)
                    udp.sendto(guessed(data), source)
                else:
                    answer(echo, other_echo)


def answer(echo: socket.socket, other: socket.socket) -> None:
    """Forge the replies to an echo request."""
    packet, (source, _) = echo.recvfrom(70_000)
    request = packet[(packet[0] & 15) * 4 :]
    if request[0] == 8:
        head, data = request[4:8], request[8:]
        other.sendto(reply(head, data), (source, 0))
        echo.sendto(reply(head, guessed(data)), (source, 0))


def reply(head: bytes, data: bytes) -> bytes:
    """Return an echo reply with a right checksum."""
    made = struct.pack("!BBH", 0, 0, 0) + head + data
    return made[:2] + checksum(made).to_bytes(2) + made[4:]


def guessed(data: bytes) -> bytes:
    """Return a probe's data with a nonce that is not the packet's."""
    return data[: NONCE.start] + bytes(8) + data[NONCE.stop :]


if __name__ == "__main__":
    main()
