"""A program inside a node: it changes routes at known times, by netlink and without other programs.

    python route_script.py break STEPS          black holes and loops, each of a known length
    python route_script.py flood DEVICE COUNT   COUNT routes, added and removed

`STEPS` is a JSON list of `[prefix, right, other, hold_s]`: the route to `prefix` over `right`
becomes one over `other` for so long. Both are a gateway's address or a device; an empty one
discards. It prints, for each, the time before and after the call that began it and the one that
ended it, in ns since 1970.
"""

from __future__ import annotations

import ipaddress
import json
import socket
import struct
import sys
import time

NEW, GONE = 24, 25  # RTM_NEWROUTE, RTM_DELROUTE
REQUEST, ACK, REPLACE, CREATE = 1, 4, 0x100, 0x400  # NLM_F_…
TO, OUT, VIA = 1, 4, 5  # RTA_DST, RTA_OIF, RTA_GATEWAY
UNICAST, BLACKHOLE = 1, 6  # RTN_…
MAIN, STATIC, UNIVERSE = 254, 4, 0


def attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("HH", 4 + len(value), kind) + value


def message(verb: int, flags: int, prefix: str, over: str) -> bytes:
    network = ipaddress.ip_network(prefix)
    kind = UNICAST if over else BLACKHOLE
    body = struct.pack(
        "BBBBBBBBI", socket.AF_INET, network.prefixlen, 0, 0, MAIN, STATIC, UNIVERSE, kind, 0
    )
    body += attribute(TO, network.network_address.packed)
    if "." in over:
        body += attribute(VIA, ipaddress.ip_address(over).packed)
    elif over:
        body += attribute(OUT, struct.pack("I", socket.if_nametoindex(over)))
    return struct.pack("IHHII", 16 + len(body), verb, flags, 1, 0) + body


class Kernel:
    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)

    def ask(self, asked: bytes) -> tuple[int, int]:
        """Return the times before and after the kernel did what is asked."""
        before = time.time_ns()
        self.socket.send(asked)
        answer = self.socket.recv(4096)
        after = time.time_ns()
        (error,) = struct.unpack_from("i", answer, 16)
        if error:
            raise OSError(-error, "the kernel refuses a route")
        return before, after


def break_routes(kernel: Kernel, steps: list[tuple[str, str, str, float]]) -> None:
    flags = REQUEST | ACK | REPLACE | CREATE
    times = []
    for prefix, right, other, hold_s in steps:
        began = kernel.ask(message(NEW, flags, prefix, other))
        # Slept for the most part, then waited awake: a sleep ends late.
        end_s = time.monotonic() + hold_s
        time.sleep(hold_s * 0.7)
        while time.monotonic() < end_s:
            pass
        times.append([*began, *kernel.ask(message(NEW, flags, prefix, right))])
        time.sleep(0.004)
    print(json.dumps(times))


def flood(kernel: Kernel, device: str, count: int) -> None:
    """Change routes as fast as this program can: many are asked for at once."""
    routes = [f"10.{200 + n // 65536}.{n // 256 % 256}.{n % 256}/32" for n in range(count // 2)]
    for verb, flags in ((NEW, REQUEST | CREATE), (GONE, REQUEST)):
        for first in range(0, len(routes), 200):
            asked = [message(verb, flags, to, device) for to in routes[first : first + 200]]
            kernel.socket.send(b"".join(asked))
    # The last one is acknowledged: all before it are done.
    kernel.ask(message(NEW, REQUEST | ACK | CREATE, "10.199.0.1/32", device))


if __name__ == "__main__":
    if sys.argv[1] == "break":
        break_routes(Kernel(), json.loads(sys.argv[2]))
    else:
        flood(Kernel(), sys.argv[2], int(sys.argv[3]))
