"""Causes on the page: bars that show all of the excess, and packets drawn with all CPUs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from xml.etree import ElementTree

import pytest

from delaylab.api.causes import IDLE, Cause, CauseShare, CpuWindow, Explained, Stage, Task
from delaylab_study.analysis.analyse import analysed
from delaylab_study.analysis.causes.explained import LookedAt, looked_at
from delaylab_study.analysis.causes.quantiles import AtQuantile
from delaylab_study.charts.fitted import TooNarrow
from delaylab_study.dataset import store
from delaylab_study.report import cause_bars, packet_cpus
from delaylab_study.report.cause_bars import Bar
from delaylab_study.report.cause_looks import COLOURS, TOGETHER
from delaylab_study.report.html import write_report
from delaylab_study.report.sections.causes import CauseDrawing, section
from delaylab_study.report.sections.section import Report
from delaylab_study.report.value import Block
from tests import synthetic
from tests.causes import dataset
from tests.causes.records import HOG, RESPONDER, SENDER, TASKS, US, Cpus
from tests.synthetic import Condition

SVG = "{http://www.w3.org/2000/svg}"
BOX = re.compile(r"M([\d.]+) [\d.]+H([\d.]+)v")
HOSTILE = "<hog> & 'co'"
LARGEST = 30_000


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dataset.write(tmp_path_factory.mktemp("causes") / "data", HOSTILE)


@pytest.fixture(scope="module")
def page(place: Path) -> str:
    return write_report(place).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def slow(place: Path) -> LookedAt:
    study = store.read_study(place)
    return looked_at(study, study.trials[0]).packets[0]


def made(slow: LookedAt, window: CpuWindow, tasks: dict[int, Task] | None = None) -> LookedAt:
    """A packet of 1 ms, of which 0.8 ms are the hog's, with these CPUs."""
    ends = (0, 100, 900, 1000)
    stages = [Stage(start_ns=a * US, end_ns=b * US) for a, b in pairwise(ends)]
    shares = [
        CauseShare(1, Cause.HELD, 800 * US, HOG, SENDER),
        CauseShare(2, Cause.OWN, -20 * US),
    ]
    known = {**TASKS, **(tasks or {})}
    found = Explained(seq=1, excess_ns=780 * US, shares=shares, tasks=known, lab="lab")
    return replace(
        slow,
        stages=stages,
        segments=["send slip", "kernel to user space", "back"],
        window=replace(window, tasks=known),
        explained=found,
    )


def two_cpus() -> CpuWindow:
    """CPU 0 goes from the sender to the hog, CPU 3 is idle but for a softirq, then unseen."""
    cpus = Cpus()
    cpus.switch(-50, 0, SENDER)
    cpus.switch(100, 0, HOG)
    cpus.switch(900, 0, SENDER)
    cpus.switch(-50, 3, IDLE)
    cpus.softirq(300, 3, 100)
    cpus.switch(500, 3, RESPONDER)
    cpus.hide(3, IDLE)
    cpus.hide(3, SENDER)
    cpus.switch(700, 3, IDLE)
    return cpus.recorded(1100)


def rows(svg: str) -> dict[str, list[ElementTree.Element]]:
    """The paths of blocks of each CPU."""
    groups = ElementTree.fromstring(svg).iter(f"{SVG}g")
    return {
        group.attrib["data-cpu"]: list(group.iter(f"{SVG}path"))
        for group in groups
        if "data-cpu" in group.attrib
    }


def boxes(paths: list[ElementTree.Element]) -> list[tuple[float, float]]:
    """The left and right ends of all blocks of a row, in the order of time."""
    ends = [found for path in paths for found in BOX.findall(path.attrib["d"])]
    return sorted((float(left), float(right)) for left, right in ends)


def titles(element: ElementTree.Element) -> Iterator[str]:
    for title in element.iter(f"{SVG}title"):
        yield title.text or ""


def test_each_cpu_has_a_row_whose_blocks_cover_the_packets_time(slow: LookedAt) -> None:
    found = rows(packet_cpus.drawing(made(slow, two_cpus()), "packet"))
    assert list(found) == ["0", "3"]
    left, right = packet_cpus.LEFT, packet_cpus.WIDTH - packet_cpus.EDGE
    for paths in found.values():
        ends = boxes(paths)
        assert ends[0][0] == pytest.approx(left)
        assert ends[-1][1] == pytest.approx(right)
        assert all(one[1] == after[0] for one, after in pairwise(ends))


