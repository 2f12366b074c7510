"""Datasets are compared like with like, and a difference is found where it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from delaylab.spec.source import parse
from delaylab_study.analysis.compared.lines import ComparedLine
from delaylab_study.analysis.compared.many import compare_studies
from delaylab_study.analysis.compared.measured import USER
from delaylab_study.analysis.compared.two_sides import ComparedSides
from delaylab_study.dataset.store import Study, read_study
from tests import synthetic
from tests.synthetic import Condition, Delay, constant, lognormal

SEGMENT = ("reply", "sender.vif")


def compared(tmp_path: Path, before: list[Condition], after: list[Condition]) -> ComparedSides:
    places = [
        synthetic.write(tmp_path / name, trials)
        for name, trials in (("before", before), ("after", after))
    ]
    return compare_studies([read_study(place) for place in places]).compared[0]


def trials(seed: int, slow: Delay | None = None, **given: Any) -> list[Condition]:
    """Return a trial at rest and one under load; `slow` is the delay of `SEGMENT` under load."""
    delays = {SEGMENT: slow} if slow else {}
    return [
        Condition(load="rest", seed=seed, **given),
        Condition(load="cpu", seed=seed + 1, delays=delays, **given),
    ]


def shifted(random: Any, n: int) -> Any:
    return lognormal(5)(random, n) + 8


def place(line: ComparedLine) -> tuple[str, str, str]:
    part = line.part
    return line.pair.levels["load"], part.name if part.name == USER else part.end, part.leg


def test_a_shift_in_one_segment_is_found_there_and_in_the_rtt(tmp_path: Path) -> None:
    found = compared(tmp_path, trials(10), trials(20, shifted))
    medians = [line for line in found.seen if line.statistic == "median"]
    assert {place(line) for line in medians} == {
        ("cpu", USER, ""),
        ("cpu", "sender.vif", "reply"),
    }
    for line in medians:
        assert line.verdict == "slower"
        assert line.effect.interval[0] <= 8 <= line.effect.interval[1]
    assert found.lines[: len(found.seen)] == found.seen
    sizes = [abs(line.effect.value) for line in found.seen]
    assert sizes == sorted(sizes, reverse=True)


def test_the_other_way_round_it_is_faster(tmp_path: Path) -> None:
    found = compared(tmp_path, trials(20, shifted), trials(10))
    assert {line.verdict for line in found.seen if line.statistic == "median"} == {"faster"}


def test_two_datasets_of_one_truth_differ_in_about_one_line_of_a_hundred(
    tmp_path: Path,
) -> None:
    lines = seen = 0
    for seed in range(0, 400, 20):
        found = compared(tmp_path / str(seed), trials(seed), trials(seed + 10))
        lines, seen = lines + len(found.lines), seen + len(found.seen)
    assert lines >= 500
    assert seen <= 0.02 * lines


def test_a_difference_of_the_stated_size_is_seen(tmp_path: Path) -> None:
    quiet = compared(tmp_path / "quiet", trials(10), trials(20))
    (line,) = (
        line
        for line in quiet.lines
        if place(line) == ("cpu", "sender.vif", "reply") and line.statistic == "median"
    )
    assert not line.differs
    more = 2 * line.sees

    def slow(random: Any, n: int) -> Any:
        return lognormal(5)(random, n) + more

    found = compared(tmp_path / "slow", trials(10), trials(20, slow))
    assert ("cpu", "sender.vif", "reply") in {place(each) for each in found.seen}


def test_packets_that_the_sender_refused_were_not_lost(tmp_path: Path) -> None:
    some = range(40, 60)
    before = [Condition(load="rest", seed=1)]
    refused = [Condition(seed=2, refused=tuple(some))]
    found = compared(tmp_path / "refused", before, refused)
    shares = [line for line in found.lines if line.statistic == "share"]
    assert [(line.before, line.after) for line in shares] == [(0.0, 0.0)]
    assert shares[0].n == (200, 180)
    lost = [Condition(seed=2, lost_after=dict.fromkeys(some, ("request", "wire")))]
    found = compared(tmp_path / "lost", before, lost)
    shares = [line for line in found.lines if line.statistic == "share"]
    assert [(line.before, line.after) for line in shares] == [(0.0, 0.1)]


def test_unlike_levels_are_not_compared(tmp_path: Path) -> None:
    before = [Condition(load="rest", seed=1), Condition(load="cpu", seed=2)]
    slow = {SEGMENT: constant(500)}
    after = [Condition(load="rest", seed=3), Condition(load="network", seed=4, delays=slow)]
    found = compared(tmp_path, before, after)
    assert {line.pair.levels["load"] for line in found.lines} == {"rest"}
    assert found.unlike == [
        "netns, cpu, because only before has it",
        "netns, network, because only after has it",
    ]


def test_a_factor_that_only_one_has_is_said_and_never_pooled(tmp_path: Path) -> None:
    def far(seed: int, *levels: str) -> list[Condition]:
        return [
            Condition(seed=seed + n, factors={"load": "rest", "distance": level})
            for n, level in enumerate(levels)
        ]

    before = [Condition(seed=1, factors={"load": "rest"})]
    both = compared(tmp_path / "both", before, far(5, "near", "far"))
    assert both.lines == []
    assert both.unlike == [
        "factor distance (near, far), because only after has it",
        "rest, because after has several levels of a factor of its own",
    ]
    one = compared(tmp_path / "one", before, far(5, "near"))
    assert {tuple(line.pair.levels) for line in one.lines} == {("load",)}
    assert one.unlike == ["factor distance (near), because only after has it"]


def test_segments_that_only_one_has_are_named(tmp_path: Path) -> None:
    before = [Condition(seed=1)]
    after = [Condition(seed=2, absent={"sender.vif": "not recorded here"})]
    found = compared(tmp_path, before, after)
    ends = {line.part.end for line in found.lines}
    assert "sender.vif" not in ends
    assert any(
        "virtual interface (sending)" in text and text.endswith("because only before has it")
        for text in found.unlike
    )
    assert any(", because only after has it" in text for text in found.unlike)


def test_losses_are_compared(tmp_path: Path) -> None:
    lost = dict.fromkeys(range(0, 200, 8), ("request", "wire"))
    found = compared(tmp_path, [Condition(seed=1)], [Condition(seed=2, lost_after=lost)])
    first = found.seen[0]
    assert (first.verdict, first.part.name, first.unit) == ("more lost", "packets lost", "share")
    assert first.after == pytest.approx(25 / 200)
    assert first.before == 0


def test_repeats_that_differ_by_themselves_are_no_difference(tmp_path: Path) -> None:
    def repeats(seed: int, *medians: float) -> list[Condition]:
        return [
            Condition(seed=seed + n, repeat=n + 1, delays={SEGMENT: lognormal(median)})
            for n, median in enumerate(medians)
        ]

    alike = compared(tmp_path, repeats(1, 10, 14, 18), repeats(9, 12, 16, 20))
    assert [line for line in alike.seen if line.part.end == "sender.vif"] == []
    assert {line.pair.trials for line in alike.lines} == {(3, 3)}
    assert not alike.once


def test_doubts_of_either_side_are_named(tmp_path: Path) -> None:
    warnings = [{"kind": "stolen-time", "message": "as seen", "remedy": "run it again"}]
    found = compared(tmp_path, trials(10), trials(20, shifted, warnings=warnings))
    assert "stolen-time" not in [doubt.kind for doubt in found.doubts[0]]
    (doubt,) = (doubt for doubt in found.doubts[1] if doubt.kind == "stolen-time")
    assert (doubt.trials, doubt.of, doubt.undermines) == (2, 2, True)
    assert all("stolen-time (after)" in line.pair.doubts for line in found.lines)


def test_circumstances_that_are_no_levels_are_named(tmp_path: Path) -> None:
    found = compared(tmp_path, [Condition(seed=1)], [Condition(seed=2, interval_ns=1_000_000)])
    (interval,) = found.circumstances
    assert (interval.name, interval.before, interval.after) == (
        "interval, netns, rest",
        "5 ms",
        "1 ms",
    )


FILE = """\
study: mine
lab:
  lab: {lab}
  hosts: {{one: {{}}, far: {{uplink: {{rate: 1Gbit}}}}}}
  nodes:
    probe: {{kind: docker, host: one{probe}}}
    noisy: {{kind: docker, host: one{noisy}}}
    echo: {{host: far}}
  links: [{{join: [probe, noisy, echo], name: lan{link}}}]
