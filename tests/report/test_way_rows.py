"""Rows of "The packet's way" are told apart in the picture itself, by any number of factors."""

from __future__ import annotations

import re
from itertools import product

import pytest

from delaylab_study.analysis.analyse import analysed
from delaylab_study.report.arrange import Panel, panels
from delaylab_study.report.packet_path import drawing
from tests import synthetic
from tests.synthetic import Condition

LEVELS = {
    "distance": ("1ms", "5ms"),
    "rate": ("slow-and-shared", "fast"),
    "load": ("rest", "cpu", "a-load-with-a-long-name"),
}
SAID = re.compile(r'<text x="0" y="([\d.]+)" font-weight="600"[^>]*>([^<]*)<')
CELL = re.compile(r'<rect x="[\d.]+" y="([\d.]+)" width="[\d.]+" height="(\d+)" rx="5"')


@pytest.fixture(scope="module")
def panel(tmp_path_factory: pytest.TempPathFactory) -> Panel:
    conditions = [
        Condition(packets=20, seed=seed, factors=dict(zip(LEVELS, levels, strict=True)))
        for seed, levels in enumerate(product(*LEVELS.values()))
    ]
    place = synthetic.write(tmp_path_factory.mktemp("rows"), conditions)
    (found,) = panels(analysed(place).groups)
    return found


def rows(drawn: str) -> list[tuple[str, float, float]]:
    """The label of each row, without its breaks, and where its first and last lines are."""
    told: dict[int, list[tuple[float, str]]] = {}
    tops = sorted({float(top) for top, _ in CELL.findall(drawn)})
    for y, text in SAID.findall(drawn):
        row = sum(top <= float(y) for top in tops)
        told.setdefault(row, []).append((float(y), text))
    return [("".join(t for _, t in each), each[0][0], each[-1][0]) for each in told.values()]


def test_each_row_says_all_in_which_rows_differ(panel: Panel) -> None:
    assert len(panel.labels) == 12
    found = rows(drawing(panel))
    assert [text for text, _, _ in found] == [label.replace(" ", "") for label in panel.labels]
    assert len({text for text, _, _ in found}) == 12


def test_the_lines_of_a_label_stay_within_its_row(panel: Panel) -> None:
    drawn = drawing(panel)
    tops = sorted({(float(top), float(height)) for top, height in CELL.findall(drawn)})
    assert len(tops) == 12
    for (_, first, last), (top, height) in zip(rows(drawn), tops, strict=True):
        assert top < first - 8
        assert last + 12 < top + height