def test_a_row_says_who_had_the_cpu_and_when(slow: LookedAt) -> None:
    found = rows(packet_cpus.drawing(made(slow, two_cpus()), "packet"))
    wide = packet_cpus.WIDTH - packet_cpus.LEFT - packet_cpus.EDGE
    said = {title: path for paths in found.values() for path in paths for title in titles(path)}
    assert set(said) == {
        "hog (foreign, 30), 800 µs",
        "delaylab-agent, 200 µs",
        "idle, 700 µs",
        "softirq, 100 µs",
        "not seen, 200 µs",
    }
    hog = said["hog (foreign, 30), 800 µs"]
    assert hog.attrib["fill"] == COLOURS["run-queue wait"]
    ((start, end),) = boxes([hog])
    assert (start - packet_cpus.LEFT) / wide == pytest.approx(0.1, abs=0.001)
    assert (end - packet_cpus.LEFT) / wide == pytest.approx(0.9, abs=0.001)
    assert said["softirq, 100 µs"].attrib["fill"] == COLOURS["interrupts"]
    assert said["not seen, 200 µs"].attrib["fill"].startswith("url(#")


def test_the_segments_are_on_the_same_axis_with_the_cause_of_the_late_one(slow: LookedAt) -> None:
    svg = packet_cpus.drawing(made(slow, two_cpus()), "packet")
    drawn = ElementTree.fromstring(svg)
    named = {title: group for group in drawn.iter(f"{SVG}g") for title in titles(group)}
    late = named["kernel to user space: 800 µs; run-queue wait +800 µs"]
    whole, strip = late.iter(f"{SVG}rect")
    assert strip.attrib["fill"] == COLOURS["run-queue wait"]
    assert strip.attrib["width"] == whole.attrib["width"]
    ((left, right),) = boxes([path for path in rows(svg)["0"] if "hog" in "".join(titles(path))])
    x = float(whole.attrib["x"])
    assert (x, x + float(whole.attrib["width"])) == pytest.approx((left, right), abs=0.11)
    assert "send slip: 100 µs" in named


def test_names_are_escaped_in_the_drawing_and_on_the_page(slow: LookedAt, page: str) -> None:
    hog = Task(process=HOG, name=HOSTILE)
    svg = packet_cpus.drawing(made(slow, two_cpus(), {HOG: hog}), "packet")
    assert f"A {HOSTILE} (foreign, 30)" in "".join(ElementTree.fromstring(svg).itertext())
    assert "<hog>" not in svg + page
    assert "waited for a CPU that &lt;hog&gt; &amp; " in page


@pytest.mark.parametrize("switches", [20, 60, 400])
def test_of_many_busy_cpus_those_of_the_causes_are_drawn_and_no_drawing_is_large(
    slow: LookedAt, switches: int
) -> None:
    cpus, random, concerned = Cpus(), Random(1), {3: HOG, 17: SENDER, 29: HOG}
    for cpu in range(32):
        cpus.switch(-50, cpu, IDLE)
        for at_us in sorted(random.sample(range(1000), switches)):
            other = 100 + random.randrange(40)
            tasks = (IDLE, RESPONDER, other, concerned.get(cpu, RESPONDER))
            cpus.switch(at_us, cpu, random.choice(tasks))
    svg = packet_cpus.drawing(made(slow, cpus.recorded(1100)), "packet")
    assert len(svg) < LARGEST
    assert len(rows(svg)) == packet_cpus.MOST_ROWS
    assert {"3", "17", "29"} <= {*rows(svg)}
    assert f"{packet_cpus.MOST_ROWS} of 32 CPUs" in svg


def test_further_threads_without_room_for_a_letter_are_counted(slow: LookedAt) -> None:
    cpus = Cpus()
    cpus.switch(-50, 0, IDLE)
    for number in range(8):
        cpus.switch(100 + 20 * number, 0, 100 + number)
        cpus.switch(103 + 20 * number, 0, IDLE)
    svg = packet_cpus.drawing(made(slow, cpus.recorded(1100)), "packet")
    words = "".join(ElementTree.fromstring(svg).itertext())
    assert "A task 100 (ended)" in words
    assert "6 more threads" in words
    assert "task 105 (ended), 3.00 µs" in words, "its blocks have its name"


NEAR = {
    "median": {Cause.LINK: 0.0, Cause.IDLE_WAKE: -30_000.0, Cause.HELD: 10_000.0},
    "p99": dict.fromkeys(Cause, 40_000.0) | {Cause.OWN: -7_000.0, Cause.TIMER: -500.0},
}


def bars(name: str = "p99") -> tuple[Bar, ElementTree.Element]:
    """A bar, and the drawing that has it alone."""
    bar = Bar("load=hog", AtQuantile(name, 2_000_000.0, NEAR[name]))
    return bar, ElementTree.fromstring(cause_bars.drawing({name: [bar]}, "causes"))


