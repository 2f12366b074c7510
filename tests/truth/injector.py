"""A program that injects one cause of delay, at moments and of lengths that it is given.

Usage: injector.py WHAT ARGUMENT. It prints `ready`, reads a line of JSON (pairs of moment and
length in ns since 1970) and, when all is over, prints when it did that: `done` and `doubtful`,
pairs of start and end. This is its own log, of which no record of CPUs is a part.
"""

import ctypes
import json
import mmap
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

Pairs = list[tuple[int, int]]
Log = tuple[Pairs, Pairs]
PR_SET_NAME = 15
PRIORITY = 60
QUOTA_PERIOD_US = 50_000
DELAYLAB = str(Path(sys.executable).with_name("delaylab"))
USUAL, LONGER, SETTLED_NS = "1ms", "4ms", 20_000_000
RATES = "10Mbit", "200Kbit"
LIBC = ctypes.CDLL(None, use_errno=True)
TFD_TIMER_ABSTIME, UDP_SEGMENT = 1, 103
CLONE_NEWNET, CLONE_NEWNS, MS_REC_PRIVATE = 0x40000000, 0x00020000, (1 << 14) | (1 << 18)
MOST_TIMERS, COST_NS, SETTING_NS = 15_000, 300, 2_000
SEGMENT, SEGMENTS, DRAINED_NS = 500, 100, 20_000_000
SERVER_PORT, AFTER_NS = 7007, 500_000_000
GROUP_BYTES, LONG_PAGE_NS = 64 << 20, 10_000
RATE_BPS, FRAME_BYTES, HEADERS, DISCARD_PORT = 10e6, 1250, 42, 9


def main() -> None:
    what, argument = sys.argv[1:3]
    LIBC.prctl(PR_SET_NAME, f"inject-{what}".encode()[:15], 0, 0, 0)
    inject = {
        "fifo": fifo,
        "normal": spin,
        "stop": stop,
        "quota": quota,
        "delay": delay,
        "rate": rate,
        "burst": burst,
        "timers": timers,
        "softirq": softirq,
        "disk": disk,
        "memory": memory,
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
    return changed(plan, lab, f"delay={LONGER}", f"delay={USUAL}")


def rate(plan: Pairs, lab: str) -> Log:
    """Lower the link's rate, ten times as long as asked; all is doubtful while that changes."""
    usual, lower = RATES
    return changed(plan, lab, f"rate={lower}", f"rate={usual}")


def changed(plan: Pairs, lab: str, condition: str, usual: str) -> Log:
    done, doubtful = [], []
    for moment_ns, length_ns in plan:
        sleep_until(moment_ns)
        began_ns = time.time_ns()
        set_link(lab, condition)
        since_ns = time.time_ns()
        sleep_until(since_ns + 10 * length_ns)
        until_ns = time.time_ns()
        set_link(lab, usual)
        done.append((since_ns, until_ns))
        doubtful += [(began_ns, since_ns), (until_ns, time.time_ns() + SETTLED_NS)]
    return done, doubtful


def set_link(lab: str, condition: str) -> None:
    command = [DELAYLAB, "link", "set", lab, "line", condition]
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


def softirq(plan: Pairs, argument: str) -> Log:
    """Have another node's frames handled on a CPU: long datagrams that its softirq must divide.

    The argument has the process of that node, its address, its interface and the CPU. What comes
    until the CPU has done with them is doubtful.
    """
    pid, to, interface, cpu = argument.split()
    here, there = (os.open(f"/proc/{of}/ns/net", os.O_RDONLY) for of in ("self", pid))
    LIBC.setns(there, CLONE_NEWNET)
    LIBC.unshare(CLONE_NEWNS)
    LIBC.mount(b"none", b"/", None, MS_REC_PRIVATE, None)
    LIBC.mount(b"sysfs", b"/sys", b"sysfs", 0, None)
    queue = Path("/sys/class/net", interface, "queues/rx-0/rps_cpus")
    queue.write_text(f"{1 << int(cpu):x}")
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.bind(("0.0.0.0", DISCARD_PORT))
    LIBC.setns(here, CLONE_NEWNET)
    done, doubtful = [], []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
        sending.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, SEGMENT)
        sending.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
        datagram = bytes(SEGMENT * SEGMENTS)
        for moment_ns, length_ns in plan:
            sleep_until(moment_ns)
            began_ns = time.time_ns()
            while time.time_ns() < began_ns + length_ns:
                sending.sendto(datagram, (to, DISCARD_PORT))
            until_ns = time.time_ns()
            done.append((began_ns, until_ns))
            doubtful.append((until_ns, until_ns + DRAINED_NS))
    receiver.close()
    return done, doubtful


