"""Drawings for print are as wide as a column, and their letters can be read there."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from delaylab.cli import whole
from delaylab_study.charts.fitted import LETTERS, height_mm
from tests import synthetic
from tests.report.cases import write
from tests.synthetic import Condition, lognormal

PT_PER_MM = 72 / 25.4


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of five kinds with long names at four loads: many panels and a long legend."""
    names = ["native", "netns-with-a-long-name", "lxc", "docker-of-the-engine", "qemu"]
    conditions = [
        Condition(
            load=load,
            factors={"kind": name, "load": load},
            delays={("reply", "wire"): lognormal(5 + 40 * place)},
            seed=10 * place + at,
        )
        for place, name in enumerate(names)
        for at, load in enumerate(("rest", "cpu", "disk", "network"))
    ]
    return synthetic.write(tmp_path_factory.mktemp("kinds") / "run", conditions)


@pytest.fixture(scope="module")
def claimed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("claimed"))


def charts(place: Path, *words: str) -> Result:
    return CliRunner().invoke(whole(), ["charts", str(place), *words])


def letters_pt(svg: str) -> float:
    """The size of the smallest letters on paper, in pt."""
    width_mm = float(re.findall(r'width="([\d.]+)mm"', svg)[0])
    width_px = float(re.findall(r'viewBox="0 0 ([\d.]+)', svg)[0])
    return min(map(float, LETTERS.findall(svg))) * width_mm / width_px * PT_PER_MM


@pytest.mark.parametrize(
    "width",
    [pytest.param(60, marks=pytest.mark.slow), 85, pytest.param(180, marks=pytest.mark.slow)],
)
def test_a_drawing_is_as_wide_as_asked_and_its_letters_have_7_pt(
    kinds: Path, tmp_path: Path, width: int
) -> None:
    ran = charts(kinds, "--svg", "--width", f"{width}mm", "--out", str(tmp_path), "--json")
    assert ran.exit_code == 0, ran.exception
    drawn = json.loads(ran.stdout)
    files = [Path(file) for each in drawn for file in each["files"]]
    assert {"rtt-by-kind", "added-by-kind", "user-rtt"} <= {file.stem for file in files}
    for file in files:
        svg = file.read_text()
        ElementTree.fromstring(svg)
        assert float(re.findall(r'<svg width="([\d.]+)mm"', svg)[0]) == pytest.approx(width)
        assert letters_pt(svg) >= 6.99, file.stem


def test_a_pdf_has_one_page_of_the_width(kinds: Path, tmp_path: Path) -> None:
    ran = charts(kinds, "added-by-kind", "--width", "3.5in", "--out", str(tmp_path))
    assert ran.exit_code == 0, ran.exception
    assert [file.name for file in tmp_path.iterdir()] == ["added-by-kind.pdf"]
    page = (tmp_path / "added-by-kind.pdf").read_bytes()
    boxes = re.findall(rb"/MediaBox ?\[0 0 ([\d.]+) ([\d.]+)\]", page)
    assert [round(float(width)) for width, _ in boxes] == [252]


@pytest.mark.parametrize("width", [85, 178])
def test_the_packets_way_fits_a_column(kinds: Path, tmp_path: Path, width: int) -> None:
    (name,) = re.findall(r"\bway-1[\w-]*", str(charts(kinds, "nothing").exception))
    words = ("--only", name, "--width", f"{width}mm", "--svg", "--out", str(tmp_path))
    ran = charts(kinds, *words, "--cell", "load=rest")
    assert "left out" not in ran.stdout, ran.stdout
    svg = (tmp_path / f"{name}.svg").read_text()
    ElementTree.fromstring(svg)
    assert letters_pt(svg) >= 6.99
    assert height_mm(svg) <= 240
    assert "user space to" in svg
    # In the fonts for print: for a letter that they lack all words would be in another font.
    assert "↔ responder" in svg
    assert "docker" in svg
    only = ("--cell", "kind=native", "--cell", "load=rest")
    assert charts(kinds, *words, *only).exit_code == 0
    one = (tmp_path / f"{name}.svg").read_text()
    assert "docker" not in one
    assert height_mm(one) <= height_mm(svg)


@pytest.mark.parametrize(
    ("factors", "cell"),
    [
        ({"load": "ab", "distance": "ab", "rate": "abc"}, "load=a"),
        ({"distance": "abcd", "size": "abcd"}, "distance=a"),
    ],
)
def test_a_factorial_fits_a_page_and_a_part_of_it_a_column(
    tmp_path: Path, factors: dict[str, str], cell: str
) -> None:
    cells = [dict(zip(factors, levels, strict=True)) for levels in product(*factors.values())]
    trials = [
        Condition(packets=40, at_rest=4, factors=levels, seed=number)
        for number, levels in enumerate(cells)
    ]
    place = synthetic.write(tmp_path / "run", trials)
    for width, more in ((178, ()), (85, ("--cell", cell))):
        out = tmp_path / str(width)
        ran = charts(place, "--svg", "--width", f"{width}mm", "--out", str(out), *more)
        assert ran.exit_code == 0, ran.exception
        assert "left out" not in ran.stdout, ran.stdout
        drawn = [each.read_text() for each in out.glob("*.svg")]
        assert len(drawn) > 3
        assert max(map(height_mm, drawn)) <= 240
        assert min(map(letters_pt, drawn)) >= 6.99


def test_a_way_without_room_for_a_column_is_left_out_with_the_width_it_needs(
    kinds: Path, tmp_path: Path
) -> None:
    (name,) = re.findall(r"\bway-1[\w-]*", str(charts(kinds, "nothing").exception))
    ran = charts(kinds, name, "--width", "30mm", "--out", str(tmp_path))
    assert re.search(r"left out: needs \d+ mm", ran.stdout)
    assert not (tmp_path / f"{name}.pdf").exists()


def test_delays_over_time_are_no_higher_than_a_page(tmp_path: Path) -> None:
    trials = [Condition(factors={"n": f"n{at}"}, packets=60, seed=at) for at in range(8)]
    place = synthetic.write(tmp_path / "many", trials)
    words = ("--only", "rtt-over-time", "--svg", "--out", str(tmp_path / "out"))
    few = [word for at in range(5) for word in ("--cell", f"n=n{at}")]
    for more in (["--width", "178mm"], few):
        ran = charts(place, *words, *more)
        assert "left out" not in ran.stdout, ran.stdout
        svg = (tmp_path / "out" / "rtt-over-time.svg").read_text()
        assert height_mm(svg) <= 240
        assert letters_pt(svg) >= 6.99


def test_the_drawings_of_claims_are_files_too(claimed: Path, tmp_path: Path) -> None:
    ran = charts(claimed, "claim-network-adds-most", "--svg", "--png", "--out", str(tmp_path))
    assert ran.exit_code == 0, ran.exception
    svg = (tmp_path / "claim-network-adds-most.svg").read_text()
    ElementTree.fromstring(svg)
    assert "var(--" not in svg
    assert "<circle" in svg
    assert (tmp_path / "claim-network-adds-most.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing"], "no drawing 'nothing'"),
        (["--width", "3ft"], "--width wants"),
        (["--width", "2mm"], "--width wants"),
        (["--cell", "load"], "--cell wants factor=level"),
        (["--cell", "sea=deep"], "no factor 'sea'"),
        (["--cell", "load=heavy"], "no level 'heavy'"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(claimed: Path, words: list[str], said: str) -> None:
    ran = charts(claimed, *words)
    assert said in str(ran.exception)
    assert not (claimed / "figures").exists()
