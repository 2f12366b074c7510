"""Trials of labs whose machines have clocks with a known offset, drift and step.

The machines are namespaces of one kernel, whose agents shift what they tell of its clock. So the
truth of each stamp is known, and the bound that is printed can be held against it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from delaylab_study.analysis.analyse import groups
from delaylab_study.analysis.clocks.exchanges import exchanges
from delaylab_study.analysis.clocks.pairs import loops
from delaylab_study.analysis.clocks.stations import Station
from delaylab_study.analysis.packets.trial import TrialPackets, trial_packets
from delaylab_study.analysis.statistics.runs import Floats
from delaylab_study.dataset.store import Study, read_study
from tests.doing.machines.ssh_machines import NEEDED, lan

pytestmark = [NEEDED, pytest.mark.slow]

S, MS, US = 1_000_000_000, 1_000_000, 1_000
STUDY = """\
study: clocks
lab:
  lab: clocks
  machines: {m1: {ssh: m1}, m2: {ssh: m2}}
  hosts: {here: {}, h1: {machine: m1}, h2: {machine: m2}}
  nodes: {a: {host: here}, r: {host: h1, forwards: true}, b: {host: h2}}
  links:
    - {between: [a, r], name: near, from: {a: {delay: 40ms}, r: {delay: 20ms}}}
    - {between: [r, b], name: far, delay: 0s}
probe: {from: a, to: b, count: 1000, interval: 2ms}
factors: {load: {idle: []}}
repeat: 1
"""
"""A probe from this machine by a router on a second one to a third."""
LONG = STUDY.replace("count: 1000, interval: 2ms", "count: 5000, interval: 2ms")
STEP_AFTER_NS = 10 * S
"""The time from the start of the command until a time within the phase under load."""


@dataclass(frozen=True)
class Wrong:
    """An error of a clock: the offset at a time, the drift from then on, and a step."""

    offset_ns: int
    drift_ppb: int
    step_ns: int
    at_ns: int

    def __str__(self) -> str:
        return f"{self.offset_ns}:{self.drift_ppb}:{self.step_ns}:{self.at_ns}"

    def true(self, shown_ns: int) -> int:
        """Return the time at which the clock shows this one."""
        since = shown_ns - self.offset_ns - self.at_ns
        if since >= self.step_ns:
            since -= self.step_ns
        return self.at_ns + round(since / (1 + self.drift_ppb * 1e-9))


@contextmanager
def measured(folder: Path, clocks: dict[str, Wrong], study: str = STUDY) -> Iterator[Study]:
    """Run the study on machines with these clocks; yield its dataset."""
    with lan(
        folder, ["m1", "m2"], clocks={name: str(each) for name, each in clocks.items()}
    ) as two:
        (two.folder / "study.yaml").write_text(study)
        two.delaylab("run", "study.yaml", "--out", "out")
        yield read_study(two.folder / "out")


def beyond_ns(study: Study, found: TrialPackets, clocks: dict[str, Wrong]) -> Floats:
    """Return by how much each aligned stamp of these machines is further off than its bound.

    The sender's machine has the kernel's clock.
    """
    (trial,) = study.trials
    named = {
        clock: machine
        for each in trial.comparisons
        for clock, machine in ((each.reference, each.machine), (each.clock, each.other))
    }
    off = []
    for station, clock in found.alignment.clocks.items():
        if named[clock] in clocks:
            stamps = found.packets.stations[station]
            stamps = stamps.filter(stamps.seen)
            assert stamps.own is not None
            assert stamps.bound_ns is not None
            true = np.array([clocks[named[clock]].true(each) for each in stamps.own])
            off.append(np.abs(stamps.times.to_numpy() - true) - stamps.bound_ns.to_numpy())
    return np.concatenate(off)


def least_ns(study: Study, one: str, other: str) -> int:
    """Return the least round trip of the probes between two clocks."""
    (trial,) = study.trials
    compared = exchanges(study.comparisons(trial.id), trial.comparisons)
    (found,) = (each for each in compared if each.joins(one, other))
    return int(loops(found.pair(found.clock)).took_ns.min())


def test_a_known_delay_is_found_in_its_direction_within_the_bound(tmp_path: Path) -> None:
    """Offsets of a day and of a third of a second, drifts of 30 ppm; a link of 40 and 20 ms."""
    now = time.time_ns()
    clocks = {"m1": Wrong(86_400 * S, 30_000, 0, now), "m2": Wrong(-333 * MS, -30_000, 0, now)}
    with measured(tmp_path, clocks) as study:
        found = trial_packets(study, study.trials[0])
        (group,) = groups(study)
        off = beyond_ns(study, found, clocks)
        assert len(off) > 5000
        assert (off <= 1).mean() >= 0.999
        for hop in found.alignment.hops:
            (part,) = hop.fit.parts
            assert part.bound_ns <= least_ns(study, hop.near, hop.far) / 2 + 2 * US
    for leg, first, last, wanted in (
        ("request", "sender.stack", "hop1.near", 40 * MS),
        ("reply", "hop1.near", "sender.stack", 20 * MS),
    ):
        ends = Station(leg, first), Station(leg, last)
        between = found.answered.between(*ends)
        assert between is not None
        delays = between.drop_nulls().to_numpy()
        bound = found.answered.bound_between(*ends)
        assert bound < MS / 2
        # The link takes the network's share of its delay for symmetric; what it is late is on top.
        assert delays.min() + bound >= wanted - MS / 2
        assert np.median(delays) - bound <= wanted + MS
    assert group.packets is not None
    (state,) = group.packets.clocks
    (loop,) = state.loops
    assert loop.closes
    assert not [each for each in group.doubts if str(each.kind).startswith("clock-")]


def test_a_step_during_the_trial_is_found_and_the_bound_holds(tmp_path: Path) -> None:
    """The clock of the router's machine is set by 40 ms while packets are sent."""
    step = Wrong(-5 * MS, 10_000, 40 * MS, time.time_ns() + STEP_AFTER_NS)
    clocks = {"m1": step}
    with measured(tmp_path, clocks, LONG) as study:
        found = trial_packets(study, study.trials[0])
        (group,) = groups(study)
        off = beyond_ns(study, found, clocks)
    assert len(off) > 5000
    assert (off <= 1).mean() >= 0.999
    changes = [change for hop in found.alignment.hops for change in hop.fit.changes]
    assert changes
    for change in changes:
        assert change.kind == "step"
        assert abs(change.size_ns) == pytest.approx(40 * MS, rel=0.01)
    assert "clock-step" in {str(each.kind) for each in group.doubts}


def test_a_stated_symmetry_is_named_by_every_trial(tmp_path: Path) -> None:
    """Packets of the LAN take the same time in both directions, as the lab file states."""
    now = time.time_ns()
    clocks = {"m1": Wrong(7 * MS, 0, 0, now), "m2": Wrong(-MS, 5_000, 0, now)}
    stated = STUDY.replace("ssh: m1}", "ssh: m1, symmetric: 2us}")
    stated = stated.replace("ssh: m2}", "ssh: m2, symmetric: 2us}")
    with measured(tmp_path, clocks, stated) as study:
        found = trial_packets(study, study.trials[0])
        (group,) = groups(study)
        off = beyond_ns(study, found, clocks)
    assert [hop.symmetric_ns for hop in found.alignment.hops] == [2 * US, 4 * US]
    assert (off <= 1).mean() >= 0.999
    said = [each.message for each in group.doubts if str(each.kind) == "clock-symmetric"]
    assert len(said) == 2, said
    assert "at most 2.0 µs" in said[0]
