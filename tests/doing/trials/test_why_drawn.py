"""A trial says what share of its samples is biased, and what clean ones take, by packets drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doing.conftest import Run, as_json
from tests.truth.alone import alone
from tests.truth.clean import LONGEST_NS, SHARE, SHORTEST_NS

pytestmark = pytest.mark.root

BURSTS = f"""
import os, random, time
open("/proc/self/comm", "w").write("bursts")
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(60))
while True:
    began = time.monotonic()
    length = random.uniform({SHORTEST_NS}, {LONGEST_NS}) / 1e9
    while time.monotonic() < began + length:
        pass
    time.sleep(max(0, began + length / {SHARE} - time.monotonic()))
"""
"""Has its CPU for 60 % of the time, as in `tests.truth.clean`."""
STUDY = """\
study: believed
lab:
  lab: believed
  nodes: {one: {cpus: [0]}, two: {cpus: [1]}}
  links: [{between: [one, two]}]
factors:
  load:
    none: []
    bursts: [{command: [python3, FOLDER/bursts.py], on: two}]
probe: {from: one, to: two, protocol: udp, count: 600, interval: 7ms, at_rest: 30, causes: true}
scales: {quick: {repeat: 1}}
"""
AROUND = 0.15
"""The most by which the biased share may be off: chance, and when packets meet the bursts."""
LONG_US = 1000
"""The least time by which bursts make the median too long."""
NEAR = 0.1
"""The most error of the clean median, as a share of that of all packets.

Bursts keep an idle CPU from sleeping deeply, which makes clean packets a little quicker.
"""


def test_a_study_says_which_share_of_its_samples_is_biased_and_what_clean_ones_take(
    delaylab: Run, tmp_path: Path
) -> None:
    (tmp_path / "bursts.py").write_text(BURSTS)
    (tmp_path / "study.yaml").write_text(STUDY.replace("FOLDER", str(tmp_path)))
    dataset = tmp_path / "data"
    with alone():
        delaylab("run", str(tmp_path / "study.yaml"), "--out", str(dataset))
    levels = as_json(delaylab("why", str(dataset), "--json"))["levels"]
    of = {each["levels"]: each["drawn"] for each in levels}
    bursts, none = of["load=bursts"], of["load=none"]
    assert bursts["packets"] == none["packets"] == 200
    # What else the machine does biases others of the packets that met no burst.
    others = (1 - SHARE) * none["biased_share"]
    assert SHARE - AROUND < bursts["biased_share"] < SHARE + others + AROUND, (bursts, none)
    assert next(iter(bursts["biased_by"])) == "run-queue wait"
    assert bursts["biased_by"]["run-queue wait"]["median_ns"] > LONG_US * 1000
    rest_us = none["clean_median_us"]
    raw_off_us = bursts["raw_median_us"] - rest_us
    assert raw_off_us > LONG_US, bursts
    assert abs(bursts["clean_median_us"] - rest_us) < NEAR * raw_off_us, (bursts, none)
    said = delaylab("why", str(dataset), "--slowest", "1").stdout
    assert "of 200 packets drawn at random are biased" in said.replace("\n", " ")
    assert "run-queue wait (" in said.replace("\n", " ")
    head, *rows = delaylab("show", str(dataset), "--csv", "biased").stdout.splitlines()
    assert head.startswith("levels,drawn,biased_share,biased_share_low,biased_share_high,")
    assert len(rows) == 2
