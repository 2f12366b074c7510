"""`delaylab ping --why` names who made packets late, or says why it cannot."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import delaylab as delaylab_api
from delaylab.causes.words import sentence
from tests.culprit import CULPRIT
from tests.doing.conftest import DELAYLAB, Run, as_json
from tests.truth.alone import alone
from tests.truth.scene import injector
from tests.waiting import wait_until

pytestmark = pytest.mark.root

ASKED = ("ping", "--why", "-c", "150", "-i", "10ms", "127.0.0.1")
PROGRAMS = 22
"""On a kernel that has all their trace points."""
BURSTS = 1000
"""More than any block lasts, 37 s: a command may take seconds to start beside other tests."""
LAB = """\
lab: why
nodes: {one: {cpus: [0]}, two: {cpus: [0]}}
links: [{between: [one, two], delay: 1ms}]
"""
FEWEST = 3
"""The fewest packets that are named: some 40 of 300 are sent or answered in a burst."""
LIBC = ctypes.CDLL(None)
BPF_SYSCALL, BPF_LINK_GET_NEXT_ID = 321, 31
NO_RIGHTS = ("setpriv", "--bounding-set=-bpf,-perfmon,-sys_admin")


@contextmanager
def bursts(cpu: int) -> Iterator[None]:
    """Have a real-time program take a CPU for 5 ms, again and again to the end of the block."""
    with alone(), injector("fifo", str(cpu)) as started:
        assert started.stdin is not None
        start_ns = time.time_ns() + 800_000_000
        plan = [[start_ns + n * 37_000_000, 5_000_000] for n in range(BURSTS)]
        started.stdin.write(f"{plan}\n")
        started.stdin.flush()
        yield


def test_who_had_the_cpu_is_named_on_the_late_line_and_in_json() -> None:
    cpu = min(os.sched_getaffinity(0))
    here = ["taskset", "--cpu-list", str(cpu), str(DELAYLAB), *ASKED]
    with bursts(cpu):
        said = subprocess.check_output(here, text=True)
    named = r"seq=\d+ late by .*waited for a CPU that inject-fifo \(foreign, \d+\) had"
    assert re.search(named, said), said
    assert re.search(r"why: \d+ packets took 0.5 ms longer than the median", said)
    assert re.search(r"\d+%  run-queue wait: ", said)
    with bursts(cpu):
        text = subprocess.check_output([*here, "--json"], text=True)
    found = as_json(subprocess.CompletedProcess([], 0, text, ""))["why"]
    assert found["late"] >= len(found["packets"]) > 0
    for packet in found["packets"]:
        assert sum(share["ns"] for share in packet["shares"]) == packet["excess_ns"]
    assert any(
        share["cause"] == "run-queue wait" and share["by"].startswith("inject-fifo")
        for packet in found["packets"]
        for share in packet["shares"]
    )


def test_a_node_of_a_lab_pings_another_one_and_what_held_it_up_is_named(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(LAB)
    cpu = min(os.sched_getaffinity(0))
    with delaylab_api.up(file) as lab:
        one, two = lab.node("one"), lab.node("two")
        with bursts(cpu):
            found = one.ping(two, count=300, interval="7ms", why=True).why
    assert found is not None
    assert found.failed is None
    named = [sentence(each) for each in found.explained]
    held = r"node\.one waited for a CPU that inject-fifo \(foreign, \d+\) had"
    assert sum(bool(re.search(held, each)) for each in named) >= FEWEST, named
    assert all(each.lab is not None for each in found.explained)


def test_a_program_that_a_lab_file_starts_is_named_with_its_node(tmp_path: Path) -> None:
    (tmp_path / "culprit.py").write_text(CULPRIT)
    file = tmp_path / "lab.yaml"
    program = f"start: [{{run: [python3, {tmp_path}/culprit.py]}}]"
    file.write_text(LAB.replace("two: {cpus: [0]}", f"two: {{cpus: [0], {program}}}"))
    with alone(), delaylab_api.up(file) as lab:
        found = lab.node("one").ping(lab.node("two"), count=200, interval="7ms", why=True).why
    assert found is not None
    named = [sentence(each) for each in found.explained]
    assert any("waited for a CPU that culprit in node.two had" in each for each in named), named


def test_a_packet_that_a_kernel_drops_is_lost_for_its_reason(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(LAB)
    with delaylab_api.up(file) as lab:
        one, two = lab.node("one"), lab.node("two")
        one.ping(two, count=1)  # Its MAC address is known from then on.
        two.run(["ip", "-4", "route", "flush", "table", "local"], check=True)
        found = one.ping(two, count=20, interval="20ms", why=True).why
    assert found is not None
    assert [each.seq for each in found.lost] == list(range(20))
    for each in found.lost:
        assert each.drop is not None
        assert (each.drop.reason, each.drop.place) == ("IP_INADDRERRORS", "node.two")
    (line,) = (each for each in found.lines if "lost" in each)
    assert "lost: 20 of 20: dropped by the kernel at " in line


def test_metrics_have_the_excess_of_late_packets_by_cause() -> None:
    cpu = min(os.sched_getaffinity(0))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    asked = ["ping", "--why", "-q", "-i", "10ms", "--metrics", str(port), "127.0.0.1"]
    started = subprocess.Popen(
        ["taskset", "--cpu-list", str(cpu), str(DELAYLAB), *asked],
        stdout=subprocess.PIPE,
        text=True,
    )
    held = (
        r'excess_seconds_total\{cause="run-queue wait",host="127.0.0.1",target="127.0.0.1"\} (\S+)'
    )
    late = r'late_packets_total\{host="127.0.0.1",target="127.0.0.1"\} (\S+)'

    def metrics() -> str:
        with (
            suppress(OSError),
            urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer,
        ):
            return str(answer.read().decode())
        return ""

    try:
        with bursts(cpu):
            wait_until(lambda: re.search(held, metrics()) is not None)
            text = metrics()
    finally:
        started.send_signal(signal.SIGINT)
        said, _ = started.communicate(timeout=60)
    taken, packets = re.search(held, text), re.search(late, text)
    assert taken is not None
    assert packets is not None
    summary = re.search(r"why: (\d+) packets took", said)
    assert summary is not None, said
    assert 0 < float(packets[1]) <= int(summary[1])
    assert float(taken[1]) > 0


def test_every_switch_is_recorded_or_counted_as_hidden(delaylab: Run) -> None:
    """The records and what each CPU counted beyond them are what the kernel counts in all."""
    recorded = as_json(delaylab(*ASKED, "--json"))["why"]["recorded"]
    assert not any(cpu["overwritten"] for cpu in recorded["cpus"])
    seen = sum(cpu["switches"] + cpu["unseen"] for cpu in recorded["cpus"])
    # The two are not read at the same moment: a few switches are between.
    assert seen == pytest.approx(recorded["switches"], rel=0.02, abs=50)


def test_without_the_right_it_says_so_and_pings_all_the_same(delaylab: Run) -> None:
    done = subprocess.run(
        [*NO_RIGHTS, DELAYLAB, "ping", "--why", "-c", "3", "-i", "10ms", "127.0.0.1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "3 sent, 3 replied" in done.stdout
    (line,) = (each for each in done.stdout.splitlines() if each.startswith("why: "))
    assert line == (
        "why: what CPUs do cannot be recorded: it needs CAP_BPF and CAP_PERFMON, outside of user "
        "namespaces; what `late:` says is from samples, which are coarser"
    )


def test_in_a_pid_namespace_of_its_own_nobody_is_named() -> None:
    done = subprocess.run(
        ["unshare", "-p", "-f", "--mount-proc", DELAYLAB, *ASKED[:2], "-c", "3", "127.0.0.1"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "in a PID namespace of its own" in done.stdout


def test_a_killed_recorder_leaves_no_program_attached() -> None:
    started = subprocess.Popen(
        [DELAYLAB, "ping", "--why", "127.0.0.1"], stdout=subprocess.PIPE, text=True
    )
    assert started.stdout is not None
    wait_until(lambda: "seq=1" in started.stdout.readline())  # type: ignore[union-attr]
    children = Path(f"/proc/{started.pid}/task/{started.pid}/children").read_text().split()
    attached = {int(child): _links(int(child)) for child in children}
    recorder, links = max(attached.items(), key=lambda item: len(item[1]))
    assert len(links) == PROGRAMS
    assert links <= _links_of_kernel()
    os.kill(recorder, signal.SIGKILL)
    wait_until(lambda: not links & _links_of_kernel())
    started.send_signal(signal.SIGINT)
    said, _ = started.communicate(timeout=60)
    assert "why: the agent died" in said, said


def _links(process: int) -> set[int]:
    """Return the numbers of the links that attach programs of a process."""
    found = set()
    for info in Path(f"/proc/{process}/fdinfo").iterdir():
        with suppress(OSError):
            found |= {
                int(number) for number in re.findall(r"^link_id:\t(\d+)", info.read_text(), re.M)
            }
    return found


def _links_of_kernel() -> set[int]:
    """Return the numbers of all links of programs, as the kernel lists them (bpf(2))."""
    found: set[int] = set()
    last = 0
    while True:
        attributes = (ctypes.c_uint32 * 3)(last)
        if LIBC.syscall(BPF_SYSCALL, BPF_LINK_GET_NEXT_ID, attributes, ctypes.sizeof(attributes)):
            return found
        last = attributes[1]
        found.add(last)
