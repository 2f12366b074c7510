"""Causes in networks and links."""

import fcntl
import os
import signal
import socket
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.truth.injecting.common import LIBC, PRIORITY, SETTLED_NS, Log, Pairs, sleep_until

DELAYLAB = str(Path(sys.executable).with_name("delaylab"))
USUAL, LONGER = "1ms", "4ms"
RATES = "10Mbit", "500Kbit"
"""At the lower one a packet takes 2 ms, less than the time to the next one, so that none waits."""
RATE_BPS, FRAME_BYTES, HEADERS, DISCARD_PORT = 10e6, 1250, 42, 9
FRAME_NS = round((FRAME_BYTES + 24) * 8e9 / RATE_BPS)
"""The time that such a frame takes the link, with what Ethernet has between two frames."""
SEGMENT, SEGMENTS, DRAINED_NS = 500, 100, 20_000_000
MANY_SOCKETS = 300
FULL_BUFFER = 400
UDP_SEGMENT, SO_SNDBUFFORCE = 103, 32
CLONE_NEWNET, CLONE_NEWNS, MS_REC_PRIVATE = 0x40000000, 0x00020000, (1 << 14) | (1 << 18)


def delay(plan: Pairs, lab: str) -> Log:
    """Make the link slower, ten times as long as asked; all is doubtful while that changes."""
    return changed(plan, lab, f"delay={LONGER}", f"delay={USUAL}")


def rate(plan: Pairs, lab: str) -> Log:
    """Lower the link's rate, ten times as long as asked; all is doubtful while that changes."""
    usual, lower = RATES
    return changed(plan, lab, f"rate={lower}", f"rate={usual}")


def loss(plan: Pairs, lab: str) -> Log:
    """Have the link lose all packets, ten times as long as asked."""
    return changed(plan, lab, "loss=100%", "loss=none")


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
    """Send as many frames as take the link a time; the log has the time that they take it."""
    done = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
        sending.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        for moment_ns, length_ns in plan:
            sleep_until(moment_ns)
            began_ns = time.time_ns()
            frames = max(1, round(length_ns / FRAME_NS))
            for _ in range(frames):
                sending.sendto(bytes(FRAME_BYTES - HEADERS), (to, DISCARD_PORT))
            done.append((began_ns, began_ns + frames * FRAME_NS))
    return done, []


def overflow(plan: Pairs, to: str) -> Log:
    """Send faster than the link does, five times as long as asked, so that its queue is full.

    That is so some time after the beginning, until some time after the end.
    """
    done = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
        for moment_ns, length_ns in plan:
            sleep_until(moment_ns)
            began_ns = time.time_ns()
            while time.time_ns() < began_ns + 5 * length_ns:
                sending.sendto(bytes(FRAME_BYTES - HEADERS), (to, DISCARD_PORT))
            done.append((began_ns, time.time_ns()))
    return done, [(end, end + DRAINED_NS) for _, end in done]


def softirq(plan: Pairs, argument: str) -> Log:
    """Have another node's frames handled on a CPU: long datagrams that its softirq must divide.

    The argument has the process of that node, its address, its interface and the CPU. The log is of
    the time until the CPU has done with them.
    """
    pid, to, interface, cpu = argument.split()
    done = []
    with discarded(pid, interface, cpu), segmented() as sending:
        datagram = bytes(SEGMENT * SEGMENTS)
        for moment_ns, length_ns in plan:
            sleep_until(moment_ns)
            began_ns = time.time_ns()
            while time.time_ns() < began_ns + length_ns:
                sending.sendto(datagram, (to, DISCARD_PORT))
            while under_way(sending):
                pass
            done.append((began_ns, time.time_ns()))
    return done, []


def under_way(sending: socket.socket) -> bool:
    """Return True while bytes that were sent have not been handled (SIOCOUTQ)."""
    queued = fcntl.ioctl(sending, termios.TIOCOUTQ, bytes(4))
    return any(queued)


