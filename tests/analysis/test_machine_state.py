"""The machine's state by phase, from a record whose truth is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from delaylab.records.doubts import DoubtKind
from delaylab_study.analysis.analyse import groups
from delaylab_study.analysis.doubts.machine import machine_doubts
from delaylab_study.analysis.doubts.machine_state import (
    BACKLOG,
    MachineState,
    PhaseState,
    machine_state,
)
from delaylab_study.analysis.doubts.other_work import BusyGroup, BusyProgram
from delaylab_study.analysis.group import Group
from delaylab_study.dataset import store
from tests import synthetic
from tests.synthetic import Condition

# 0.5 s before, 1 s under load, 0.5 s after: five, ten and five intervals of 100 ms.
LOADED = Condition(load="cpu", at_rest=100, packets=200)
REST = Condition(at_rest=100, packets=200)
STEADY = {"samples": 20}


def hosts_of(stopped: tuple[str, str] | None = None, **state: Any) -> pl.DataFrame:
    """The machine's record; for four of its samples this process of this place is stopped."""
    table = synthetic.hosts(**STEADY | state)
    if stopped is None:
        return table
    place, name = stopped
    samples = table.filter(metric="cpus")[5:9]
    return pl.concat(
        [
            table,
            samples.with_columns(
                pl.lit(place).alias("place"),
                pl.lit(f"stopped.{name}").alias("metric"),
                pl.lit(0.1).alias("value"),
            ),
        ]
    )


def analysed(place: Path, condition: Condition, **state: Any) -> Group:
    synthetic.write_study(place, synthetic.study([condition], []))
    tables = synthetic.tables(condition)
    record = synthetic.trial(condition, 0)
    synthetic.write_trial(place, record, *tables, hosts_of(**state))
    return next(groups(store.read_study(place)))


def test_shares_of_each_phase_are_those_of_the_record() -> None:
    _, probes = synthetic.tables(LOADED)
    hosts = synthetic.hosts(20, busy=0.4, steal=0.05, pressure=0.2, softirq=0.1)
    state = machine_state([(hosts, probes)])
    assert [phase.phase for phase in state.phases] == ["before", "load", "after"]
    for phase in state.phases:
        assert phase.busy == pytest.approx(0.4)
        assert phase.steal == pytest.approx(0.05)
        assert phase.softirq == pytest.approx(0.1)
        assert phase.pressure == pytest.approx(0.2)
        assert phase.foreign_cpus == pytest.approx(2 * 0.4 - 0.1)
        assert phase.places == {"probe": pytest.approx(0.1)}
    assert (state.samples, state.missed, state.drops) == (20, 0, {})
    assert [phase.samples for phase in state.phases] == [4, 9, 4]


def test_packets_sent_in_a_disturbed_interval_are_flagged_and_kept(tmp_path: Path) -> None:
    group = analysed(tmp_path, LOADED, pressure=0.2)
    counts = {phase.phase: (phase.flagged, phase.packets) for phase in group.machine.state.phases}
    assert counts == {"before": (100, 100), "load": (200, 200), "after": (100, 100)}
    assert group.rtt["app"].n == 200


def test_a_missing_sample_is_counted_and_its_interval_is_not_lost() -> None:
    _, probes = synthetic.tables(LOADED)
    state = machine_state([(synthetic.hosts(20, pressure=0.2, missing=(9, 10)), probes)])
    assert (state.samples, state.missed) == (18, 2)
    assert state.phases[1].pressure == pytest.approx(0.2)


def test_nodes_in_one_stack_share_their_interfaces_drops() -> None:
    _, probes = synthetic.tables(LOADED)
    hosts = synthetic.hosts(20, dropped=7)
    twin = hosts.filter(place="host.sut").with_columns(pl.lit("probe").alias("place"))
    state = machine_state([(pl.concat([hosts, twin]), probes)])
    assert state.drops == {"uplink of host.sut, probe": 7}


