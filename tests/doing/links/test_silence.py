"""A link that is silent for a moment: the packets lost are those that tcpdump misses beside it."""

from __future__ import annotations

import re
import signal
import struct
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_interface
from pathlib import Path
from shutil import which

import polars as pl
import pytest

from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.resolve.lab import Lab
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse
from delaylab_study.study_file.combine import Combination
from delaylab_study.study_file.probe import ProbeSpec
from delaylab_study.trial.measure import measure
from delaylab_study.trial.recording import Recording

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(which("tcpdump") is None, reason="tcpdump is not installed"),
]
PROBE_ID = 7
PROBE = {"from": "r-1", "to": "r-2", "interval": "5ms", "late": "2s", "protocol": "udp"}
SHORT = """
lab: silence
nodes: {r: {count: 2}}
links: [{between: [r-1, r-2], name: near, delay: 1ms}]
timeline: [TIMELINE]
"""
RING = """
lab: silence
routing: {ospf: {hello: 1s, dead: 4s}, by: bird}
nodes: {r: {count: 3, forwards: true}}
links:
  - {between: [r-1, r-2], name: near, delay: 1ms}
  - {between: [r-2, r-3], name: far, delay: 1ms}
  - {between: [r-1, r-3], name: around, delay: 1ms}
timeline: [TIMELINE]
"""
PCAP, RECORD = struct.Struct("<I20x"), struct.Struct("<8xII")
PCAP_MAGIC = 0xA1B2C3D4
"""The magic number of a pcap file with times in µs (pcap-savefile(5))."""
HEADER = re.compile(rb"dlab\x01...(.{4})(.{4})", re.DOTALL)
"""The head of a probe packet's payload, with the probe's number and its own (docs/protocol.md)."""

Seqs = Counter[int]


@contextmanager
def captured(lab: LiveLab, node: str, folder: Path) -> Iterator[Path]:
    """Let tcpdump keep the frames of all cards of a node, for the length of the block."""
    file = folder / f"{node}.pcap"
    pid = next(agent.pid for name, agent in lab.keeper.agents.items() if name == f"node.{node}")
    enter = ("nsenter", "-t", str(pid), "-n")
    dump = ("tcpdump", "--immediate-mode", "-B", "8192", "-Z", "root", "-i", "any", "-w", str(file))
    with subprocess.Popen([*enter, *dump, "udp"], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert any("listening on any" in line for line in process.stderr)
        try:
            yield file
        finally:
            process.send_signal(signal.SIGINT)  # it then writes out what it has, and its counts
            said = process.stderr.read()
    assert "\n0 packets dropped by kernel" in said, said


def addresses(lab: LiveLab, node: str) -> set[bytes]:
    """Return the IPv4 addresses of a node, in bytes."""
    planned = lab.plan.nodes[node]
    texts = [*planned.loopbacks, *(text for each in planned.attachments for text in each.addresses)]
    return {ip_interface(text).packed for text in texts}


def packets(file: Path, sources: set[bytes]) -> Seqs:
    """Return how often each packet of the probe from one of these addresses is in a capture."""
    data = file.read_bytes()
    (magic,) = PCAP.unpack_from(data)
    assert magic == PCAP_MAGIC
    at, found = PCAP.size, Seqs()
    while at < len(data):
        length, whole = RECORD.unpack_from(data, at)
        assert length == whole, "a frame was cut"
        at += RECORD.size
        frame = data[at : at + length]
        head = HEADER.search(frame)
        if head is not None and int.from_bytes(head[1], "big") == PROBE_ID:
            # The IP header is the 20 bytes before UDP's 8; the source is in its bytes 12 to 15.
            ip = head.start() - 28
            if frame[ip + 12 : ip + 16] in sources:
                found[int.from_bytes(head[2], "big")] += 1
        at += length
    return found


def lost(recording: Recording) -> set[int]:
    """Return the numbers of the packets without a reply, by delaylab."""
    assert set(recording.probes["outcome"]) <= {"replied", "late", "lost"}
    return set(recording.probes.filter(pl.col("outcome") == "lost")["seq"])


@pytest.mark.parametrize(
    ("text", "timeline", "count", "least"),
    [
        pytest.param(
            SHORT, "{at: 300ms, silence: near}, {at: 800ms, up: near}", 300, 20, id="link"
        ),
        pytest.param(
            RING, "{at: 1s, silence: near}", 2400, 100, id="routers", marks=pytest.mark.slow
        ),
    ],
)
def test_the_packets_lost_are_those_that_tcpdump_misses(
    text: str, timeline: str, count: int, least: int, tmp_path: Path
) -> None:
    spec: Lab = lab_from(parse(text.replace("TIMELINE", timeline), "silence.yaml"))
    probe = ProbeSpec.model_validate({**PROBE, "count": count})
    with temporary(spec, accounting=False) as lab:
        here, there = addresses(lab, "r-1"), addresses(lab, "r-2")
        with captured(lab, "r-1", tmp_path) as near, captured(lab, "r-2", tmp_path) as far:
            recording = measure(lab, Combination({}, spec, (), probe), PROBE_ID)
        sent, asked = packets(near, here), packets(far, here)
        answered, replied = packets(far, there), packets(near, there)
    assert {*sent.values(), *replied.values()} == {1}
    assert set(sent) == set(recording.probes["seq"])
    missing = set(sent) - set(replied)
    assert lost(recording) == missing
    # The silence has swallowed packets on their way there, and nothing else has: what was answered
    # and did not come back is missing, too.
    assert len(missing) >= least
    assert missing == (set(sent) - set(asked)) | (set(answered) - set(replied))
