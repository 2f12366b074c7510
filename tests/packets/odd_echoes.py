"""A responder whose echo replies are odd: run in a namespace whose kernel answers no echo itself.

The sequence number of a request says how: see ``ODD``; all others are answered as they should be.
"""

from __future__ import annotations

import socket
import struct

from tests.packets.corrupting import checksum

CUT, HALF, FLIPPED, FLIPPED_LAST, LONG, CODE, TWICE, ELSEWHERE, CORRUPTED = range(1, 10)
FAR_LONGER = 10
QUENCHED = 11
"""The last request, to whose sender an ICMP source quench goes before the reply."""
OTHER = "10.9.0.3"
"""The address that answers request ELSEWHERE."""


def main() -> None:
    """Answer until killed."""
    raw = (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    with socket.socket(*raw) as echo, socket.socket(*raw) as other:
        other.bind((OTHER, 0))
        print("ready", flush=True)
        while True:
            packet, (source, _) = echo.recvfrom(70_000)
            request = packet[(packet[0] & 15) * 4 :]
            if request[0] != 8:
                continue
            ident, seq = struct.unpack("!HH", request[4:8])
            if seq == QUENCHED:
                quench = (
                    struct.pack("!BBHL", 4, 0, 0, 0) + packet[: len(packet) - len(request) + 64]
                )
                quench = quench[:2] + checksum(quench).to_bytes(2) + quench[4:]
                echo.sendto(quench, (source, 0))
            reply = struct.pack("!BBHHH", 0, int(seq == CODE), 0, ident, seq)
            reply += changed(seq, request[8:])
            wrong = int(seq == CORRUPTED)
            reply = reply[:2] + (checksum(reply) ^ wrong).to_bytes(2) + reply[4:]
            for _ in range(2 if seq == TWICE else 1):
                (other if seq == ELSEWHERE else echo).sendto(reply, (source, 0))


def changed(seq: int, data: bytes) -> bytes:
    """The data of the reply to this request."""
    if seq == CUT:
        return b""
    if seq == HALF:
        return data[: len(data) // 2]
    if seq == FLIPPED:
        return bytes([data[0] ^ 1]) + data[1:]
    if seq == FLIPPED_LAST:
        return data[:-1] + bytes([data[-1] ^ 1])
    return data + bytes({LONG: 600, FAR_LONGER: 5000}.get(seq, 0))


if __name__ == "__main__":
    main()