def test_a_record_that_lacks_everything_says_nothing() -> None:
    _, probes = synthetic.tables(LOADED)
    state = machine_state([(synthetic.hosts(), probes)])
    assert [(p.busy, p.steal, p.pressure, p.flagged) for p in state.phases] == [
        (None, None, None, 0)
    ] * 3


@pytest.mark.parametrize(("state", "phases"), [({"pressure": 0.3}, 2), ({"busy": 0.5}, 3)])
def test_daemons_that_wait_for_cpus_after_an_event_are_no_other_work(
    tmp_path: Path, state: dict[str, Any], phases: int
) -> None:
    """Waiting in the phase of events is no doubt; work outside the lab is one in every phase."""
    record = synthetic.trial(REST, 0)
    waited = {"router": "r", "longest_ns": 1, "all_ns": 1}
    record["events"] = [{"parts": [], "event_ns": 1, "until_ns": 2, "waited": waited}]
    synthetic.write_study(tmp_path, synthetic.study([REST], []))
    hosts = synthetic.hosts(**STEADY | state)
    synthetic.write_trial(tmp_path, record, *synthetic.tables(REST), hosts)
    (found,) = next(groups(store.read_study(tmp_path))).doubts
    assert found.kind == DoubtKind.NOT_AT_REST
    assert found.values["disturbed"] == phases


@pytest.mark.parametrize(
    ("condition", "state", "kinds"),
    [
        (REST, {}, []),
        (REST, {"steal": 0.02}, ["stolen-time"] * 3),
        (REST, {"busy": 0.5}, ["not-at-rest"]),
        (REST, {"pressure": 0.3}, ["not-at-rest"]),
        (LOADED, {"pressure": 0.3}, ["not-at-rest"]),
        (REST, {"missing": (4, 5)}, ["starved-watcher"]),
        (REST, {"stopped": ("echo", "node.echo")}, ["stopped-process"]),
        (REST, {"dropped": 5}, []),
        (
            Condition(at_rest=100, lost_after=dict.fromkeys(range(120, 129), ("request", "wire"))),
            {"dropped": 5},
            ["lost", "interface-drops"],
        ),
    ],
)
def test_doubts(
    tmp_path: Path, condition: Condition, state: dict[str, Any], kinds: list[str]
) -> None:
    found = analysed(tmp_path, condition, **state).doubts
    assert [str(doubt.kind) for doubt in found] == kinds


@pytest.mark.parametrize(
    ("place", "name", "said"),
    [
        ("echo", "node.echo", "the agent of echo"),
        ("a-node-of-a-long-name", "node.a-node-of-", "the agent of a-node-of-a-long-name"),
        ("link.sut", "link.sut_engine", "the link engine of sut"),
        ("host.sut", "host.sut", "the agent of host.sut"),
        ("vm", "qemu-system-x86", "qemu-system-x86 of vm"),
    ],
)
def test_a_stopped_process_is_named(tmp_path: Path, place: str, name: str, said: str) -> None:
    (found,) = analysed(tmp_path, REST, stopped=(place, name)).doubts
    assert found.message == f"a signal stopped processes of the lab: {said} for 0.4 s"


@pytest.mark.parametrize(("in_downtimes", "some"), [(0, 9), (4, 5), (9, None), (12, None)])
def test_what_a_link_lost_on_purpose_is_no_doubt_about_interfaces(
    tmp_path: Path, in_downtimes: int, some: int | None
) -> None:
    lost = dict.fromkeys(range(120, 129), ("request", "wire"))
    group = analysed(tmp_path, Condition(at_rest=100, lost_after=lost), dropped=5)
    assert group.packets is not None
    found = machine_doubts(
        group.machine.state, group.packets.account, at_rest=False, in_downtimes=in_downtimes
    )
    said = [str(each.message) for each in found if each.kind == DoubtKind.INTERFACE_DROPS]
    assert bool(said) == (some is not None)
    assert all(f"some may be the {some} lost packets" in each for each in said)


def test_load_is_no_doubt_while_there_is_meant_to_be_load(tmp_path: Path) -> None:
    doubts = analysed(tmp_path, LOADED, pressure=0.3).doubts
    assert [doubt.message.partition(";")[0] for doubt in doubts] == [
        "other work ran in 2 of 2 phases that should be at rest"
    ]


