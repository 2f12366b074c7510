"""A program that injects one cause of delay, at moments and of lengths that it is given.

Usage: python -m tests.truth.injector WHAT ARGUMENT. It prints `ready`, reads a line of JSON (pairs
of moment and length in ns since 1970) and, when all is over, prints when it did that: `done` and
`doubtful`, pairs of start and end. This is its own log, of which no record of CPUs is a part.
"""

import json
import sys
from collections.abc import Callable, Mapping

from tests.truth.injecting import cpu, network, servers
from tests.truth.injecting.common import LIBC, Log, Pairs

PR_SET_NAME = 15
CAUSES: Mapping[str, Callable[[Pairs, str], Log]] = {
    "fifo": cpu.fifo,
    "normal": cpu.spin,
    "stop": cpu.stop,
    "quota": cpu.quota,
    "timers": cpu.timers,
    "delay": network.delay,
    "rate": network.rate,
    "loss": network.loss,
    "burst": network.burst,
    "overflow": network.overflow,
    "softirq": network.softirq,
    "buffer": network.buffer,
    "backlog": network.backlog,
    "address": network.address,
    "disk": servers.disk,
    "memory": servers.memory,
}


def main() -> None:
    what, argument = sys.argv[1:3]
    LIBC.prctl(PR_SET_NAME, f"inject-{what}".encode()[:15], 0, 0, 0)
    print("ready", flush=True)
    plan = json.loads(sys.stdin.readline())
    done, doubtful = CAUSES[what](plan, argument)
    print(json.dumps({"done": done, "doubtful": doubtful}), flush=True)


main()
