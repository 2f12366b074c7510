"""A responder behind a link that corrupts: run in a namespace, it answers for 10.9.0.9 and fd09::9.

It speaks through a packet socket, so the kernel of its namespace has no part in its answers. The
answer to an odd packet arrives with its last bit wrong; that of a connection is then sent again,
whole.
"""

from __future__ import annotations

import socket
import struct
import sys
import time

ETHERNET, IPV4, IPV6 = 14, 20, 40
ICMP, TCP, UDP, ICMPV6 = 1, 6, 17, 58
FIELD = {ICMP: 2, ICMPV6: 2, TCP: 16, UDP: 6}
"""The offset of the checksum in a message."""
OURS = {4: socket.inet_aton("10.9.0.9"), 6: socket.inet_pton(socket.AF_INET6, "fd09::9")}
PROBE_END = 32
"""The end of the probe header in a UDP datagram; the byte at 23 is the last of its seq."""
AGAIN_S = 0.03
"""The time after which the answer to a connection is sent again."""


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    padded = data + b"\0" * (len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def answer(frame: bytes) -> tuple[bytes, bool, int] | None:
    """The answer to a frame for us, whether its request is an odd packet, and the protocol."""
    version = frame[ETHERNET] >> 4
    if version == 4:
        header = IPV4
        protocol = frame[ETHERNET + 9]
        source, to = frame[ETHERNET + 12 : ETHERNET + 16], frame[ETHERNET + 16 : ETHERNET + 20]
        end = ETHERNET + int.from_bytes(frame[ETHERNET + 2 : ETHERNET + 4])
    elif version == 6:
        header, protocol = IPV6, frame[ETHERNET + 6]
        source, to = frame[ETHERNET + 8 : ETHERNET + 24], frame[ETHERNET + 24 : ETHERNET + 40]
        end = ETHERNET + IPV6 + int.from_bytes(frame[ETHERNET + 4 : ETHERNET + 6])
    else:
        return None
    if to != OURS[version]:
        return None
    request = frame[ETHERNET + header : end]
    if protocol in (ICMP, ICMPV6) and request[0] in (8, 128):
        message = bytes([0 if protocol == ICMP else 129]) + request[1:]
        odd = request[7] % 2
    elif protocol == UDP:
        message = request[2:4] + request[:2] + request[4:]
        # The sender's first packet finds the path, and has no probe header.
        odd = request[23] % 2 if len(request) > PROBE_END else 0
    elif protocol == TCP and request[13] & 0x3F == 0x02:
        ports, seq = request[2:4] + request[:2], int.from_bytes(request[4:8])
        message = ports + struct.pack("!IIBBHHH", 1, seq + 1, 5 << 4, 0x12, 65535, 0, 0)
        odd = request[1] % 2
    else:
        return None
    at = FIELD[protocol]
    message = message[:at] + b"\0\0" + message[at + 2 :]
    pseudo = to + source + struct.pack("!II", len(message), protocol)
    right = checksum((b"" if protocol == ICMP else pseudo) + message) or 0xFFFF
    message = message[:at] + right.to_bytes(2) + message[at + 2 :]
    ip = struct.pack("!BBHHHBBH", 0x45, 0, IPV4 + len(message), 0, 0, 64, protocol, 0) + to + source
    ip = ip[:10] + checksum(ip).to_bytes(2) + ip[12:]
    if version == 6:
        ip = struct.pack("!IHBB", 6 << 28, len(message), protocol, 64) + to + source
    return frame[6:12] + frame[:6] + frame[12:14] + ip + message, odd == 1, protocol


def main(interface: str) -> None:
    """Answer until killed."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as wire:
        wire.bind((interface, 0))
        print("ready", flush=True)
        while True:
            frame, (_, _, kind, *_) = wire.recvfrom(65536)
            found = None if kind == socket.PACKET_OUTGOING else answer(frame)
            if found is None:
                continue
            whole, odd, protocol = found
            if odd:
                wire.send(whole[:-1] + bytes([whole[-1] ^ 1]))
            if odd and protocol == TCP:
                time.sleep(AGAIN_S)
            if not odd or protocol == TCP:
                wire.send(whole)


if __name__ == "__main__":
    main(sys.argv[1])
