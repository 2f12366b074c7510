"""Differences between levels are found block by block, with intervals that hold."""

from __future__ import annotations

import io
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from delaylab.errors import BadInput
from delaylab_study.analysis.analyse import groups
from delaylab_study.analysis.compared.blocks import Sample, mean_of, over_blocks, shift_of
from delaylab_study.analysis.compared.levels import Contrast, FactorLevels, levels_of
from delaylab_study.analysis.compared.many import compare_levels, compare_studies
from delaylab_study.analysis.compared.measured import USER
from delaylab_study.analysis.statistics.effects import Effect
from delaylab_study.charts.levels import factor_charts
from delaylab_study.dataset.store import Study, read_study
from delaylab_study.report.terminal import study_parts
from tests import synthetic
from tests.synthetic import Condition, Delay, lognormal

SEGMENT = ("reply", "sender.uplink")
KINDS = {"native": 0.0, "lxc": 8.0, "docker": 20.0}
"""Delay in µs that each kind adds to the user RTT (round trip)."""


def later(us: float) -> Delay:
    return lambda random, n: lognormal(5)(random, n) + us


def study(
    place: Path, drifts: tuple[float, ...], loads: tuple[str, ...] = ("rest",), **given: Any
) -> Study:
    """Return a dataset of three kinds; all trials of a block are slower by its drift, in µs."""
    conditions = [
        Condition(
            load=load,
            repeat=repeat,
            seed=1000 * repeat + 10 * kind + position,
            factors={"kind": name, "load": load},
            delays={SEGMENT: later(KINDS[name] + drift)},
            **given,
        )
        for repeat, drift in enumerate(drifts, start=1)
        for kind, name in enumerate(KINDS)
        for position, load in enumerate(loads)
    ]
    return read_study(synthetic.write(place, conditions))


def of(found: Study, factor: str = "kind") -> FactorLevels:
    (levels,) = (
        each
        for each in levels_of(found.record.factors, list(groups(found)))
        if each.factor == factor
    )
    return levels


def medians(levels: FactorLevels) -> Iterator[Contrast]:
    return (each for each in levels.contrasts if each.statistic == "median")


def test_each_level_is_compared_with_the_first_and_what_it_adds_is_in_the_interval(
    tmp_path: Path,
) -> None:
    levels = of(study(tmp_path, (0, 0, 0)))
    assert (levels.reference, levels.levels) == ("native", ("lxc", "docker"))
    for each in medians(levels):
        low, high = each.effect.interval
        assert low <= KINDS[each.level] <= high
        assert low > 0
        assert each.blocks == 3
        assert each.after - each.before == pytest.approx(each.effect.value)


def test_drift_from_block_to_block_is_in_both_trials_of_a_pair(tmp_path: Path) -> None:
    """Blocks whose delays differ by 200 µs tell a difference of 8 µs, since each has both kinds."""
    found = study(tmp_path, (0, 200, 70, 130))
    lxc = next(each for each in medians(of(found)) if each.level == "lxc")
    assert 0 < lxc.effect.interval[0] <= 8 <= lxc.effect.interval[1] < 16
    line = next(
        line
        for line in compare_levels(found, "kind", ["native", "lxc"], {}).compared[0].lines
        if (line.part.name, line.statistic) == (USER, "median")
    )
    assert line.verdict == "slower"


@pytest.mark.parametrize("drifts", [(0,), (0, 1)])
def test_too_few_blocks_are_not_paired(tmp_path: Path, drifts: tuple[float, ...]) -> None:
    found = list(medians(of(study(tmp_path, drifts))))
    assert {each.level for each in found} == {"lxc", "docker"}
    for each in found:
        assert each.blocks == 0
        assert isfinite(each.effect.interval[0])


