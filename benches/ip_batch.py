"""`ip -batch` as a builder of labs: the kernel's own work, without delaylab."""

from __future__ import annotations

import subprocess
import time

from benches.command import Pairs


def up_and_down(nodes: int, pairs: Pairs) -> tuple[float, float]:
    """Return how long namespaces, veth pairs and addresses take, up and down, in s."""
    mark = f"b{time.monotonic_ns() & 0xFFFFFF:06x}"
    names = [f"{mark}-{n}" for n in range(nodes)]
    make = [f"netns add {name}" for name in names]
    ends: dict[int, list[str]] = {}
    for number, (a, b) in enumerate(pairs):
        make.append(
            f"link add v{number}a netns {names[a]} type veth peer name v{number}b netns {names[b]}"
        )
        base = 0x0A000000 + 4 * number
        for node, device, last in ((a, f"v{number}a", 1), (b, f"v{number}b", 2)):
            address = ".".join(str(base + last >> shift & 255) for shift in (24, 16, 8, 0))
            ends.setdefault(node, []).extend(
                (f"address add {address}/30 dev {device}", f"link set {device} up")
            )
    try:
        began = time.monotonic()
        _batch(make)
        for node, lines in ends.items():
            _batch(lines, "-n", names[node])
        up = time.monotonic()
    finally:
        ended = time.monotonic()
        _batch([f"netns del {name}" for name in names])
    return up - began, time.monotonic() - ended


def _batch(lines: list[str], *options: str) -> None:
    text = "\n".join(lines).encode()
    subprocess.run(["ip", *options, "-batch", "-"], input=text, check=True, capture_output=True)
