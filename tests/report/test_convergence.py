"""Events in a report: the table, the chart of routers over time, and their JSON."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console

from delaylab_study.analysis.analyse import Analysed, analysed
from delaylab_study.charts.convergence import timeline_of_events
from delaylab_study.dataset import store
from delaylab_study.dataset.records.tables import TABLES
from delaylab_study.report import html, show, terminal
from delaylab_study.report.sections.section import Report
from tests import synthetic, unprobed

MS = 1_000_000
AT = synthetic.START + unprobed.S
DEAD = "198.18.0.3"
DAY_NS = 86_400 * unprobed.S


def part(did: str, name: str, at_ns: int) -> dict[str, Any]:
    return {
        "did": did,
        "names": [name],
        "planned_ns": at_ns,
        "began_ns": at_ns + MS,
        "done_ns": at_ns + 2 * MS,
    }


EVENTS = [
    {
        "parts": [part("down", "north", AT)],
        "event_ns": AT + MS,
        "until_ns": AT + 1000 * MS,
        "right_ns": AT + 301 * MS,
        "waited": {"router": "a", "longest_ns": 20 * MS, "all_ns": 30 * MS},
    },
    {
        "parts": [part("kill", "c", AT + 1000 * MS)],
        "event_ns": AT + 1001 * MS,
        "until_ns": AT + 2000 * MS,
        "waited": {"router": "b", "longest_ns": 20 * MS, "all_ns": 30 * MS},
    },
]
CHANGES = [
    (AT + 2 * MS, "a", "link", "north", "down"),
    (AT + 11 * MS, "b", "adjacency", "ospfd", "-"),
    (AT + 101 * MS, "a", "table", "198.18.0.0/31", "198.19.0.1@south"),
    (AT + 301 * MS, "b", "table", "198.18.0.0/31", "gone"),
    (AT + 1200 * MS, "a", "table", "198.18.0.3/32", "gone"),
]
WRONG = [
    (AT, "a", 1),
    (AT, "b", 2),
    (AT + 101 * MS, "a", 0),
    (AT + 301 * MS, "b", 0),
    (AT + 1000 * MS, "b", 1),
]
FATES = [
    (AT + 2 * MS, AT + 101 * MS, "black-hole", DEAD, "a", True),
    (AT + 101 * MS, AT + 151 * MS, "loop", DEAD, "a,b", True),
    (AT + 900 * MS, AT + 1300 * MS, "black-hole", DEAD, "b", True),
]


@pytest.fixture
def found(tmp_path: Path) -> Analysed:
    return with_hosts(tmp_path, synthetic.hosts(40), {})


def with_hosts(folder: Path, hosts: pl.DataFrame, ahead_ns: dict[str, int]) -> Analysed:
    """Return a study of one trial with the events above, with these samples of its machines."""
    more = {"events": EVENTS, "ahead_ns": ahead_ns}
    raw = unprobed.record(unprobed.Trial([], more=more), 0)
    condition = synthetic.Condition(factors={"nodes": "some"}, repeat=1)
    synthetic.write_study(
        folder, synthetic.study([condition], []) | {"spec": {"study": "synthetic"}}
    )
    rows: dict[str, list[Any]] = {"changes": CHANGES, "wrong": WRONG, "fates": FATES}
    tables = {
        name: pl.DataFrame(given, schema=dict(TABLES[name]), orient="row")
        for name, given in rows.items()
    }
    store.write_trial(folder, store.trial_record(raw), {"hosts": hosts, **tables})
    return analysed(folder)


def test_the_machine_that_lost_most_time_to_its_hypervisor_counts_for_an_event(
    tmp_path: Path,
) -> None:
    """The far machine's clock is a day ahead, as `ahead_ns` of the trial says."""
    here, far = synthetic.hosts(40, steal=0.01), synthetic.hosts(40, steal=0.08)
    far = far.with_columns(pl.lit("far").alias("machine"), pl.col("time_ns") + DAY_NS)
    (tmp_path / "both").mkdir()
    found = with_hosts(tmp_path / "both", pl.concat([here, far]), {"far": DAY_NS})
    down = found.groups[0].events[0]
    assert down.stolen == pytest.approx(0.08)
    # With 20 of 300 ms, these are more than a tenth.
    assert down.is_cpu_bound
    (tmp_path / "here").mkdir()
    alone = with_hosts(tmp_path / "here", here, {}).groups[0].events[0]
    assert alone.stolen == pytest.approx(0.01)
    assert not alone.is_cpu_bound


def test_an_event_has_its_times_its_holes_and_its_verdict(found: Analysed) -> None:
    down, kill = found.groups[0].events
    assert (down.detected_s, down.last_change_s, down.right_s) == (0.01, 0.3, 0.3)
    assert down.converged_s == pytest.approx(0.29)
    assert [len(down.holes), len(down.loops)] == [2, 1]
    (hole,) = kill.holes
    assert kill.after_s(hole.begin_ns) == pytest.approx(-0.101), "it began with the event before"
    assert kill.after_s(hole.end_ns) == pytest.approx(0.299)
    assert down.effect.routers.keys() == {"a", "b"}
    # 20 of 300 ms are less than a tenth.
    assert down.held_up == pytest.approx(20 / 300, abs=0.001)
    assert not down.is_cpu_bound
    assert (kill.detected_s, kill.right_s, kill.held_up) == (None, None, None)
    assert kill.record.late_ns == MS


def test_routers_are_wrong_looping_or_right_over_time(found: Analysed) -> None:
    (trial,) = found.groups[0].convergence
    states = {
        (each.router, each.state, round(each.begin_s, 3), round(each.end_s, 3))
        for each in trial.states
    }
    assert states == {
        ("a", "wrong", 0.0, 0.1),
        ("b", "wrong", 0.0, 0.3),
        ("b", "wrong", 0.999, 1.999),
        ("a", "looping", 0.1, 0.15),
        ("b", "looping", 0.1, 0.15),
    }


def test_the_chart_draws_each_event_with_the_nodes_that_do_not_run(found: Analysed) -> None:
    chart = timeline_of_events(found.groups)
    assert chart is not None
    for text in ("down north", "kill c", "not running", "looping"):
        assert text in chart.svg


def test_terminal_json_and_page_tell_the_same(found: Analysed) -> None:
    report = Report(found.study, found.groups)
    page = html.render(report)
    said: Any = show.as_json(found)
    down, kill = said["trials"][0]["events"]
    assert (down["detected_s"], down["right_s"], down["cpu_bound"]) == (0.01, 0.3, False)
    assert down["loops"][0]["nodes"] == ["a", "b"]
    assert kill["right_s"] is None
    console = Console(width=160, record=True, file=io.StringIO())
    for each in terminal.study_parts(found, width=160):
        console.print(each)
    for text in ("down north", "kill c", "300 ms (1 of 1)", "– (0 of 1)"):
        assert text in console.export_text(clear=False)
        assert text in page
    assert "jobs of nodes" not in page