def test_the_mean_is_over_the_scenarios_that_both_levels_have(tmp_path: Path) -> None:
    levels = of(study(tmp_path, (0, 50, 10), loads=("rest", "cpu")))
    assert [each.scenario for each in levels.of("lxc", "median")] == [
        {"load": "rest"},
        {"load": "cpu"},
    ]
    mean = next(each for each in levels.means if (each.level, each.statistic) == ("lxc", "median"))
    assert (mean.scenarios, mean.blocks) == (2, 3)
    each = [contrast.effect.value for contrast in levels.of("lxc", "median")]
    assert mean.effect.value == pytest.approx(np.mean(each))
    assert mean.effect.interval[0] <= 8 <= mean.effect.interval[1]


def test_a_level_that_shares_no_combination_with_the_first_is_named(tmp_path: Path) -> None:
    conditions = [
        Condition(factors={"kind": kind, "load": load}, seed=seed)
        for seed, (kind, load) in enumerate(
            (("native", "rest"), ("lxc", "rest"), ("docker", "cpu"))
        )
    ]
    levels = of(read_study(synthetic.write(tmp_path, conditions)))
    assert (levels.levels, levels.alone) == (("lxc",), ("docker",))


def test_a_factor_that_changes_nothing_has_an_interval_around_0(tmp_path: Path) -> None:
    levels = of(study(tmp_path, (0, 50, 10), loads=("rest", "cpu")), "load")
    (mean,) = (each for each in levels.means if each.statistic == "median")
    assert mean.effect.interval[0] <= 0 <= mean.effect.interval[1]


def test_paired_intervals_cover_the_truth_as_often_as_they_say() -> None:
    random = np.random.default_rng(4)
    missed = 0
    for _ in range(200):
        before, after = {}, {}
        for block in range(4):
            drift, own = 100 * random.random(), random.normal(0, 0.5, 2)
            before[block] = lognormal(9)(random, 200) + drift + own[0]
            after[block] = lognormal(9)(random, 200) + drift + own[1] + 3
        ours, theirs = (Sample(run, (0.5,), 0.95) for run in (before, after))
        low, high = shift_of(ours, theirs, 0, paired=True).effect.interval
        missed += not low <= 3 <= high
    # With a probability of 1 in 1000 it is more, if 1 interval in 20 misses.
    assert missed <= 21


def test_blocks_that_agree_by_chance_are_as_uncertain_as_their_packets() -> None:
    same = [Effect(5.0, (4.0, 6.0))] * 2
    assert over_blocks(same, 0.95) == mean_of(same)
    low, high = mean_of(same).interval
    assert (high - low) / 2 == pytest.approx(1 / np.sqrt(2))


def test_levels_of_a_dataset_are_compared_in_all_quantities(tmp_path: Path) -> None:
    found = compare_levels(study(tmp_path, (0, 30, 9, 4)), "kind", ["docker", "native", "lxc"], {})
    assert [side.name for side in found.sides] == ["kind=docker", "kind=native", "kind=lxc"]
    for compared, shift in zip(found.compared, (-20, -12), strict=True):
        seen = {
            (line.part.name == USER, line.statistic): line
            for line in compared.seen
            if line.statistic == "median"
        }
        assert seen.keys() == {(True, "median"), (False, "median")}
        for line in seen.values():
            assert line.verdict == "faster"
            assert line.effect.interval[0] <= shift <= line.effect.interval[1]
            assert line.pair.levels == {"load": "rest"}
        assert "kind" not in " ".join(compared.unlike)


def test_only_some_levels_of_other_factors_are_compared(tmp_path: Path) -> None:
    found = study(tmp_path, (0,), loads=("rest", "cpu"))
    (compared,) = compare_levels(found, "kind", ["native", "lxc"], {"load": {"cpu"}}).compared
    assert {line.pair.levels["load"] for line in compared.lines} == {"cpu"}