def serve(plan: Pairs, act: Callable[[int, Pairs], None]) -> Log:
    """Answer datagrams, and at each moment do something for a time, which is logged."""
    done: Pairs = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("0.0.0.0", SERVER_PORT))
        server.setblocking(False)
        polled = select.poll()
        polled.register(server, select.POLLIN)
        todo = [*plan, (plan[-1][0] + AFTER_NS, 0)]
        while todo:
            moment_ns, length_ns = todo[0]
            left_ns = moment_ns - time.time_ns()
            if left_ns <= 0:
                if length_ns:
                    act(time.time_ns() + length_ns, done)
                todo.pop(0)
            elif polled.poll(max(1, left_ns // 1_000_000)):
                data, sender = server.recvfrom(2048)
                server.sendto(data, sender)
    return done, []


def disk(plan: Pairs, cpu: str) -> Log:
    """Serve, and now and then write to a disk and wait for it, as a service with a journal does."""
    os.sched_setaffinity(0, {int(cpu)})
    with tempfile.TemporaryFile(dir="/var/tmp") as journal:

        def write_down(until_ns: int, done: Pairs) -> None:
            while (began_ns := time.time_ns()) < until_ns:
                journal.seek(0)
                journal.write(os.urandom(4096))
                journal.flush()
                os.fsync(journal.fileno())
                done.append((began_ns, time.time_ns()))

        return serve(plan, write_down)


def memory(plan: Pairs, argument: str) -> Log:
    """Serve, and now and then use memory that its group has not left: files' pages must go first.

    The log has the pages that took long to come.
    """
    group, cpu = argument.split()
    os.sched_setaffinity(0, {int(cpu)})
    Path(group, "memory.limit_in_bytes").write_text(str(GROUP_BYTES))
    Path(group, "cgroup.procs").write_text(str(os.getpid()))
    with tempfile.TemporaryFile(dir="/var/tmp") as cached:
        cached.write(os.urandom(GROUP_BYTES))
        cached.flush()
        os.fsync(cached.fileno())

        def use(until_ns: int, done: Pairs) -> None:
            with mmap.mmap(-1, GROUP_BYTES // 2) as used:
                for place in range(0, len(used), mmap.PAGESIZE):
                    began_ns = time.time_ns()
                    if began_ns >= until_ns:
                        break
                    used[place] = 1
                    if (ended_ns := time.time_ns()) - began_ns >= LONG_PAGE_NS:
                        done.append((began_ns, ended_ns))
            os.posix_fadvise(cached.fileno(), 0, GROUP_BYTES, os.POSIX_FADV_WILLNEED)

        return serve(plan, use)


def throttled(group: str) -> int:
    """Return for how long a group has had no CPU time left, in ns."""
    words = Path(group, "cpu.stat").read_text().split()
    return int(words[words.index("throttled_time") + 1])


def write(group: str, quota_us: int) -> None:
    for name, value in (("cpu.cfs_period_us", QUOTA_PERIOD_US), ("cpu.cfs_quota_us", quota_us)):
        Path(group, name).write_text(str(value))


main()
