"""A program that injects one cause of delay, at moments and of lengths that it is given.

Usage: injector.py WHAT ARGUMENT. It prints `ready`, reads a line of JSON (pairs of moment and
length in ns since 1970) and, when all is over, prints when it did that: `done` and `doubtful`,
pairs of start and end. This is its own log, of which no record of CPUs is a part.
"""

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

Pairs = list[tuple[int, int]]
Log = tuple[Pairs, Pairs]
PR_SET_NAME = 15
PRIORITY = 60
QUOTA_PERIOD_US = 50_000
DELAYLAB = str(Path(sys.executable).with_name("delaylab"))
USUAL, LONGER, SETTLED_NS = "1ms", "4ms", 20_000_000
RATE_BPS, FRAME_BYTES, HEADERS, DISCARD_PORT = 10e6, 1250, 42, 9


def main() -> None:
    what, argument = sys.argv[1:3]
    ctypes.CDLL(None).prctl(PR_SET_NAME, f"inject-{what}".encode()[:15], 0, 0, 0)
    inject = {
        "fifo": fifo,
        "normal": spin,
        "stop": stop,
        "quota": quota,
        "delay": delay,
        "burst": burst,
    }[what]
    print("ready", flush=True)
    plan = json.loads(sys.stdin.readline())
    done, doubtful = inject(plan, argument)
    print(json.dumps({"done": done, "doubtful": doubtful}), flush=True)


def sleep_until(moment_ns: int) -> None:
    while (left_ns := moment_ns - time.time_ns()) > 0:
        time.sleep(left_ns / 1e9)


def spin(plan: Pairs, cpu: str) -> Log:
    """Compete for a CPU, as any program does."""
    os.sched_setaffinity(0, {int(cpu)})
    done = []
    for moment_ns, length_ns in plan:
        sleep_until(moment_ns)
        began_ns = time.time_ns()
        while time.time_ns() < began_ns + length_ns:
            pass
        done.append((began_ns, time.time_ns()))
    # What comes now, such as the end of this program, disturbs nobody.
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    return done, []


def fifo(plan: Pairs, cpu: str) -> Log:
    """Take a CPU, with real-time priority."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    return spin(plan, cpu)


def stop(plan: Pairs, pid: str) -> Log:
    """Stop a process, and let it go on."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    done = []
    for moment_ns, length_ns in plan:
        sleep_until(moment_ns)
        os.kill(int(pid), signal.SIGSTOP)
        began_ns = time.time_ns()
        sleep_until(began_ns + length_ns)
        os.kill(int(pid), signal.SIGCONT)
        done.append((began_ns, time.time_ns()))
    return done, []


def quota(plan: Pairs, group: str) -> Log:
    """Use up the CPU time of a group that this program is in; note when it got none.

    A length is how much of a period the group has no CPU time left. It is doubtful if the kernel's
    own sum of such times says otherwise: then another program had the CPU.
    """
    done, doubtful = [], []
    for moment_ns, length_ns in plan:
        sleep_until(moment_ns)
        write(group, QUOTA_PERIOD_US - length_ns // 1000)
        began_ns = last_ns = time.time_ns()
        sum_ns = throttled(group)
        gap = None
        while gap is None and last_ns < began_ns + 2_000 * QUOTA_PERIOD_US:
            now_ns = time.time_ns()
            if now_ns - last_ns > length_ns * 3 // 4:
                gap = last_ns, now_ns
            last_ns = now_ns
        if gap and throttled(group) - sum_ns > (gap[1] - gap[0]) * 9 // 10:
            done.append(gap)
        else:
            doubtful.append((began_ns, last_ns))
        write(group, -1)
    return done, doubtful


def delay(plan: Pairs, lab: str) -> Log:
    """Make the link slower, ten times as long as asked; all is doubtful while that changes."""
    done, doubtful = [], []
    for moment_ns, length_ns in plan:
        sleep_until(moment_ns)
        began_ns = time.time_ns()
        set_delay(lab, LONGER)
        since_ns = time.time_ns()
        sleep_until(since_ns + 10 * length_ns)
        until_ns = time.time_ns()
        set_delay(lab, USUAL)
        done.append((since_ns, until_ns))
        doubtful += [(began_ns, since_ns), (until_ns, time.time_ns() + SETTLED_NS)]
    return done, doubtful


def set_delay(lab: str, delay: str) -> None:
    command = [DELAYLAB, "link", "set", lab, "line", f"delay={delay}"]
    subprocess.run(command, check=True, capture_output=True)


def burst(plan: Pairs, to: str) -> Log:
    """Send as many bytes as take the link a time."""
    done = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
        sending.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        for moment_ns, length_ns in plan:
            sleep_until(moment_ns)
            began_ns = time.time_ns()
            for _ in range(max(1, round(length_ns * RATE_BPS / 8e9 / FRAME_BYTES))):
                sending.sendto(bytes(FRAME_BYTES - HEADERS), (to, DISCARD_PORT))
            done.append((began_ns, began_ns + length_ns))
    return done, []


def throttled(group: str) -> int:
    """Return for how long a group has had no CPU time left, in ns."""
    words = Path(group, "cpu.stat").read_text().split()
    return int(words[words.index("throttled_time") + 1])


def write(group: str, quota_us: int) -> None:
    for name, value in (("cpu.cfs_period_us", QUOTA_PERIOD_US), ("cpu.cfs_quota_us", quota_us)):
        Path(group, name).write_text(str(value))


main()
