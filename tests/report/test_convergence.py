"""Events in a report: the table, the chart of routers over time, and their JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml
from pydantic import ValidationError
from rich.console import Console

from delaylab_study import read
from delaylab_study.analysis.analyse import Analysed, analysed
from delaylab_study.analysis.claims.judge import judge
from delaylab_study.analysis.claims.own import claim_of
from delaylab_study.analysis.compared.many import compare_levels
from delaylab_study.analysis.convergence.times import median_of
from delaylab_study.charts.convergence import timeline_of_events
from delaylab_study.charts.event_times import times_along
from delaylab_study.dataset import store
from delaylab_study.dataset.records.tables import TABLES
from delaylab_study.report import html, show, terminal, written
from delaylab_study.report import value as v
from delaylab_study.report.sections import claims
from delaylab_study.report.sections.section import Report
from delaylab_study.study_file.claims import ClaimSpec
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


def with_hosts(
    folder: Path,
    hosts: pl.DataFrame,
    ahead_ns: dict[str, int],
    changes: Sequence[tuple[int, str, str, str, str]] = CHANGES,
) -> Analysed:
    """Return a study of one trial with the events above, with these samples of its machines."""
    more = {"events": EVENTS, "ahead_ns": ahead_ns}
    raw = unprobed.record(unprobed.Trial([], more=more), 0)
    condition = synthetic.Condition(factors={"nodes": "some"}, repeat=1)
    synthetic.write_study(
        folder, synthetic.study([condition], []) | {"spec": {"study": "synthetic"}}
    )
    rows: dict[str, list[Any]] = {"changes": [*changes], "wrong": WRONG, "fates": FATES}
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


def test_what_a_killed_router_loses_itself_is_no_detection(tmp_path: Path) -> None:
    """c's own daemon loses its adjacencies as it ends; b notices 40 ms after the kill."""
    own = (AT + 1002 * MS, "c", "adjacency", "ospfd", "-")
    others = (AT + 1041 * MS, "b", "adjacency", "ospfd", "-")
    for more, expected in (((own, others), pytest.approx(0.04)), ((own,), None)):
        folder = tmp_path / str(len(more))
        folder.mkdir()
        changes = sorted([*CHANGES, *more])
        kill = with_hosts(folder, synthetic.hosts(40), {}, changes).groups[0].events[1]
        assert kill.detected_s == expected


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
    for text in ("down north", "kill c", "300 ms", "– (0 of 1)"):
        assert text in console.export_text(clear=False)
        assert text in page
    assert "(1 of 1)" not in page, "it says so only if it was not so in all trials"
    assert "jobs of nodes" not in page


def timed(repeat: int, level: str, after_ms: int) -> unprobed.Trial:
    """A trial whose tables were right so long after its event."""
    event = {**EVENTS[0], "right_ns": AT + MS + after_ms * MS}
    levels = {"hello": level}
    return unprobed.Trial([], levels, repeat, {"events": [event]})


@pytest.fixture
def hellos(tmp_path: Path) -> Path:
    """A study of two intervals of hellos, three trials of each."""
    times = {"1s": (350, 360, 355), "5s": (910, 940, 925)}
    trials = [
        timed(repeat, level, ms)
        for level, each in times.items()
        for repeat, ms in enumerate(each, start=1)
    ]
    return unprobed.write(tmp_path / "hellos", trials)


def test_each_level_has_its_number_of_trials_median_and_interval(hellos: Path) -> None:
    rows = csv.DictReader(io.StringIO(show.table_csv(hellos, "events").decode()))
    slow, fast = sorted(rows, key=lambda row: row["trials"], reverse=True)
    assert (fast["n"], slow["n"]) == ("3", "3")
    assert (float(fast["right_s"]), float(slow["right_s"])) == pytest.approx((0.355, 0.925))
    assert 0.3 < float(fast["right_s_low"]) < 0.355 < float(fast["right_s_high"]) < 0.4
    assert (fast["right_n"], fast["outage_s"]) == ("3", "0.0"), "also where the cell says no more"


def test_each_event_of_each_trial_is_a_row_for_plots_of_ones_own(hellos: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(read(hellos).csv("events_of_each").decode())))
    assert [(row["factor.hello"], row["repeat"], row["event"]) for row in rows] == [
        (level, str(repeat), "down north") for level in ("1s", "5s") for repeat in (1, 2, 3)
    ]
    times = [float(row["converged_s"]) for row in rows]
    assert times == pytest.approx([0.35, 0.36, 0.355, 0.91, 0.94, 0.925])
    assert {(row["number"], row["until"], row["outage_s"]) for row in rows} == {
        ("1", "right", "0.0")
    }


@pytest.mark.parametrize(
    ("time_s", "ends", "text"),
    [
        (0.227, (0.179, 0.274), "227 ms [179, 274]"),
        (3.72, (2.9, 4.55), "3.72 s [2.90, 4.55]"),
        (0.072, (0.0, 0.0891), "72.0 ms [0, 89.1]"),
        (0.75, (0.0, 1.59), "750 ms [0 s, 1.59 s]"),
        (0.75, (-np.inf, np.inf), "750 ms"),
    ],
)
def test_a_time_and_its_interval_have_their_unit_once(
    time_s: float, ends: tuple[float, float], text: str
) -> None:
    assert written.seconds_between(v.Value("s", time_s, "s", ends)) == text