@pytest.mark.parametrize("name", NEAR)
def test_a_bar_has_all_of_the_excess_to_the_right_and_to_the_left_of_zero(name: str) -> None:
    bar, drawn = bars(name)
    parts: dict[str, tuple[float, float]] = {}
    for rect in drawn.iter(f"{SVG}rect"):
        for title in titles(rect):
            x = float(rect.attrib["x"])
            parts[title.partition(":")[0]] = x, x + float(rect.attrib["width"])
    assert list(parts) == [each for each in TOGETHER if bar.parts.get(each)]
    below, above = bar.ends
    scale = (cause_bars.WIDTH - cause_bars.LABEL - cause_bars.SUM) / (above - below)
    zero = cause_bars.LABEL - below * scale
    for cause, (left, right) in parts.items():
        assert right - left == pytest.approx(abs(bar.parts[cause]) * scale, abs=0.02)
        assert right <= zero + 0.02 if bar.parts[cause] < 0 else left >= zero - 0.02
    assert min(left for left, _ in parts.values()) == pytest.approx(zero + below * scale, abs=0.02)
    assert max(right for _, right in parts.values()) == pytest.approx(
        zero + above * scale, abs=0.02
    )
    assert bar.sum_ns == pytest.approx(sum(NEAR[name].values()))
    (mark,) = (line for line in drawn.iter(f"{SVG}line") if [*titles(line)])
    assert float(mark.attrib["x1"]) == pytest.approx(zero + bar.sum_ns * scale, abs=0.06)


def test_a_bar_has_its_round_trip_its_sum_and_a_key() -> None:
    _, drawn = bars()
    words = [*drawn.itertext()]
    assert "RTT 2.00 ms" in words
    assert f"+{sum(NEAR['p99'].values()) / 1e3:.0f} µs" in words
    assert {"run-queue wait", "steal", "other", "unknown"} <= {*words}


def test_each_cause_has_one_colour_and_unknown_is_hatched() -> None:
    assert len({*COLOURS.values()}) == len(COLOURS) == len(TOGETHER) - 1
    _, drawn = bars()
    for rect in drawn.iter(f"{SVG}rect"):
        for title in titles(rect):
            cause = title.partition(":")[0]
            assert rect.attrib["fill"] == COLOURS.get(cause, "url(#unseen-causes)")


def test_a_drawing_of_a_paper_has_its_width_or_says_what_it_needs(slow: LookedAt) -> None:
    packet = made(slow, two_cpus())
    drawn = CauseDrawing("x", "X", lambda width: packet_cpus.drawing(packet, "x", width), 1180, 310)
    assert 'width="84.67mm"' in drawn.fitted(320)
    with pytest.raises(TooNarrow):
        drawn.fitted(200)


def test_the_page_has_causes_after_the_packets_way_and_the_first_packet_open(
    page: str, place: Path
) -> None:
    sections = re.findall(r'<section id="(\w+)">', page)
    assert sections[sections.index("way") + 1] == "causes"
    (text,) = re.findall(r'<section id="causes">.*?</section>', page, re.DOTALL)
    packets = re.findall(r"<details( open)?><summary>[^<]* more than usual</summary>", text)
    assert packets == [" open", *[""] * 9]
    assert len(re.findall(r'data-cpu="0"', text)) == 10
    ids = re.findall(r'id="(unseen-[^"]+)"', text)
    assert len({*ids}) == len(ids) == 11
    for name in ("causes", "causes-packet-1", "causes-packet-10"):
        assert (place / "charts" / f"{name}.svg").exists()
        assert (place / "charts" / f"{name}.png").exists()


def test_without_records_of_cpus_the_page_has_no_such_section(tmp_path: Path) -> None:
    page = write_report(synthetic.write(tmp_path / "data", [Condition(packets=20)]))
    text = page.read_text(encoding="utf-8")
    assert 'id="way"' in text
    assert 'id="causes"' not in text
    assert not [*page.parent.glob("charts/causes*")]


def test_each_combination_of_levels_has_its_slowest_packets_drawn(place: Path) -> None:
    """A load that makes packets much slower than the others leaves them room."""
    found = analysed(place)
    (group,) = found.groups
    assert group.packets is not None
    quick = [
        replace(each, seq=-each.seq, explained=replace(each.explained, excess_ns=1000 - number))
        for number, each in enumerate(group.packets.causes.slowest)
    ]
    causes = replace(group.packets.causes, slowest=quick)
    other = replace(group, packets=replace(group.packets, causes=causes))
    parts = section(Report(found.study, [group, other])).page
    summaries = [each.summary for each in parts if isinstance(each, Block)]
    packets = [each for each in summaries if each.endswith("more than usual")]
    assert ["seq -" in each for each in packets] == [False] * 5 + [True] * 5
    for each in (*group.packets.causes.slowest[:5], *quick[:5]):
        assert sum(f"seq {each.seq}:" in summary for summary in packets) == 1