factors:
  load: {{rest: [], cpu: [{{cpu: {workers}, on: noisy}}]}}
probe: {{from: probe, to: echo, count: 200, interval: 5ms{sent}}}
"""
SAME = {"lab": "mine", "probe": "", "noisy": "", "link": "", "workers": "4", "sent": ""}


def of_file(place: Path, **changed: str) -> Study:
    """A dataset of this study file, in which some parts are changed."""
    conditions = [
        Condition("docker", load, kind="docker", seed=seed, factors={"load": load})
        for seed, load in enumerate(("rest", "cpu"))
    ]
    text = FILE.format(**(SAME | changed))
    record = synthetic.study(conditions, []) | {"spec": parse(text, "mine.yaml").data}
    directory = synthetic.write(place, conditions)
    synthetic.write_study(directory, record)
    return read_study(directory)


def test_every_field_of_the_study_files_that_differs_is_named(tmp_path: Path) -> None:
    """CPUs, weights and loads were not: "no difference seen", of two labs that were unlike."""
    before = of_file(tmp_path / "a")
    after = of_file(
        tmp_path / "b",
        lab="other",
        probe=", cpus: [1]",
        noisy=", cpus: [0], cpu_weight: 10",
        link=", delay: 1ms",
        workers="2",
        sent=", realtime: false",
    )
    found = compare_studies([before, after]).compared[0].circumstances
    assert {(each.name, each.before, each.after) for each in found} == {
        ("nodes.probe.cpus", "not set", "1"),
        ("nodes.noisy.cpus", "not set", "0"),
        ("nodes.noisy.cpu_weight", "not set", "10"),
        ("links.lan.delay", "not set", "1ms"),
        ("probe.realtime", "true", "false"),
        ("load 1.cpu, cpu", "4", "2"),
    }


def test_a_field_that_says_its_default_is_no_difference(tmp_path: Path) -> None:
    before = of_file(tmp_path / "a")
    after = of_file(tmp_path / "b", probe=", reserved: false", sent=", realtime: true")
    assert compare_studies([before, after]).compared[0].circumstances == []
