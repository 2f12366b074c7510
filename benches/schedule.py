"""Benchmark of the send schedule as the far interface sees it, idle and beside busy neighbours."""

from __future__ import annotations

import re
import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benches.pair import FAR, NEAR, irtt_server, need, pair, probe, run_in, running, said, start_in
from benches.section import Section
from delaylab.lab.running import LiveLab
from delaylab_study.trial.frames import frame

SECONDS = 5
NANOSECOND_PCAP = 0xA1B23C4D


def run() -> Section:
    """Measure 1 kpps with each tool and 50 kpps with ours; idle, then with `stress-ng --cpu 2`."""
    need("ping", "irtt", "tcpdump", "stress-ng")
    section = Section(
        "schedule",
        "The schedule at the far interface",
        f"{SECONDS} s of packets, stamped by `tcpdump` at the receiver; goal: under load p99 step "
        "at most 1050 µs at 1 kpps and none missing, where ping and irtt lose about half.",
        ("load", "packets/s", "tool", "step median, µs", "step p99, µs", "missing", "slip p99, µs"),
    )
    tools: list[tuple[str, int, Callable[[LiveLab, str, int], str]]] = [
        ("delaylab", 1_000, _ours),
        ("ping -i 0.001", 1_000, _ping),
        ("irtt", 1_000, _irtt),
        ("delaylab", 50_000, _ours),
    ]
    with pair() as (lab, far), irtt_server(lab, far):
        for load in ("idle", "stress-ng --cpu 2"):
            for name, rate, tool in tools:
                with _loaded(load):
                    row = _measure(lab, far, rate, tool)
                section.rows.append((load, f"{rate:,}", name, *row))
    return section


@contextmanager
def _loaded(load: str) -> Iterator[None]:
    if load == "idle":
        yield
        return
    process = subprocess.Popen(load.split(), stderr=subprocess.PIPE, start_new_session=True)
    with running(process, process.stderr, b"dispatching"):
        yield


def _measure(
    lab: LiveLab, far: str, rate: int, tool: Callable[[LiveLab, str, int], str]
) -> tuple[str, str, str, str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "far.pcap"
        argv = [
            "tcpdump",
            "-i",
            "eth0",
            "-n",
            "-Q",
            "in",
            "-s",
            "64",
            "-B",
            "8192",
            "-w",
            str(path),
        ]
        argv += [
            "--immediate-mode",
            "--time-stamp-precision=nano",
            "-Z",
            "root",
            "icmp[0] = 8 or udp port 2112",
        ]
        capture = start_in(lab, FAR, *argv)
        said(capture.stderr, b"listening on")
        slip = tool(lab, far, rate)
        capture.terminate()
        capture.communicate()
        times = _times(path.read_bytes())
    steps = np.diff(times) / 1e3
    wanted = SECONDS * rate
    return (
        f"{np.median(steps):.1f}",
        f"{np.quantile(steps, 0.99):.1f}",
        str(max(0, wanted - len(times))),
        slip,
    )


def _times(data: bytes) -> NDArray[np.int64]:
    """Return the arrival times in ns of all packets in a nanosecond pcap file."""
    (magic,) = struct.unpack_from("<I", data)
    assert magic == NANOSECOND_PCAP
    times, at = [], 24
    while at + 16 <= len(data):
        seconds, nanoseconds, captured, _ = struct.unpack_from("<IIII", data, at)
        times.append(seconds * 10**9 + nanoseconds)
        at += 16 + captured
    return np.array(times, dtype=np.int64)


def _ours(lab: LiveLab, far: str, rate: int) -> str:
    result = probe(lab, far, count=SECONDS * rate, interval_ns=10**9 // rate, stamps=["app"])
    packets = frame(result, "packets")
    slip = (packets["sent_ns"] - packets["intended_ns"]).drop_nulls() / 1e3
    return f"{slip.quantile(0.99):.1f}"


def _ping(lab: LiveLab, far: str, rate: int) -> str:
    run_in(lab, NEAR, "ping", "-q", "-i", str(1 / rate), "-w", str(SECONDS), far)
    return "not said"


def _irtt(lab: LiveLab, far: str, rate: int) -> str:
    interval = f"{10**6 // rate}us"
    done = run_in(lab, NEAR, "irtt", "client", "-i", interval, "-d", f"{SECONDS}s", "-q", far)
    assert not re.search("error", done.stderr, re.IGNORECASE), done
    return "not said"