@contextmanager
def discarded(pid: str, interface: str, cpu: str, sockets: int = 1) -> Iterator[None]:
    """Have datagrams to a process's network discarded there, and handled by one CPU."""
    here, there = (os.open(f"/proc/{of}/ns/net", os.O_RDONLY) for of in ("self", pid))
    LIBC.setns(there, CLONE_NEWNET)
    LIBC.unshare(CLONE_NEWNS)
    LIBC.mount(b"none", b"/", None, MS_REC_PRIVATE, None)
    LIBC.mount(b"sysfs", b"/sys", b"sysfs", 0, None)
    queue = Path("/sys/class/net", interface, "queues/rx-0/rps_cpus")
    queue.write_text(f"{1 << int(cpu):x}")
    # Frames are sent on another CPU, faster than this one handles them.
    os.sched_setaffinity(0, os.sched_getaffinity(0) - {int(cpu)})
    with ExitStack() as stack:
        for _ in range(sockets):
            receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            stack.enter_context(receiver)
            receiver.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            receiver.bind(("0.0.0.0", DISCARD_PORT))
        LIBC.setns(here, CLONE_NEWNET)
        yield


def segmented() -> socket.socket:
    """Return a socket whose datagrams the kernel divides as late as it can."""
    sending = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sending.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, SEGMENT)
    sending.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 18)
    return sending


def buffer(plan: Pairs, argument: str) -> Log:
    """Stop a process, and fill its socket with datagrams, until it goes on.

    What comes while the socket is being filled, or emptied, is doubtful.
    """
    pid, to, port = argument.split()
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    done, doubtful = [], []
    with segmented() as sending:
        for moment_ns, length_ns in plan:
            sleep_until(moment_ns)
            began_ns = time.time_ns()
            os.kill(int(pid), signal.SIGSTOP)
            for _ in range(FULL_BUFFER):
                sending.sendto(bytes(SEGMENT * SEGMENTS), (to, int(port)))
            full_ns = time.time_ns()
            sleep_until(full_ns + 5 * length_ns)
            until_ns = time.time_ns()
            os.kill(int(pid), signal.SIGCONT)
            done.append((full_ns, until_ns))
            doubtful += [(began_ns, full_ns), (until_ns, until_ns + DRAINED_NS)]
    return done, doubtful


def backlog(plan: Pairs, argument: str) -> Log:
    """Send frames to a CPU faster than it handles them; its backlog is full some time later.

    Each is for many sockets. The argument also has the interface that they are sent by.
    """
    pid, interface, cpu, by = argument.split()
    done = []
    with (
        discarded(pid, interface, cpu, MANY_SOCKETS),
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending,
    ):
        # A frame counts for its sender until it was handled.
        sending.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 26)
        sending.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        sending.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, by.encode())
        for moment_ns, length_ns in plan:
            sleep_until(moment_ns)
            began_ns = time.time_ns()
            while time.time_ns() < began_ns + 5 * length_ns:
                sending.sendto(b".", ("255.255.255.255", DISCARD_PORT))
            done.append((began_ns, time.time_ns()))
    return done, [(end, end + 5 * DRAINED_NS) for _, end in done]


def address(plan: Pairs, argument: str) -> Log:
    """Take a node's address from its routing table, and put it back."""
    pid, to, interface = argument.split()
    inside = ["nsenter", "--target", pid, "--net", "ip", "route"]
    route = ["local", to, "dev", interface, "table", "local"]
    done, doubtful = [], []
    for moment_ns, length_ns in plan:
        sleep_until(moment_ns)
        began_ns = time.time_ns()
        subprocess.run([*inside, "del", *route], check=True)
        since_ns = time.time_ns()
        sleep_until(since_ns + 5 * length_ns)
        until_ns = time.time_ns()
        subprocess.run([*inside, "add", *route], check=True)
        done.append((since_ns, until_ns))
        doubtful += [(began_ns, since_ns), (until_ns, time.time_ns())]
    return done, doubtful