def test_several_datasets_are_each_compared_with_the_first(tmp_path: Path) -> None:
    places = [
        synthetic.write(tmp_path / name, [Condition(seed=seed, delays={SEGMENT: later(us)})])
        for seed, (name, us) in enumerate((("a", 0.0), ("b", 9.0), ("c", 30.0)))
    ]
    found = compare_studies([read_study(place) for place in places])
    names = [side.name for side in found.sides]
    assert names == [str(place) for place in places]
    for compared, shift in zip(found.compared, (9, 30), strict=True):
        assert compared.before.name == names[0]
        line = next(line for line in compared.seen if line.part.name == USER)
        assert line.effect.interval[0] <= shift <= line.effect.interval[1]


def test_a_factor_of_numbers_has_an_axis_of_them(tmp_path: Path) -> None:
    conditions = [
        Condition(factors={"delay": level, "load": load}, seed=seed, delays={SEGMENT: later(us)})
        for seed, (level, us) in enumerate((("10us", 10), ("1ms", 1000), ("100us", 100)))
        for load in ("rest", "cpu")
    ]
    found = read_study(synthetic.write(tmp_path, conditions))
    levels = of(found, "delay")
    assert levels.numbers is not None
    assert [*levels.numbers.values] == ["10us", "100us", "1ms"]
    assert of(found, "load").numbers is None
    names = [chart.name for chart in factor_charts(levels, list(groups(found)))]
    assert names == ["rtt-along-delay", "rtt-by-delay", "added-by-delay"]


@pytest.mark.parametrize(
    ("factor", "levels", "only", "said"),
    [
        ("node", ["native", "lxc"], {}, "no factor 'node'"),
        ("kind", ["native", "uml"], {}, "no level 'uml'"),
        ("kind", ["native"], {}, "two or more"),
        ("kind", ["native", "native"], {}, "two or more"),
        ("kind", ["native", "lxc"], {"load": {"disk"}}, "no level 'disk'"),
        ("kind", ["native", "lxc"], {"kind": {"lxc"}}, "--only kind"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    tmp_path: Path, factor: str, levels: list[str], only: dict[str, set[str]], said: str
) -> None:
    with pytest.raises(BadInput) as raised:
        compare_levels(study(tmp_path, (0,)), factor, levels, only)
    assert said in str(raised.value)


def test_a_level_without_finished_trials_is_named(tmp_path: Path) -> None:
    conditions = [
        Condition(factors={"kind": "native"}),
        Condition(factors={"kind": "lxc"}, skipped="no lxc here"),
    ]
    found = read_study(synthetic.write(tmp_path, conditions))
    with pytest.raises(BadInput) as raised:
        compare_levels(found, "kind", ["native", "lxc"], {})
    assert "no trial with kind=lxc has finished" in str(raised.value)
    assert levels_of(found.record.factors, list(groups(found))) == []


def test_long_trials_have_the_same_medians_in_levels_as_in_tables(tmp_path: Path) -> None:
    found = study(tmp_path, (0.0,), packets=20_500)
    ours = {group.factors["kind"]: group.rtt["app"].median.value for group in groups(found)}
    (contrast,) = (each for each in of(found).of("lxc", "median"))
    assert (contrast.before, contrast.after) == (ours["native"], ours["lxc"])


def test_cells_of_microseconds_and_of_milliseconds_have_no_mean(tmp_path: Path) -> None:
    """The cells stand in the terminal instead: a mean would be that of the slowest alone."""
    conditions = [
        Condition(
            factors={"kind": kind, "distance": name},
            seed=10 * row + column,
            delays={SEGMENT: later(far_us + KINDS[kind])},
        )
        for row, (name, far_us) in enumerate((("near", 0.0), ("far", 8000.0)))
        for column, kind in enumerate(("native", "lxc"))
    ]
    found = of(read_study(synthetic.write(tmp_path, conditions)))
    assert found.means == ()
    assert len(found.of("lxc", "median")) == 2
    printed = io.StringIO()
    console = Console(file=printed, width=120)
    for part in study_parts(tmp_path, 120):
        console.print(part)
    shown = printed.getvalue().partition("Levels of kind")[2].partition("Levels of")[0]
    assert "mean of all" not in shown
    assert "near" in shown
    assert "far" in shown
    assert "No mean for lxc" in " ".join(shown.split())
