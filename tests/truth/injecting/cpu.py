"""Causes that take CPU time."""

import ctypes
import os
import resource
import signal
import time
from pathlib import Path

from tests.truth.injecting.common import LIBC, PRIORITY, SETTLED_NS, Log, Pairs, sleep_until

QUOTA_PERIOD_US = 50_000
TFD_TIMER_ABSTIME = 1
MOST_TIMERS, COST_NS, SETTING_NS = 15_000, 300, 2_000


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


def throttled(group: str) -> int:
    """Return for how long a group has had no CPU time left, in ns."""
    words = Path(group, "cpu.stat").read_text().split()
    return int(words[words.index("throttled_time") + 1])


def write(group: str, quota_us: int) -> None:
    for name, value in (("cpu.cfs_period_us", QUOTA_PERIOD_US), ("cpu.cfs_quota_us", quota_us)):
        Path(group, name).write_text(str(value))


def timers(plan: Pairs, cpu: str) -> Log:
    """Have many timers of a CPU go off at one moment: a long interrupt.

    The log is of the time from that moment until the last of them has gone off. It goes off last
    that was set last.
    """
    resource.setrlimit(resource.RLIMIT_NOFILE, (MOST_TIMERS + 100,) * 2)
    made = [LIBC.timerfd_create(time.CLOCK_REALTIME, os.O_NONBLOCK) for _ in range(MOST_TIMERS)]
    done: Pairs = []
    doubtful: Pairs = []
    cost_ns = COST_NS
    for moment_ns, length_ns in plan:
        count = max(10, min(MOST_TIMERS, round(length_ns / cost_ns)))
        sleep_until(moment_ns - SETTING_NS * count - SETTLED_NS)
        os.sched_setaffinity(0, {int(cpu)})
        when = Itimerspec(0, 0, *divmod(moment_ns, 1_000_000_000))
        began_ns = time.time_ns()
        for each in made[:count]:
            LIBC.timerfd_settime(each, TFD_TIMER_ABSTIME, ctypes.byref(when), None)
        # Setting them took the CPU as well.
        doubtful.append((began_ns, time.time_ns()))
        os.sched_setaffinity(0, set(range(os.cpu_count() or 1)) - {int(cpu)})
        sleep_until(moment_ns - 200_000)
        last = made[count - 1]
        while not went_off(last):
            pass
        until_ns = time.time_ns()
        done.append((moment_ns, until_ns))
        cost_ns = max(50, (until_ns - moment_ns) // count)
        for each in made[: count - 1]:
            went_off(each)
    return done, doubtful


def went_off(timer: int) -> bool:
    try:
        return bool(os.read(timer, 8))
    except BlockingIOError:
        return False


class Itimerspec(ctypes.Structure):
    """When a timer goes off, and again: `struct itimerspec`."""

    _fields_ = tuple((name, ctypes.c_long) for name in ("every", "every_ns", "at", "at_ns"))
