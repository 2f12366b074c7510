"""Labs over machines with kernels and clocks of their own: virtual machines with an sshd."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from delaylab_study.analysis.analyse import groups
from delaylab_study.analysis.clocks.exchanges import exchanges
from delaylab_study.analysis.clocks.pairs import loops
from delaylab_study.analysis.clocks.stations import Station
from delaylab_study.analysis.packets.trial import trial_packets
from delaylab_study.dataset.store import read_study
from tests.doing.campaigns.cluster import study as campaign_study
from tests.doing.conftest import skip_unless_runnable
from tests.doing.machines.qemu_machines import Guests, chrony, guests
from tests.doing.machines.ssh_machines import NEEDED, pings

pytestmark = [NEEDED, pytest.mark.slow]

LAB = """\
lab: pair
machines: {m1: {ssh: m1}, m2: {ssh: m2}}
hosts: {h1: {machine: m1}, h2: {machine: m2}}
nodes: {a: {host: h1}, b: {host: h2}}
links:
  - {between: [a, b], name: wan, delay: 50ms}
"""
STUDY = """\
study: apart
lab:
  lab: apart
  machines: {m1: {ssh: m1}, m2: {ssh: m2}}
  hosts: {here: {}, h1: {machine: m1}, h2: {machine: m2}}
  nodes: {a: {host: here}, r: {host: h1, forwards: true}, b: {host: h2}}
  links:
    - {between: [a, r], name: near, delay: 0s}
    - {between: [r, b], name: far, from: {r: {delay: 80ms}, b: {delay: 40ms}}}
probe: {from: a, to: b, count: 200, interval: 10ms}
factors: {load: {idle: []}}
repeat: 1
"""
WHY = """\
study: why
lab:
  lab: why
  machines: {m2: {ssh: m2}}
  hosts: {here: {}, h2: {machine: m2}}
  nodes: {a: {host: here}, b: {host: h2}}
  links: [{between: [a, b], name: far, delay: 5ms}]
factors:
  load: {culprit: [{command: [sh, -c, CULPRIT], on: b}]}
