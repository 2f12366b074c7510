"""Timelines with events, carried out: by `up`, and in trials whose routers are watched."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from delaylab.lab import timeline
from delaylab.lab.programs.programs import node_states
from delaylab.lab.start import temporary
from delaylab.resolve.lab import Lab
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse
from delaylab_study import read
from delaylab_study.dataset import store
from delaylab_study.dataset.records.events import EventRecord
from tests.doing.conftest import (
    Run,
    as_json,
    left_to_slow,
    our_processes,
    skip_unless_runnable,
)
from tests.waiting import wait_until

pytestmark = pytest.mark.root
LAB = """
lab: timed
nodes:
  one: {}
  two: {kind: KIND, start: [{run: [sleep, inf], name: nap}]}
links: [{between: [one, two], name: wan}]
timeline:
  - {at: 300ms, stop: two}
  - {at: 600ms, start: two}
  - {at: 900ms, kill: two}
  - {at: 1200ms, flap: wan, for: 100ms}
  - {at: 1500ms, start: two}
  - {at: 1800ms, restart: two, for: 200ms, programs: [nap]}
"""
RING = """
study: ring
lab:
  lab: ring
  routing: {ospf: {hello: 1s, dead: 4s, lsa_interval: 100ms}}
  nodes: {r: {forwards: true, count: 4}}
  links:
    - {between: [r-1, r-2], name: north}
    - {between: [r-2, r-3], name: east}
    - {between: [r-3, r-4], name: south}
    - {between: [r-4, r-1], name: west}
  timeline: [TIMELINE]
"""
MS = 1_000_000


def lab(kind: str) -> Lab:
    return lab_from(parse(LAB.replace("KIND", kind), "lab.yaml"))


@pytest.mark.parametrize("kind", ["netns", *left_to_slow("lxc", "uml", "qemu")])
def test_events_happen_when_they_are_due(kind: str) -> None:
    """By the agents and engines alone: nobody sends them anything after the beginning."""
    skip_unless_runnable(kind)
    with temporary(lab(kind)) as running:
        begun = timeline.begin(running)
        found = begun.happened()
        assert [each.failed for each in found] == [None] * 8
        for each in found:
            changed = [each.began_ns, each.done_ns]
            # A cable to a node without power has no carrier, whatever is done to it.
            is_flap = each.step.events == (3,)
            assert is_flap == (changed == [None, None])
            if each.began_ns is not None and each.done_ns is not None:
                assert each.planned_ns <= each.began_ns + 5 * MS * (kind in ("uml", "qemu"))
                assert each.began_ns <= each.done_ns
        state = node_states(running)["two"]
        assert state.node == "running"
        assert [each.how for each in state.programs] == ["running"]
        assert state.programs[0].began_ns > 0


def test_up_begins_the_timeline_and_down_ends_it(
    delaylab: Run, tmp_path: Path, run_directory: Path
) -> None:
    """It outlives the command, and what is to come is dropped with the lab."""
    head, _, _ = LAB.replace("KIND", "netns").partition("  - {at")
    events = "  - {at: 300ms, stop: two}\n  - {at: 10min, kill: two}\n"
    (tmp_path / "lab.yaml").write_text(head + events)
    delaylab("up", "lab.yaml")
    wait_until(lambda: "nap of two" in (out := delaylab("ps").stdout) and "frozen" in out)
    delaylab("down", "timed")
    assert not our_processes("timed")


def test_orders_are_replaced_by_others() -> None:
    with temporary(lab("netns")) as running:
        began = timeline.begin(running).began_ns
        second = timeline.begin(running)
        found = second.happened()
        assert second.began_ns > began
        assert all(each.failed is None for each in found)
        timeline.begin(running)
        timeline.restore(running)
        assert node_states(running)["two"].node == "running"


def ran(delaylab: Run, folder: Path, events: str) -> store.Study:
    (folder / "s.yaml").write_text(RING.replace("TIMELINE", events))
    delaylab("run", "s.yaml", "--out", "out")
    return store.read_study(folder / "out")


def test_a_trial_of_a_lab_that_expects_quiet_waits_for_it(
    delaylab: Run, tmp_path: Path, run_directory: Path
) -> None:
    """Its record says the rule: such a time is not that until all tables were right."""
    text = RING.replace("{ospf: {", "{expect: 'quiet:1s', ospf: {retransmit: 1s, ")
    (tmp_path / "s.yaml").write_text(text.replace("TIMELINE", "{at: 200ms, down: north}"))
    delaylab("run", "s.yaml", "--out", "out")
    study = store.read_study(tmp_path / "out")
    (trial,) = study.trials
    (down,) = trial.events
    assert (down.quiet_ns, down.right_ns, down.unforeseen) == (10**9, None, None)
    tables = of_kind(study.changes(trial.id), down, "table")["time_ns"]
    last_ns = tables.max()
    assert isinstance(last_ns, int)
    assert down.until_ns - last_ns >= 10**9
    shown = delaylab("show", "out").stdout
    # The cell is narrow: its words stand in lines of their own.
    assert re.search(r"\bquiet\b.*\bfor\b.*\b1\b.*\bs\)", shown, re.DOTALL)
    (found,) = as_json(delaylab("show", "out", "--json"))["trials"][0]["events"]
    assert found["until"] == {"rule": "quiet", "quiet_s": 1.0}
    assert found["converged_s"] == pytest.approx((last_ns - down.event_ns) / 1e9)


TWO_TIMES = """
factors:
  dead: {set: routing.ospf.dead, values: [2s, 5s]}
