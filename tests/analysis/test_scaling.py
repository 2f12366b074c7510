"""Law of run times: found where it holds, refused where it does not, intervals that cover."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from delaylab_study.analysis.analyse import groups
from delaylab_study.analysis.scaling.law import FEWEST, POOR, Scaling, scaling
from delaylab_study.analysis.scaling.series import PER_GBIT, WHOLE, ScaledWork, scaled_work
from delaylab_study.analysis.statistics.effects import Effect
from delaylab_study.analysis.statistics.runs import Floats
from delaylab_study.dataset.store import read_study
from tests import unprobed
from tests.unprobed import Trial, job

SETS, BLOCKS, NOISE = 2000, 5, 0.02
NODES = (1, 2, 4, 8)
Truth = Callable[[Floats], Floats]
QUOTA = 0.25
TRUE: dict[str, Truth] = {
    "one CPU": lambda n: 1.5 * n,
    "one CPU, and something that nodes do side by side": lambda n: 0.7 + 1.5 * n,
    "two CPUs": lambda n: 1.5 * np.maximum(1, n / 2),
    "three CPUs, which no number of nodes fills": lambda n: 1.5 * np.maximum(1, n / 3),
    "more CPUs than nodes": lambda n: 1.5 + 0 * n,
    # A quota that stands for a slower machine: each node has a quarter of the one CPU.
    "a quota": lambda n: 1.5 / QUOTA * np.maximum(1, n * QUOTA),
}
WRONG: dict[str, Truth] = {
    "every node hinders every other": lambda n: 0.2 * n**2,
    "it doubles with each node": lambda n: 2.0 ** (n / 2),
    "nodes help each other": lambda n: 4 / n,
    "a step in the middle": lambda n: np.where(n == 4, 3.0, 1.0),
}


def drawn(truth: Truth, seed: int, blocks: int = BLOCKS, noise: float = NOISE) -> Scaling:
    """The law of trials whose times vary around a true law by `noise`, in relation to it."""
    random = np.random.default_rng([seed, 18])
    times = truth(np.array(NODES, dtype=float)) * (1 + noise * random.normal(size=(blocks, 4)))
    return scaling(NODES, times)


@pytest.mark.parametrize("name", TRUE)
def test_intervals_cover_a_known_law(name: str) -> None:
    truth = TRUE[name]
    found = [drawn(truth, seed) for seed in range(SETS)]
    told = [each for each in found if not each.refused]
    assert len(told) > 0.99 * SETS
    for predicted, true_s in (
        ([each.alone_s for each in told], float(truth(np.array([1.0]))[0])),
        ([each.divided_s for each in told], float(truth(np.array([8.0]))[0]) / 8),
    ):
        inside = [_covers(each, true_s) for each in predicted]
        assert 0.93 <= np.mean(inside) <= 0.97, np.mean(inside)


def _covers(found: Effect | None, true_s: float) -> bool:
    assert found is not None
    return found.interval[0] <= true_s <= found.interval[1]


@pytest.mark.parametrize("name", WRONG)
def test_another_law_is_refused(name: str) -> None:
    found = [drawn(WRONG[name], seed) for seed in range(200)]
    assert all(each.refused.startswith("poor fit") for each in found)
    assert all(each.alone_s is None and each.divided_s is None for each in found)
    assert all(max(map(abs, each.residuals)) > POOR for each in found)


def test_a_quota_reads_as_the_cpus_that_it_leaves_room_for() -> None:
    found = drawn(TRUE["a quota"], 1)
    assert found.law is not None
    assert found.law.name == "cpus"
    assert found.law.cpus == pytest.approx(1 / QUOTA, rel=3 * NOISE)


def test_too_little_is_refused() -> None:
    two = scaling((1, 2), np.array([[1.0, 2.0], [1.0, 2.1]]))
    assert (two.law, two.residuals) == (None, [])
    assert str(FEWEST) in two.refused
    once = drawn(TRUE["one CPU"], 1, blocks=1)
    assert once.law is not None
    assert "1 block" in once.refused
    assert once.alone_s is None


def test_three_times_are_too_few_to_see_a_corner_in() -> None:
    """They are refused, and not fitted: with three, the law of CPUs is nearly free."""
    two_cpus = np.array([[1.0, 1.0, 2.0], [1.01, 1.0, 2.0]])
    found = scaling((1, 2, 4), two_cpus)
    assert found.refused.startswith("poor fit")
    assert "the law of CPUs needs 4 numbers of nodes" in found.refused
    with_eight = scaling((1, 2, 4, 8), np.column_stack([two_cpus, [4.0, 4.0]]))
    assert not with_eight.refused
    assert with_eight.law is not None
    assert with_eight.law.cpus == pytest.approx(2, rel=0.01)


def test_nothing_is_told_of_one_node_where_one_was_not_measured() -> None:
    nodes = np.array([2.0, 4.0, 8.0])
    found = scaling((2, 4, 8), np.array([1.5 * nodes, 1.52 * nodes]))
    assert not found.refused
    assert found.alone_s is None
    assert found.divided_s is not None


positive = st.floats(0.01, 1000)


@given(fixed=st.one_of(st.just(0.0), positive), each=positive)
def test_a_line_without_noise_is_found(fixed: float, each: float) -> None:
    nodes = np.array([1.0, 2.0, 3.0, 5.0])
    found = scaling((1, 2, 3, 5), np.array([fixed + each * nodes] * 2))
    assert max(map(abs, found.residuals)) < 1e-6
    assert found.divided_s is not None
    assert found.divided_s.value == pytest.approx((fixed + 5 * each) / 5)


@given(alone=positive, cpus=st.floats(1, 16))
def test_the_law_of_cpus_without_noise_is_found(alone: float, cpus: float) -> None:
    nodes = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    found = scaling((1, 2, 4, 8, 16, 32), np.array([alone * np.maximum(1, nodes / cpus)] * 2))
    assert max(map(abs, found.residuals)) < 1e-6
    assert found.alone_s is not None
    assert found.alone_s.value == pytest.approx(alone)


times = st.lists(st.lists(positive, min_size=4, max_size=4), min_size=2, max_size=5)


@given(times=times, factor=st.floats(0.001, 1000), random=st.randoms())
def test_neither_the_unit_nor_the_order_of_blocks_matters(
    times: list[list[float]], factor: float, random: Random
) -> None:
    one = scaling(NODES, np.array(times))
    random.shuffle(times)
    other = scaling(NODES, np.array(times) * factor)
    assert one.residuals == pytest.approx(other.residuals, abs=1e-6)
    assert bool(one.refused) == bool(other.refused) or _near_the_limit(one)
    if one.alone_s is not None and other.alone_s is not None:
        assert other.alone_s.value == pytest.approx(factor * one.alone_s.value, rel=1e-6)


def _near_the_limit(found: Scaling) -> bool:
    return math.isclose(max(map(abs, found.residuals)), POOR, rel_tol=1e-6)


@given(times=times)
def test_a_law_never_falls_and_is_never_negative(times: list[list[float]]) -> None:
    found = scaling(NODES, np.array(times))
    assert found.law is not None
    by_law = found.law.at(np.linspace(1, 20, 77))
    assert (by_law >= 0).all()
    assert (np.diff(by_law) >= -1e-9 * by_law.max()).all()
    if found.alone_s is not None:
        low, high = found.alone_s.interval
        assert low <= found.alone_s.value <= high


def study(place: Path, trials: list[Trial], **spec: object) -> list[ScaledWork]:
    """The series of a study of these trials."""
    read = read_study(unprobed.write(place, trials, dict(spec)))
    return scaled_work(list(groups(read)), read.record)


def of_nodes(count: int, repeat: int, **levels: str) -> Trial:
    """A trial in which so many nodes take turns on one CPU; the last one is done last."""
    jobs = [job(f"n-{at}", (count - 0.1 * (count - at)) * 1.0) for at in range(1, count + 1)]
    words = {1: "one", 2: "some", 4: "many"}
    return Trial(jobs, {"crowd": words[count], **levels}, repeat)


def test_the_number_of_nodes_is_read_from_the_trials(tmp_path: Path) -> None:
    """Levels have names without numbers; the other factor makes a series of each of its levels."""
    trials = [
        of_nodes(count, repeat, kind=kind)
        for repeat in (1, 2)
        for kind in ("this", "that")
        for count in (4, 1, 2)
    ]
    found = study(tmp_path, trials)
    assert [(each.factor, each.levels) for each in found] == [
        ("crowd", {"kind": "this"}),
        ("crowd", {"kind": "that"}),
    ]
    assert {each.of for each in found} == {WHOLE}
    for each in found:
        assert each.scaling.nodes == (1, 2, 4)
        assert each.scaling.times_s == pytest.approx([1, 2, 4])
        assert not each.scaling.refused


def test_a_factor_that_changes_no_number_of_nodes_is_none(tmp_path: Path) -> None:
    trials = [Trial([job("a", s)], {"kind": kind}) for kind, s in (("this", 1), ("that", 2))]
    assert study(tmp_path, trials) == []


def test_nodes_of_another_kind_are_no_more_nodes(tmp_path: Path) -> None:
    trials = [of_nodes(count, repeat) for repeat in (1, 2) for count in (1, 2, 4)]
    for trial in trials[2::3]:
        trial.jobs = [*trial.jobs[:3], {**trial.jobs[3], "kind": "qemu"}]
    assert study(tmp_path, trials) == []


def test_a_factor_that_changes_the_amount_is_left_out(tmp_path: Path) -> None:
    """Where each node has less to do, times say nothing of nodes that share a machine."""
    trials = [of_nodes(count, repeat) for repeat in (1, 2) for count in (1, 2, 4)]
    levels = {name: {"work.count.cpu": 1} for name in ("one", "some", "many")}
    assert study(tmp_path / "less", trials, factors={"crowd": levels}) == []
    at_scale = {"quick": {"factors.crowd.many": {"work.count.cpu": 1}}}
    assert study(tmp_path / "scaled", trials, scales=at_scale) == []
    alike = {name: {"nodes.n.count": 1, "work.count.on": "n"} for name in levels}
    assert len(study(tmp_path / "alike", trials, factors={"crowd": alike})) == 1


def test_a_block_with_a_node_that_failed_is_left_out(tmp_path: Path) -> None:
    trials = [of_nodes(count, repeat) for repeat in (1, 2, 3) for count in (1, 2, 4)]
    dead = {**job("n-2", 1), "rate": None, "failed": "it died"}
    trials[4] = Trial([job("n-1", 9), dead], trials[4].levels, 2)
    (found,) = study(tmp_path, trials)
    assert (len(found.scaling.blocks_s), found.left_out) == (2, 3)
    assert found.scaling.times_s == pytest.approx([1, 2, 4])


def test_streams_are_compared_by_their_rate(tmp_path: Path) -> None:
    """A stream lasts as long as it was asked to; what it takes for a Gbit is what grows."""
    trials = [
        Trial(
            [job(f"n-{at}", 10, unit="bit/s", rate=2e9 / count) for at in range(count)],
            {"crowd": str(count)},
            repeat,
        )
        for repeat in (1, 2)
        for count in (1, 2, 4)
    ]
    (found,) = study(tmp_path, trials)
    assert found.of == PER_GBIT
    assert found.scaling.times_s == pytest.approx([0.5, 1, 2])


def test_quotas_are_told(tmp_path: Path) -> None:
    trials = [
        Trial([job(f"n-{at}", 4, quota=0.25) for at in range(count)], {"crowd": str(count)}, repeat)
        for repeat in (1, 2)
        for count in (1, 2, 4)
    ]
    (found,) = study(tmp_path, trials)
    assert found.quotas == (0.25,)