def test_programs_are_summed_by_name_and_averaged_over_a_phase() -> None:
    _, probes = synthetic.tables(LOADED)
    hosts = synthetic.hosts(20)
    first, last = (int(str(each)) for each in (hosts["time_ns"].min(), hosts["time_ns"].max()))
    middle = first + (last - first) // 2
    said = [
        (middle, "processes", 9.0),
        (middle, "program.7.cc1", 0.5),
        (middle, "program.8.cc1", 0.25),
        (middle, "program.9.two_words", 0.1),
        (middle, "program.0.make", 0.4),
        (middle, f"group.docker/{'0123456789abcdef' * 4}", 0.5),
        (middle, "group.a.rx_dropped", 0.25),
        (middle, "group.rx_bytes", 0.2),
        (middle, "backlog.dropped", 5.0),
        (last, "backlog.dropped", 12.0),
        (last, "processes", 9.0),
        (last, "program.8.cc1", 0.25),
        (last, "group.a.rx_dropped", 0.75),
    ]
    rows = [{"time_ns": time, "metric": metric, "value": value} for time, metric, value in said]
    of_machine = hosts.filter(pl.col("place") == "machine").select("machine", "place").head(1)
    added = pl.DataFrame(rows).join(of_machine, how="cross").select(hosts.columns)
    named = pl.concat([hosts, added.cast(hosts.schema)])
    state = machine_state([(named, probes)])
    before, load, after = state.phases
    assert state.drops == {BACKLOG: 7}
    assert before.programs == (
        BusyProgram("cc1", 0.75),
        BusyProgram("ended children of make", 0.4),
        BusyProgram("two_words", 0.1),
    )
    assert after.programs == (BusyProgram("cc1", 0.25),)
    container = BusyGroup(f"docker/{'0123456789abcdef' * 4}", 0.5)
    assert container.short == "docker/0123456789ab"
    assert before.groups == (container, BusyGroup("a.rx_dropped", 0.25), BusyGroup("rx_bytes", 0.2))
    assert after.groups == (BusyGroup("a.rx_dropped", 0.75),)
    # Five of nine intervals under load ended by the first reading.
    cc1, _, words = load.programs
    assert cc1.cpus == pytest.approx((5 * 0.75 + 4 * 0.25) / 9)
    assert words.cpus == pytest.approx(5 * 0.1 / 9)


def test_a_record_without_programs_names_none() -> None:
    _, probes = synthetic.tables(LOADED)
    state = machine_state([(synthetic.hosts(20), probes)])
    assert [phase.programs for phase in state.phases] == [(), (), ()]
    assert [phase.groups for phase in state.phases] == [(), (), ()]


def test_work_without_a_name_is_said() -> None:
    phase = PhaseState("load", 9, 0.9, 0.0, 0.0, 1.5, {}, 0, 0, programs=(BusyProgram("cc1", 0.6),))
    (doubt,) = machine_doubts(MachineState([phase], 9, 0, {}), None, at_rest=True)
    assert (
        "1.50 CPUs busy with other work (cc1 0.60; other, short-lived: 0.90 CPUs)" in doubt.message
    )


def test_control_groups_are_named_after_programs() -> None:
    groups = (BusyGroup("system.slice/cron.service", 0.62),)
    programs = (BusyProgram("make", 0.4), BusyProgram("ended children of bash", 0.3))
    phase = PhaseState("load", 9, 0.9, 0.0, 0.0, 0.94, {}, 0, 0, programs=programs, groups=groups)
    said = "make 0.40, ended children of bash 0.30; other, short-lived: 0.24 CPUs; "
    by_group = "by control group: system.slice/cron.service 0.62"
    for known, words in ((phase, said + by_group), (replace(phase, programs=()), by_group)):
        (doubt,) = machine_doubts(MachineState([known], 9, 0, {}), None, at_rest=True)
        assert f"0.94 CPUs busy with other work ({words})" in doubt.message
