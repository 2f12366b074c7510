"""What links did is in every form of the report; of links that there are not, none speaks."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from delaylab_study.report.html import write_report
from delaylab_study.report.show import as_json
from delaylab_study.verbs.datasets import show
from tests import synthetic
from tests.plain import plain as as_script
from tests.synthetic import Condition, constant

DELAY_US = 5_000


def engine(host: str, node: str, **changes: Any) -> dict[str, Any]:
    direction = {
        **{"link": "lan", "node": node, "nodes": [node], "port": f"vif-{node}"},
        "asked": {"delay_ns": DELAY_US * 1000, "loss": {"model": "independent", "share": 0.01}},
        **{"in": {"frames": 900, "bytes": 90_000}, "out": {"frames": 890, "bytes": 89_000}},
        **{"dropped": {"loss": 10}, "late": {"count": 890, "p50_ns": 3e3, "p99_ns": 2e4}},
    }
    return {
        "host": host,
        "state": "running",
        "realtime": True,
        "directions": [direction],
        **changes,
    }


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    delays = {("request", "sender.uplink"): constant(DELAY_US + 4)}
    still = {"pauses": {"count": 3, "longest_ns": 20_000_000}}
    still["floor"] = {"watched_ns": 10**9, "held_up_ns": 25_000_000, "p99_ns": 16_000}
    conditions = [
        Condition("netns", "rest", delays=delays, links=[engine("sut", "probe")]),
        Condition("netns", "cpu", delays=delays, links=[engine("sut", "probe", **still)], seed=1),
    ]
    return synthetic.write(tmp_path_factory.mktemp("run"), conditions, [])


def printed(place: Path) -> str:
    console = Console(file=io.StringIO(), width=120)
    show(console, place)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_terminal_shows_links_with_their_verdicts(place: Path) -> None:
    text = printed(place)
    assert "delay=5ms loss=1%" in text
    assert "1 of 2 directions kept their conditions." in text
    worst = "CPU wake-up latency p99 16.0 µs; preempted 2.5 % of the time"
    assert f"Link engines, in the worst trial: {worst}." in " ".join(text.split())
    assert "3.00 µs / 20.0 µs" in text
    assert "+4.00 µs" in text
    assert "loss 1.11 % [0.534 %, 2.03 %]" in text
    assert "link-not-held" in text
    assert "→ link with conditions" in text


def test_the_page_shows_links_with_their_verdicts(place: Path) -> None:
    page = write_report(place).read_text(encoding="utf-8")
    assert "<h2>Links: configured and achieved</h2>" in page
    assert "the link engine of host sut paused 3 times, for 20.0 ms at most" in page


def test_json_holds_both_witnesses(place: Path) -> None:
    (link,) = as_script(as_json(place))["trials"][0]["links"]
    assert link["held"]
    assert link["from"] == ["probe"]
    assert link["probe_us"]["error"]["median"] == pytest.approx(4, abs=0.01)
    assert link["late_ns"]["p99_ns"] == 20_000
    assert link["shares"]["loss"]["asked"] == 0.01


def test_a_study_without_conditions_speaks_of_none(tmp_path: Path) -> None:
    plain = synthetic.write(tmp_path, [Condition("netns", "rest")], [])
    assert "Links with conditions" not in printed(plain)
    assert 'id="links"' not in write_report(plain).read_text(encoding="utf-8")
    assert as_script(as_json(plain))["trials"][0]["links"] == []


def test_the_network_between_machines_is_in_every_form(tmp_path: Path) -> None:
    delays = {("request", "sender.uplink"): constant(DELAY_US + 4)}
    between = {"machine": "local", "other": "m1", "hosts": ["sut", "other"], "links": ["lan"]}
    trips = {"least_rtt_ns": 6_000_000, "p1_rtt_ns": 6_100_000, "p99_rtt_ns": 6_900_000}
    measured = {**between, **trips, "sent": 2000, "lost": 60}
    lost = Condition(delays=delays, links=[engine("sut", "probe")], underlays=[measured])
    study = synthetic.write(tmp_path, [lost], [])
    text = " ".join(printed(study).split())
    said = "round trip 6.00 ms at least, p99 6.90 ms; 60 of 2000 probes lost"
    assert "Network between machines local and m1, " in text
    assert said in text
    assert said in write_report(study).read_text(encoding="utf-8")
    (link,) = as_script(as_json(study))["trials"][0]["links"]
    (why,) = link["why_not"]
    assert "machines local and m1 during the trial lost 60 of 2000 probes" in why
    assert link["underlay"]["subtracted"] is None
    (during,) = link["underlay"]["during"]
    assert during["p99_rtt_ns"] == 6_900_000


def test_a_reason_that_many_trials_share_is_one_line(tmp_path: Path) -> None:
    trials = [
        Condition(
            "netns",
            f"level{number}",
            packets=40,
            seed=number,
            links=[engine("sut", "probe", pauses={"count": 2, "longest_ns": 10**6 * number})],
        )
        for number in range(3, 9)
    ]
    console = Console(file=io.StringIO(), width=200)
    show(console, synthetic.write(tmp_path, trials))
    assert isinstance(console.file, io.StringIO)
    said = [line for line in console.file.getvalue().splitlines() if "paused" in line]
    (line,) = [line for line in said if line.startswith("not held")]
    assert line.startswith("not held, in 6 combinations of levels, such as netns, level3:")
    assert line.rstrip().endswith("or alike")
