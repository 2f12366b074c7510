"""The drawing of a claim's scenarios: what is larger lies further right, on one axis for all."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from delaylab_study.analysis.claims.finding import JudgedCriterion, Scenario
from delaylab_study.report.forest import MOST_ROWS, WIDTH, forest

NUMBERS = st.floats(-1e6, 1e6).map(lambda value: round(value, 3))


def scenario(
    name: str, effect: float, published: float | None = None, half: float = 1.0
) -> Scenario:
    return Scenario(
        name=name,
        effect=effect,
        interval=(effect - half, effect + half),
        published=published,
        stand=True,
        words="",
        aside=False,
    )


def criterion(
    scenarios: list[Scenario], unit: str = "µs", bounds: tuple[float, float] = (0.0, math.inf)
) -> JudgedCriterion:
    return JudgedCriterion(
        quantity="RTT <less> wire",
        unit=unit,
        rule="above 0",
        bounds=bounds,
        stand=True,
        deciding=scenarios[0],
        scenarios=tuple(scenarios),
    )


def dots(svg: str) -> list[float]:
    return [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', svg)]


def diamonds(svg: str) -> list[float]:
    return [float(x) for x in re.findall(r'class="published" d="M([\d.]+)', svg)]


def numbers(pattern: str, text: str) -> list[float]:
    """The groups of the first match."""
    found = re.search(pattern, text)
    assert found is not None
    return [float(part) for part in found.groups()]


PAIRS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=8)


@given(PAIRS, st.sampled_from(["µs", "share"]))
def test_dots_and_diamonds_lie_in_the_order_of_their_values(
    values: list[tuple[float, float]], unit: str
) -> None:
    rows = [scenario(str(n), ours, paper) for n, (ours, paper) in enumerate(values)]
    svg = forest(criterion(rows, unit))
    ElementTree.fromstring(svg)
    known = [ours for ours, _ in values] + [paper for _, paper in values]
    by_value = [x for _, x in sorted(zip(known, [*dots(svg), *diamonds(svg)], strict=True))]
    assert by_value == sorted(by_value)
    assert all(0 < x < WIDTH for x in by_value)


def test_equal_values_here_and_in_the_paper_have_one_place() -> None:
    svg = forest(criterion([scenario("a", 120.0, 120.0), scenario("b", 5000.0, 80.0)]))
    assert dots(svg)[0] == diamonds(svg)[0]
    assert dots(svg)[1] > diamonds(svg)[1]


def test_the_shaded_part_is_where_the_rule_holds() -> None:
    svg = forest(criterion([scenario("a", 0.9, half=0.01)], "share", (0.8, math.inf)))
    left, width = numbers(r'class="kept" x="([\d.]+)".*?width="([\d.]+)"', svg)
    (dot,) = dots(svg)
    assert left < dot < left + width
    svg = forest(criterion([scenario("a", 0.5, half=0.01)], "share", (0.8, math.inf)))
    (left,) = numbers(r'class="kept" x="([\d.]+)"', svg)
    assert dots(svg)[0] < left


def test_names_are_escaped_and_many_scenarios_are_cut() -> None:
    rows = [scenario("<b>", float(n)) for n in range(MOST_ROWS + 5)]
    svg = forest(criterion(rows))
    assert len(dots(svg)) == MOST_ROWS
    assert "<b>" not in svg
    assert "&lt;less&gt;" in svg


def intervals(svg: str) -> list[tuple[float, float]]:
    """The ends of the lines of intervals, in px."""
    lines = re.findall(r'<line x1="([\d.]+)" x2="([\d.]+)" y1', svg)
    return [(float(left), float(right)) for left, right in lines]


def arrows(svg: str) -> list[tuple[float, bool]]:
    """The tips of the arrows in px, each with whether it points to the right."""
    found = re.findall(r'class="further" d="M([\d.]+) [\d.]+l(-?)7', svg)
    return [(float(tip), sign == "-") for tip, sign in found]


def of_interval(low: float, high: float, effect: float = 5.0, name: str = "a") -> Scenario:
    return Scenario(
        name=name,
        effect=effect,
        interval=(low, high),
        published=None,
        stand=None,
        words="",
        aside=False,
    )


def test_a_scenario_without_an_interval_is_a_ring_and_no_bar() -> None:
    svg = forest(criterion([of_interval(-math.inf, math.inf)]))
    ElementTree.fromstring(svg)
    assert intervals(svg) == []
    assert svg.count('<circle class="alone"') == 1
    assert ">interval unknown</text>" in svg
    assert "inf" not in svg


def test_an_interval_that_reaches_0_is_drawn_to_0_or_below() -> None:
    """Values over four decades; on a logarithmic axis the first interval would end above 0."""
    rows = [of_interval(-40.0, 90.0, 25.0), of_interval(49_000.0, 51_000.0, 50_000.0, "b")]
    svg = forest(criterion(rows, bounds=(-math.inf, 20.0)))
    ticks = re.findall(r'<text x="([\d.]+)"[^>]*text-anchor="middle">([^<]+)<', svg)
    (zero,) = [float(x) for x, text in ticks if text == "0"]
    assert intervals(svg)[0][0] < zero


def test_positive_values_over_decades_keep_a_logarithmic_axis() -> None:
    rows = [of_interval(20.0, 40.0, 30.0), of_interval(49_000.0, 51_000.0, 50_000.0, "b")]
    svg = forest(criterion(rows, bounds=(-math.inf, 100.0)))
    (axis,) = numbers(r'class="axis" x1="([\d.]+)"', svg)
    first, second = dots(svg)
    assert first - axis > 0.1 * (second - axis)


def test_an_interval_beyond_the_axis_ends_in_an_arrow() -> None:
    near, far = of_interval(90.0, 110.0, 100.0), of_interval(-9000.0, 9000.0, 120.0, "b")
    svg = forest(criterion([near, far]))
    (left, right) = intervals(svg)[1]
    assert arrows(svg) == [(left, False), (right, True)]
    (axis,) = numbers(r'class="axis" x1="([\d.]+)"', svg)
    assert left == axis
    assert arrows(forest(criterion([near]))) == []
    open_end = forest(criterion([near, of_interval(80.0, math.inf, 120.0, "b")]))
    assert [right for _, right in arrows(open_end)] == [True]
    assert len(intervals(open_end)) == 2