repeat: 2
claims:
  - claim: dead-decides
    of: converged
    group: {dead: 5s}
    against: {dead: 2s}
    median: {at-least: +1s}
"""


@pytest.mark.slow
def test_a_convergence_study_has_times_by_level_a_figure_and_a_comparison(
    delaylab: Run, tmp_path: Path, run_directory: Path
) -> None:
    """On a silent link the dead interval decides: hellos of 1 s are lost, 2 or 5 s must pass."""
    text = RING.replace("TIMELINE", "{at: 200ms, silence: north}") + TWO_TIMES
    (tmp_path / "s.yaml").write_text(text.replace("{hello: 1s,", "{hello: 1s, retransmit: 1s,"))
    delaylab("run", "s.yaml", "--out", "out")
    events = read(tmp_path / "out").events
    assert sorted(events["factor.dead"]) == ["2s", "2s", "5s", "5s"]
    for dead, converged_s in zip(events["factor.dead"], events["converged_s"], strict=True):
        assert float(dead[:-1]) - 1 <= converged_s < float(dead[:-1]) + 1
    shown = as_json(delaylab("show", "out", "--json"))
    assert [row["n"]["value"] for row in shown["tables"]["events"]] == [2, 2]
    (claim,) = shown["claims"]
    assert 1e6 <= claim["effect"] <= 5e6
    delaylab("charts", "out", "time-along-dead")
    assert (tmp_path / "out" / "figures" / "time-along-dead.pdf").read_bytes()[:4] == b"%PDF"
    compared = delaylab("compare", "out", "dead=2s", "dead=5s").stdout
    assert "all tables right after silence" in " ".join(compared.split())
    assert "not alike" not in compared, "the level is what is compared"


def of_kind(table: pl.DataFrame, event: EventRecord, what: str) -> pl.DataFrame:
    inside = pl.col("time_ns").is_between(event.event_ns, event.until_ns)
    return table.filter(inside & (pl.col("what") == what))


def test_a_trial_records_what_routers_did_after_each_event(
    delaylab: Run, tmp_path: Path, run_directory: Path
) -> None:
    study = ran(delaylab, tmp_path, "{at: 500ms, down: north}, {at: 4s, kill: r-3}")
    (trial,) = study.trials
    assert (trial.status, trial.reason) == ("ok", None)
    down, kill = trial.events
    assert (down.words, kill.words) == ("down north", "kill r-3")
    changes, wrong, fates = study.changes(trial.id), study.wrong(trial.id), study.fates(trial.id)
    for event in (down, kill):
        right_ns = event.right_ns
        assert right_ns is not None
        assert event.event_ns <= right_ns <= event.until_ns
        tables = of_kind(changes, event, "table")["time_ns"]
        assert tables.max() is not None
        # The change by which all was right is one of those that were seen.
        assert right_ns in tables.to_list()
        assert event.waited is not None
        assert event.waited.longest_ns <= event.waited.all_ns
    # Both ends lost their carrier, and their daemons gave the neighbour up.
    ends = of_kind(changes, down, "link").select("node", "about", "became").rows()
    assert sorted(ends) == [("r-1", "north", "down"), ("r-2", "north", "down")]
    assert set(of_kind(changes, down, "adjacency")["node"]) == {"r-1", "r-2"}
    # The numbers of wrong routes begin with the event and end at 0, when all is right.
    assert wrong["time_ns"].is_sorted()
    ended = wrong.filter(pl.col("time_ns") <= down.right_ns).group_by("node").last()
    assert set(ended["routes"]) == {0}
    assert (wrong.filter(pl.col("time_ns") < down.right_ns)["routes"] > 0).any()
    # Until the routes changed, packets over the link ended at its ends.
    holes = fates.filter(pl.col("begin_ns").is_between(down.event_ns, down.right_ns))
    assert {"r-1", "r-2"} & set(holes["nodes"])
    assert holes["end_ns"].null_count() == 0
    # A dead node is no black hole.
    assert "r-3" not in set(fates.filter(pl.col("begin_ns") >= kill.event_ns)["nodes"])


@pytest.mark.slow
def test_the_next_trial_begins_with_all_nodes_and_right_tables(
    delaylab: Run, tmp_path: Path, run_directory: Path
) -> None:
    events = "{at: 500ms, stop: r-3}, {at: 9s, kill: r-2, programs: [ospfd]}\nrepeat: 2"
    text, _, rest = events.partition("\n")
    (tmp_path / "s.yaml").write_text(RING.replace("TIMELINE", text) + rest + "\n")
    delaylab("run", "s.yaml", "--out", "out")
    study = store.read_study(tmp_path / "out")
    assert [trial.status for trial in study.trials] == ["ok", "ok"]
    for trial in study.trials:
        stop, kill = trial.events
        assert stop.right_ns is not None
        # A frozen router is given up when its hello packets have been missing for `dead`.
        assert 2.5e9 < stop.right_ns - stop.event_ns < 8e9
        assert kill.parts[0].failed is None
        before = study.wrong(trial.id).filter(pl.col("time_ns") < stop.parts[0].planned_ns)
        assert before.is_empty(), "a trial begins with right tables"


@pytest.mark.slow
def test_a_silent_link_is_found_by_hello_packets(
    delaylab: Run, tmp_path: Path, run_directory: Path
) -> None:
    study = ran(delaylab, tmp_path, "{at: 1s, silence: east}")
    (trial,) = study.trials
    (event,) = trial.events
    assert event.right_ns is not None
    assert of_kind(study.changes(trial.id), event, "link").is_empty()
    adjacencies = of_kind(study.changes(trial.id), event, "adjacency")["time_ns"]
    assert 2.5e9 < min(adjacencies.to_list()) - event.event_ns < 5e9
    holes = study.fates(trial.id).filter(pl.col("nodes").is_in(["r-2", "r-3"]))
    assert (holes["begin_ns"] == event.event_ns).any()


def test_costs_change_at_their_times_and_are_those_of_the_file_again_in_the_next_trial(
    delaylab: Run, tmp_path: Path, run_directory: Path
) -> None:
    """Agents tell the daemons by themselves; the right tables follow."""
    text = RING.replace("dead: 4s", "dead: 4s, retransmit: 1s") + "repeat: 2\n"
    events = "{at: 200ms, cost: {north: 10}}, {at: 2s, cost: {north: {r-1: 1}, east: 3}}"
    (tmp_path / "s.yaml").write_text(text.replace("TIMELINE", events))
    delaylab("run", "s.yaml", "--out", "out")
    study = store.read_study(tmp_path / "out")
    assert [trial.status for trial in study.trials] == ["ok", "ok"]
    for trial in study.trials:
        one, two = trial.events
        assert one.words == "cost north=10"
        assert two.words == "cost north:r-1=1, east=3"
        for event in (one, two):
            assert [part.failed for part in event.parts] == [None]
            assert event.late_ns >= 0
            assert event.right_ns is not None
            assert event.right_ns > event.event_ns, "another path was the least"
            assert of_kind(study.changes(trial.id), event, "table").height > 0
