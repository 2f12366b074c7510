"""`delaylab why` names what a link did to a packet: its queue with whose frames, and its losses."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from delaylab_study.dataset.store import read_study
from tests.doing.conftest import Run

pytestmark = pytest.mark.root

BURSTS = """\
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    for _ in range(250):
        s.sendto(bytes(1400), ("two", 9))
        time.sleep(0.0002)
    time.sleep(0.1)
"""
STUDY = """\
study: links
lab:
  lab: links
  nodes: {one: {}, bulk: {}, hub: {forwards: true}, two: {}}
  links:
    - {between: [one, hub], name: in, delay: 1ms}
    - {between: [bulk, hub], name: side}
    - {between: [hub, two], name: out, rate: 20Mbit, queue: {packets: 40}, delay: 2ms}
factors:
  load: {bursts: [{command: [python3, FOLDER/bursts.py], on: bulk}]}
probe: {from: one, to: two, protocol: udp, size: 100, count: 400, interval: 7ms, causes: true}
scales: {quick: {repeat: 1}}
"""
MOST_FRAMES = 40
PAYLOAD, HEADERS, FRAMING = 100, 42, 24
"""The bytes of a packet, of its headers of UDP, IP and Ethernet, and between two frames."""
FEWEST, FEWEST_LOST = 3, 1
"""The fewest packets that wait in the queue, and that are lost: of 400 some 150 come to a burst.

On a busy machine the bursts are slower than the link at times.
"""


def test_a_queue_has_its_length_and_who_filled_it_and_a_loss_its_link(
    delaylab: Run, tmp_path: Path
) -> None:
    (tmp_path / "bursts.py").write_text(BURSTS)
    (tmp_path / "study.yaml").write_text(STUDY.replace("FOLDER", str(tmp_path)))
    dataset = tmp_path / "data"
    delaylab("run", str(tmp_path / "study.yaml"), "--out", str(dataset))
    said = delaylab("why", str(dataset), "--slowest", "60").stdout
    waited = re.findall(
        r"in the queue of link out from hub behind (\d+) frames of \d+ kB, \d+% from (\w+)", said
    )
    assert len(waited) >= FEWEST, said
    assert {most_from for _, most_from in waited} == {"bulk"}
    assert max(int(frames) for frames, _ in waited) <= MOST_FRAMES
    full = re.search(r"(\d+) packets? lost: dropped by link out from hub: its queue was full", said)
    assert full is not None, said
    assert int(full[1]) >= FEWEST_LOST
    _adds_up(dataset)


def _adds_up(dataset: Path) -> None:
    """Each packet passed both links each way, in time and at their rate and delay."""
    study = read_study(dataset)
    (trial,) = study.trials
    passed = study.passages(trial.id)
    sent = passed.filter(passed["ended"] == "sent")
    assert len(sent) > len(passed) // 2
    times = ("came_ns", "began_ns", "left_ns", "due_ns")
    for one, next_one in pairwise(times):
        assert (sent[one] <= sent[next_one]).all()
    delays = {"in": 1_000_000, "out": 2_000_000}
    for link, delay_ns in delays.items():
        of_link = sent.filter(sent["link"] == link)
        assert ((of_link["due_ns"] - of_link["left_ns"]) == delay_ns).all()
    at_rate = sent.filter((sent["link"] == "out") & (sent["node"] == "hub"))
    (took_ns,) = (at_rate["left_ns"] - at_rate["began_ns"]).unique().to_list()
    size_bits = 8 * (PAYLOAD + HEADERS + FRAMING)
    assert abs(took_ns - size_bits * 1e9 / 20e6) <= 1
