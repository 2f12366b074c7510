"""A study of several machines: each is described, and its state is kept apart from the others'."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from delaylab.records.base import LOCAL_NAME
from delaylab_study.analysis.analyse import analysed
from delaylab_study.analysis.compared.circumstances import circumstances
from delaylab_study.analysis.doubts.machine_state import state_without_packets
from delaylab_study.dataset import store
from delaylab_study.dataset.intact import read_intact
from delaylab_study.dataset.records.trial import PhaseTime
from delaylab_study.dataset.sample_times import by_local_clock
from delaylab_study.report.html import write_report
from delaylab_study.report.show import as_json
from tests import synthetic
from tests.plain import plain
from tests.synthetic import START, Condition

BUSY = {LOCAL_NAME: 0.1, "far": 0.6}
MISSING = (9, 10)
"""Samples that the far machine's record lacks."""


def described(name: str) -> dict[str, Any]:
    known: dict[str, Any] = synthetic.study([], [])["machines"][LOCAL_NAME]
    return known | {"hostname": f"bench-{name}", "clock": f"realtime@{name}"}


def write(place: Path, sender_on: str = LOCAL_NAME) -> Path:
    condition = Condition(packets=100, at_rest=20)
    study = synthetic.study([condition], [])
    study["machines"] = {name: described(name) for name in BUSY}
    hosts = pl.concat(
        synthetic.hosts(20, busy=busy, missing=MISSING if name == "far" else ()).with_columns(
            pl.lit(name).alias("machine")
        )
        for name, busy in BUSY.items()
    )
    record = synthetic.trial(condition, 0)
    record["hosts"] = {"sut": sender_on, "target": "far"}
    synthetic.write_study(place, study)
    synthetic.write_trial(place, record, *synthetic.tables(condition), hosts)
    return place


@pytest.mark.parametrize("sender_on", [*BUSY])
def test_the_state_of_each_machine_is_its_own(tmp_path: Path, sender_on: str) -> None:
    (group,) = analysed(write(tmp_path, sender_on)).groups
    (other,) = {*BUSY} - {sender_on}
    states = {sender_on: group.machine.state, **group.machine.others}
    assert [*states] == [sender_on, other]
    for name, state in states.items():
        busy = {phase.phase: phase.busy for phase in state.phases}
        assert busy["load"] == pytest.approx(BUSY[name])
        assert state.missed == (len(MISSING) if name == "far" else 0)


def test_reports_name_every_machine(tmp_path: Path) -> None:
    place = write(tmp_path)
    shown = plain(as_json(place))
    assert shown["machine"]["hostname"] == "bench-local"
    assert {name: each["hostname"] for name, each in shown["machines"].items()} == {
        LOCAL_NAME: "bench-local",
        "far": "bench-far",
    }
    (trial,) = shown["trials"]
    assert [*trial["other_machines"]] == ["far"]
    said = [each["message"] for each in trial["warnings"]]
    assert any(each.startswith("machine far: ") for each in said), said
    write_report(store.read_study(place))
    page = (place / "report.html").read_text()
    assert all(name in page for name in ("local: bench-local", "far: bench-far", ", on far"))


def test_another_machine_is_a_difference_of_two_studies(tmp_path: Path) -> None:
    one = store.read_study(synthetic.write(tmp_path / "one", [Condition()]))
    two = store.read_study(write(tmp_path / "two"))
    found = {each.name: (each.before, each.after) for each in circumstances(one, two, [])}
    assert found == {
        "machine": ("bench", "bench-local"),
        **{
            f"{what} of far": ("not known", value)
            for what, value in {
                "machine": "bench-far",
                "CPU": "Example CPU 2.0 GHz",
                "cores": "2",
                "kernel": "6.1.0",
                "delaylab": "0.1.0",
                "agent": "0.1.0",
            }.items()
        },
    }


def test_datasets_of_earlier_versions_are_of_one_machine(tmp_path: Path) -> None:
    new = synthetic.write(tmp_path / "dataset", [Condition()])
    shown = plain(as_json(new))
    place = new / "study.json"
    record = json.loads(place.read_text())
    (record["machine"],) = record.pop("machines").values()
    place.write_text(json.dumps(record | {"format": 1}))
    trial = new / "trials" / Condition().id
    table = pl.read_parquet(trial / "hosts.parquet").drop("machine")
    table.write_parquet(trial / "hosts.parquet")
    old = json.loads((trial / "trial.json").read_text())
    del old["hosts"], old["tables"]
    (trial / "trial.json").write_text(json.dumps(old))
    study = read_intact(new)
    assert study.damaged == ()
    assert [*study.record.machines] == [LOCAL_NAME]
    assert set(study.hosts(Condition().id)["machine"]) == {LOCAL_NAME}
    assert plain(as_json(new)) == shown
    assert "machines" not in shown


def test_samples_by_another_clock_are_found_in_the_phases_of_a_trial_without_a_probe() -> None:
    """The far machine's clock is a day ahead, as `ahead_ns` of the trial says."""
    day_ns = 86_400 * 10**9
    hosts = synthetic.hosts(20, busy=BUSY["far"]).with_columns(
        pl.lit("far").alias("machine"), pl.col("time_ns") + day_ns
    )
    phases = [PhaseTime(phase="load", start_ns=START, end_ns=START + 10**10)]

    def samples(ahead_ns: dict[str, int]) -> int:
        (phase,) = state_without_packets([(by_local_clock(hosts, ahead_ns), phases)]).phases
        return phase.samples

    assert samples({"far": day_ns}) >= 19
    assert samples({}) == 0
