"""Causes within a server, which answers the packets itself."""

import mmap
import os
import select
import socket
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.truth.injecting.common import Log, Pairs

WRITTEN_BYTES = 1 << 20
SERVER_PORT, AFTER_NS = 7007, 500_000_000
GROUP_BYTES, CACHED_BYTES, USED_BYTES = 64 << 20, 60 << 20, 40 << 20
LONG_PAGE_NS = 10_000


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
    written = os.urandom(WRITTEN_BYTES)
    with tempfile.TemporaryFile(dir="/var/tmp") as journal:

        def write_down(until_ns: int, done: Pairs) -> None:
            while time.time_ns() < until_ns:
                os.pwrite(journal.fileno(), written, 0)
                began_ns = time.time_ns()
                os.fsync(journal.fileno())
                done.append((began_ns, time.time_ns()))

        return serve(plan, write_down)


def memory(plan: Pairs, argument: str) -> Log:
    """Serve, and now and then use memory that its group has not left: files' pages must go first.

    Another process of the group writes them anew each time. The log has the pages that took long
    to come.
    """
    group, cpu = argument.split()
    Path(group, "memory.limit_in_bytes").write_text(str(GROUP_BYTES))
    Path(group, "cgroup.procs").write_text(str(os.getpid()))
    again, over = os.pipe()
    if not os.fork():
        os.close(over)
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        write_again_and_again(again)
        os._exit(0)
    os.close(again)
    os.sched_setaffinity(0, {int(cpu)})

    def use(until_ns: int, done: Pairs) -> None:
        with mmap.mmap(-1, USED_BYTES) as used:
            for place in range(0, len(used), mmap.PAGESIZE):
                began_ns = time.time_ns()
                if began_ns >= until_ns:
                    break
                used[place] = 1
                if (ended_ns := time.time_ns()) - began_ns >= LONG_PAGE_NS:
                    done.append((began_ns, ended_ns))
        os.write(over, b".")

    os.write(over, b".")
    found = serve(plan, use)
    os.close(over)
    os.wait()
    return found


def write_again_and_again(again: int) -> None:
    """Write a file into the memory of the group whenever a byte comes."""
    part = os.urandom(1 << 20)
    with tempfile.TemporaryFile(dir="/var/tmp") as cached:
        while os.read(again, 1):
            for place in range(0, CACHED_BYTES, len(part)):
                os.pwrite(cached.fileno(), part, place)