def test_the_interval_of_a_time_does_not_go_below_0() -> None:
    effect = median_of(np.array([0.02, 0.05, 0.3]))
    assert effect.interval[0] == 0.0
    assert effect.interval[1] > 0.3


def test_a_chart_has_the_times_along_the_factor(hellos: Path) -> None:
    found = analysed(hellos)
    (chart,) = times_along(found.study.record.factors, found.groups)
    assert chart.name == "time-along-hello"
    (rows,) = [rows for rows in chart.spec["datasets"].values() if rows]
    right = [(row["at"], row["s"]) for row in rows if row["time"] == "converged"]
    assert len(right) == 6
    assert len({at for at, _ in right}) == 2
    assert "down north" in chart.svg


def test_levels_of_a_convergence_study_are_compared(hellos: Path) -> None:
    found = compare_levels(store.read_study(hellos), "hello", ["1s", "5s"], {})
    lines = {line.part.name: line for line in found.compared[0].lines}
    converged = lines["all tables right after down north"]
    assert converged.verdict == "slower"
    assert converged.effect.value == pytest.approx(570_000, rel=0.01)


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("of: converged, group: {hello: 1s}, median: {at-most: 500ms}", "holds"),
        ("of: converged, group: {hello: 5s}, median: {at-most: 500ms}", "does not hold"),
        (
            "of: converged, group: {hello: 5s}, against: {hello: 1s}, mean: {more-than: +500ms}",
            "holds",
        ),
        ("of: detected, event: 2, median: {at-most: 1s}", "not testable here"),
    ],
)
def test_claims_are_about_times_after_events(hellos: Path, claim: str, verdict: str) -> None:
    spec = ClaimSpec.model_validate(yaml.safe_load(f"{{claim: fast, {claim}}}"))
    assert judge(claim_of(spec), analysed(hellos).groups).verdict == verdict


def test_a_machine_that_was_in_use_leaves_an_event_open_only_if_its_daemons_waited(
    tmp_path: Path,
) -> None:
    """The kernel counts their waits: 20 of 355 ms are too little to matter, 200 ms are not."""
    rest = {"kind": "not-at-rest", "message": "other work ran", "remedy": ""}
    for waited_ms, verdict in ((20, "holds"), (200, "open")):
        event = {
            **EVENTS[0],
            "right_ns": AT + 355 * MS,
            "waited": {"router": "a", "longest_ns": waited_ms * MS, "all_ns": waited_ms * MS},
        }
        more = {"events": [event], "warnings": [rest]}
        trials = [unprobed.Trial([], {"hello": "1s"}, repeat, more) for repeat in (1, 2, 3)]
        groups = analysed(unprobed.write(tmp_path / f"waits-{waited_ms}", trials)).groups
        slow, fast = (
            judge(claim_of(of_converged(limits)), groups)
            for limits in ("at-least: 300ms", "at-most: 500ms")
        )
        assert slow.verdict == verdict, slow.why
        assert fast.verdict == "holds", "routers that wait for nothing are faster still"
        assert (fast.unit, fast.is_difference) == ("µs", False)
        assert ("cpu-bound in 3 of 3 trials" in slow.why) == (verdict == "open")


def of_converged(limits: str) -> ClaimSpec:
    return ClaimSpec.model_validate(
        yaml.safe_load(f"{{claim: soon, of: converged, median: {{{limits}}}}}")
    )


def test_a_published_number_stands_next_to_what_was_measured(hellos: Path) -> None:
    spec = ClaimSpec.model_validate(
        yaml.safe_load(
            "{claim: fast, of: converged, group: {hello: 1s}, median: {at-most: 500ms}, "
            "published: {value: 400ms, source: 'Somebody 1999, table 2'}}"
        )
    )
    finding = judge(claim_of(spec), analysed(hellos).groups)
    assert finding.published == 400_000
    report = Report(store.read_study(hellos), analysed(hellos).groups, None, [spec])
    assert "Somebody 1999, table 2: 400 ms" in str(claims._row(finding))
    assert claims._json(finding)["published_in"] == "Somebody 1999, table 2"
    assert claims._judged(finding, report.claims[0]).published.startswith("Somebody 1999")


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("of: rtt.app, event: 1, median: {at-most: 1ms}", "only a claim of detected, converged"),
        ("of: outage, p99: {at-most: 1ms}", "a claim of outage has limits of median or mean"),
        (
            "of: rtt.app, median: {at-most: 1ms}, published: {value: 5%, source: them}",
            "`published` is in the unit of the limits",
        ),
        ("of: rtt.app, median: {at-most: 1ms}, published: {value: 5ms}", "source"),
    ],
)
def test_a_bad_claim_is_one_sentence(claim: str, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        ClaimSpec.model_validate(yaml.safe_load(f"{{claim: bad, {claim}}}"))
