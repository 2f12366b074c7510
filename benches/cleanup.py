"""Wait until the kernel has torn down the network namespaces of earlier labs."""

from __future__ import annotations

import subprocess
import time

DEADLINE_S = 120.0
STEP_S = 0.02


def wait() -> None:
    """Return once the network namespaces that are already dead have no interface left.

    The kernel tears them down in the background, in the order in which they died
    (net/core/net_namespace.c, `cleanup_net`), and holds the lock of rtnetlink meanwhile: a lab that
    is built at that time waits. Here a namespace dies after them. One end of a veth is in it; when
    the other end is gone, so are their interfaces. Raise TimeoutError after two minutes.
    """
    mark = f"w{time.monotonic_ns() & 0xFFFFFF:06x}"
    dies, stays = f"{mark}-dies", f"{mark}-stays"
    made = []
    try:
        for name in (dies, stays):
            _ip("netns", "add", name)
            made.append(name)
        _ip("-n", stays, "link", "add", "end", "type", "veth", "peer", "name", "end", "netns", dies)
        _ip("netns", "del", made.pop(0))
        deadline = time.monotonic() + DEADLINE_S
        while "end" in _ip("-n", stays, "-br", "link"):
            if time.monotonic() > deadline:
                raise TimeoutError(f"dead network namespaces are still there after {DEADLINE_S} s")
            time.sleep(STEP_S)
    finally:
        for name in made:
            _ip("netns", "del", name)


def _ip(*argv: str) -> str:
    return subprocess.run(["ip", *argv], check=True, capture_output=True, text=True).stdout