probe: {from: a, to: b, protocol: udp, count: 300, interval: 20ms, at_rest: 40, causes: true}
repeat: 1
"""
CULPRIT = "for each in 1 2 3 4; do (while :; do :; done) & done; wait"
CLOCKS = 3
MS = 1_000_000


@pytest.fixture(scope="module")
def machines() -> Iterator[Guests]:
    skip_unless_runnable("qemu")
    with (
        tempfile.TemporaryDirectory(prefix="dlq-") as folder,
        guests(Path(folder), ["m1", "m2"]) as made,
    ):
        yield made


@pytest.fixture
def two(machines: Guests, run_directory: Path) -> Iterator[Guests]:
    """Two machines that a test leaves as it found them: without a lab."""
    yield machines
    machines.delaylab("down", "--all")
    machines.wait_until_gone()


def test_a_lab_over_machines_of_their_own_is_used_like_any_other(two: Guests) -> None:
    two.up(LAB)
    kernels = {two.on(name, "cat", "/proc/sys/kernel/random/boot_id") for name in two.names}
    assert len(kernels) == 2
    (found,) = two.labs()
    assert found["unreachable"] == {}
    assert {node["name"]: node["machine"] for node in found["nodes"]} == {"a": "m1", "b": "m2"}
    assert pings(two, "a", "b") >= 100
    two.delaylab("down")
    two.wait_until_gone()
    assert not two.labs()


def test_links_between_machines_of_their_own_are_plain_ethernet(two: Guests) -> None:
    """With two interfaces of a host that its links share: all parts of the kernel are there."""
    text = LAB.replace("lab: pair", "lab: pair\ndata_plane: ethernet")
    two.up(text.replace("h1: {machine: m1}", "h1: {machine: m1, interfaces: {eth1: 10Mbit}}"))
    assert pings(two, "a", "b", "-s", "1400") >= 100
    shown = two.on("m1", "ip", "-d", "link")
    assert "vxlan" not in shown
    two.delaylab("down")
    two.wait_until_gone()


def test_two_virtual_machines_share_a_study(two: Guests) -> None:
    """Each has a kernel and a clock of its own, and runs whole blocks."""
    out = two.folder / "shared"
    file = campaign_study(two.folder, repeats=3)
    two.delaylab("run", str(file), "--machines", "m1,m2", "--out", str(out))
    study = read_study(out)
    assert [trial.status for trial in study.trials] == ["ok"] * 6
    ran = {(trial.repeat, trial.machine) for trial in study.trials}
    assert len(ran) == 3, "a block stays on a machine"
    assert {machine for _, machine in ran} == {"m1", "m2"}
    kernels = {study.record.machines[name].clock for name in ("local", "m1", "m2")}
    assert len(kernels) == 3, kernels
    two.wait_until_gone()
    assert not two.labs()
    said = two.delaylab("compare", str(out), "machine=m1", "machine=m2").stdout
    assert "machine=m1" in said
    assert "machine=m2" in said


def test_a_trial_between_three_kernels_has_one_way_delays_with_bounds(two: Guests) -> None:
    """The link's 80 ms there and 40 ms back are found in their directions."""
    (two.folder / "study.yaml").write_text(STUDY)
    two.delaylab("run", "study.yaml", "--out", "out")
    study = read_study(two.folder / "out")
    (trial,), (group,) = study.trials, groups(study)
    assert group.packets is not None
    compared = exchanges(study.comparisons(trial.id), trial.comparisons)
    assert len({clock for each in compared for clock in (each.reference, each.clock)}) == CLOCKS
    (state,) = group.packets.clocks
    for hop in state.alignment.hops:
        (probes,) = (each for each in compared if each.joins(hop.near, hop.far))
        least = int(loops(probes.pair(probes.clock)).took_ns.min())
        assert hop.fit.bound_ns < 2 * least, (hop.fit, least)
    (loop,) = state.loops
    assert loop.closes, loop
    assert state.checks
    assert all(check.agrees for check in state.checks), state.checks
    # Their samples are found in the phases, although they are by clocks of their own.
    states = {"local": group.machine.state, **group.machine.others}
    assert states.keys() == {"local", "m1", "m2"}
    assert all(sum(phase.samples for phase in each.phases) > 10 for each in states.values())
    answered = trial_packets(study, trial).answered
    for leg, first, last, wanted in (
        ("request", "hop1.far", "responder.vif", 80 * MS),
        ("reply", "responder.vif", "hop1.far", 40 * MS),
    ):
        ends = Station(leg, first), Station(leg, last)
        between = answered.between(*ends)
        assert between is not None
        delays = between.drop_nulls().to_numpy()
        bound = answered.bound_between(*ends)
        assert 0 < bound < 2.5 * MS
        # The link takes the network's share of its delay for symmetric.
        assert delays.min() + bound >= wanted - 2.5 * MS
        assert delays.min() - bound < wanted + 10 * MS


def test_what_chrony_states_is_beside_the_bound_in_one_table(two: Guests) -> None:
    """m2 follows m1. Their probes show an offset that lies within what chrony states of m2."""
    (two.folder / "synced.yaml").write_text(STUDY.replace("study: apart", "study: synced"))
    with chrony(two, "m1", "m2"):
        two.delaylab("run", "synced.yaml", "--out", "synced")
    two.delaylab("report", "synced")
    shown = json.loads(two.delaylab("show", "synced", "--json").stdout)
    (trial,) = shown["trials"]
    found = {each["between"]: each for each in trial["clocks"]}
    followed = found["machine m2 against machine m1"]
    assert followed["aligned"]
    assert followed["bound_us"] > 0
    (by,) = followed["time_sync"]["by"]
    assert (by["machine"], by["program"], by["source"]) == ("m2", "chrony", two.address("m1"))
    assert followed["time_sync"]["bound_us"] == by["bound_us"] > 0
    assert followed["time_sync"]["within"], followed
    assert "by chrony; offset" in (two.folder / "synced" / "report.html").read_text()


def test_the_far_machine_says_why_packets_were_late_in_its_part(two: Guests) -> None:
    """Programs on the far machine have its CPU at times."""
    (two.folder / "why.yaml").write_text(WHY.replace("CULPRIT", json.dumps(CULPRIT)))
    two.delaylab("run", "why.yaml", "--out", "why")
    study = read_study(two.folder / "why")
    (trial,) = study.trials
    assert not [each for each in trial.warnings if each.kind == "no-causes"]
    assert set(study.of_cpus(trial.id)[0]["machine"]) == {"local", "m2"}
    said = two.delaylab("why", "why", "--slowest", "40").stdout
    blocks = said.split("\n\n")[1:]
    named = [each for each in blocks if "b waited for a CPU that sh in node.b had" in each]
    assert len(named) >= 3, said
