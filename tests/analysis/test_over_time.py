"""A slow packet is found with the segment that it lost its time in; no spike leaves a timeline."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.typing import NDArray
from rich.console import Console

from delaylab_study.analysis.analyse import groups
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.over_time.changes import ChangeInWords, Changes
from delaylab_study.analysis.over_time.outages import outages
from delaylab_study.analysis.over_time.timeline import STRETCHES
from delaylab_study.charts.over_time import TRIALS, over_time
from delaylab_study.charts.vega import Chart
from delaylab_study.dataset.store import read_study
from delaylab_study.report.html import write_report
from delaylab_study.report.show import as_json, table_csv
from delaylab_study.verbs.datasets import show
from tests import synthetic
from tests.grouped import of_packets
from tests.plain import plain as as_script
from tests.synthetic import Condition, Delay

SPIKE_US = 50_000
BRIDGE = ("request", "sender.uplink")
REST = 20


def spike(at: int, us: float = SPIKE_US) -> Delay:
    """A delay of 5 µs, but for one packet."""

    def draw(random: np.random.Generator, n: int) -> NDArray[np.float64]:
        return np.where(np.arange(n) == at, us, 5.0)

    return draw


def write(place: Path, *conditions: Condition) -> Path:
    """Write the trials with a record of a machine that is half busy, a fifth of the time waited."""
    directory = synthetic.write(place, [])
    record = synthetic.study(list(conditions), []) | {"title": "Over time"}
    synthetic.write_study(directory, record)
    for index, condition in enumerate(conditions):
        hosts = synthetic.hosts(80, busy=0.5, steal=0.02, pressure=0.2)
        raw = synthetic.trial(condition, index)
        synthetic.write_trial(directory, raw, *synthetic.tables(condition), hosts)
    return directory


def analysed(place: Path, *conditions: Condition) -> list[Group]:
    return list(groups(read_study(write(place, *conditions))))


def test_the_slowest_packet_is_named_with_its_segment(tmp_path: Path) -> None:
    (group,) = analysed(tmp_path, Condition(at_rest=REST, delays={BRIDGE: spike(REST + 100)}))
    first, second, *_ = of_packets(group).slowest
    assert len(of_packets(group).slowest) == 10
    assert first.seq == REST + 100
    assert first.after_s == pytest.approx((REST + 100) * 0.005, abs=0.001)
    assert first.rtt_us == pytest.approx(SPIKE_US + 45, abs=25)
    assert first.lost_in.layer == "bridge and uplink queue"
    assert (first.lost_in.start, first.lost_in.end) == ("sender.vif", "sender.uplink")
    assert first.lost_in.lost_us == pytest.approx(SPIKE_US - 5, abs=0.01)
    assert first.times > 500
    assert first.busy == pytest.approx(0.5)
    assert first.steal == pytest.approx(0.02)
    assert first.pressure == pytest.approx(0.2)
    assert second.rtt_us < 200
    rtts = [packet.rtt_us for packet in of_packets(group).slowest]
    assert rtts == sorted(rtts, reverse=True)


def test_neighbours_of_one_cause_are_one_event(tmp_path: Path) -> None:
    """A burst of 20 packets, in which two are fast, and a lone spike elsewhere."""
    burst = [*range(100, 108), *range(110, 122)]

    def draw(random: np.random.Generator, n: int) -> NDArray[np.float64]:
        us = random.lognormal(np.log(5), 0.3, n)
        us[burst] = np.linspace(9000, 2000, len(burst))
        return us

    other = {BRIDGE: draw, ("reply", "sender.app"): spike(40, us=3000)}
    (group,) = analysed(tmp_path, Condition(packets=400, delays=other))
    first, second, third, *_ = of_packets(group).slowest
    assert (first.seq, first.packets) == (100, 20)
    assert (first.first_s, first.last_s) == pytest.approx((0.5, 0.605), abs=0.001)
    assert first.lost_in.layer == "bridge and uplink queue"
    assert (second.seq, second.packets) == (40, 1)
    assert second.first_s == second.last_s == second.after_s
    assert third.rtt_us < 300
    assert first.excess_us == pytest.approx(first.rtt_us - first.usual_us)
    assert sum(part.delay_us for part in first.parts) == pytest.approx(first.rtt_us)
    assert first.lost_in in first.parts
    assert first.lost_in.lost_us <= first.excess_us + 50


def test_noise_is_no_event(tmp_path: Path) -> None:
    (group,) = analysed(tmp_path, Condition(packets=2000, seed=4))
    assert max(each.packets for each in of_packets(group).slowest) < 10


def test_a_line_of_the_page_and_its_dot_lead_to_each_other(tmp_path: Path) -> None:
    place = write(tmp_path, Condition(delays={BRIDGE: spike(100)}))
    page = write_report(place).read_text(encoding="utf-8")
    assert len(re.findall(r'<tr id="slow-0-1-100">', page)) == 1
    assert '<a id="dot-slow-0-1-100" xlink:href="#slow-0-1-100"' in page
    assert '<a href="#dot-slow-0-1-100">' in page
    assert "stamps of packet 100 against the medians" in page
    assert "vega.github.io" not in page
    drawing = (place / "charts" / "rtt-over-time.svg").read_text()
    assert "href" not in drawing.replace("xmlns:xlink", "")


def test_each_table_of_the_page_has_its_csv(tmp_path: Path) -> None:
    place = write(tmp_path, Condition(delays={BRIDGE: spike(100)}))
    page = write_report(place).read_text(encoding="utf-8")
    links = re.findall(
        r'<a download="([\w-]+).csv" href="data:text/csv;charset=utf-8,([^"]*)"', page
    )
    assert len(links) == page.count("<table>")
    saved = {name: unquote(text) for name, text in links}
    assert saved["delays"].encode() == table_csv(place, "delays")
    slow = csv.DictReader(io.StringIO(saved["the-slowest-packets"]))
    assert next(iter(slow))["rtt_us"].startswith("500")
    assert any("sender.uplink" in unquote(text) for name, text in links if name == "table")


def test_a_packet_at_rest_is_not_among_the_slowest(tmp_path: Path) -> None:
    (group,) = analysed(tmp_path, Condition(at_rest=REST, delays={BRIDGE: spike(3)}))
    assert of_packets(group).slowest[0].rtt_us < 200


def test_a_packet_of_a_later_repeat_is_named_with_its_own_trial(tmp_path: Path) -> None:
    second = Condition(repeat=2, seed=1, delays={BRIDGE: spike(7)})
    (group,) = analysed(tmp_path, Condition(), second)
    assert (of_packets(group).slowest[0].trial, of_packets(group).slowest[0].seq) == (second.id, 7)


def test_a_timeline_of_many_packets_keeps_every_spike(tmp_path: Path) -> None:
    condition = Condition(packets=5000, at_rest=REST, interval_ns=1_000_000)
    condition.delays = {BRIDGE: spike(4321)}
    (group,) = analysed(tmp_path, condition)
    (line,) = of_packets(group).timelines
    assert len(line.user_us) <= 2 * STRETCHES
    assert line.user_us.max() == pytest.approx(of_packets(group).slowest[0].rtt_us)
    assert line.after_s[line.user_us.argmax()] == pytest.approx(4.321, abs=0.001)
    assert set(line.phases) == {"before", "load", "after"}
    assert line.load_s == pytest.approx((0.02, 5.019), abs=0.001)
    assert line.states["pressure"].to_list()[1:] == pytest.approx([0.2] * 79)


def test_the_chart_has_the_most_unusual_trials_in_the_studys_order(tmp_path: Path) -> None:
    names = [f"t{index}" for index in range(TRIALS + 2)]
    usual = [
        Condition(
            factors={"name": name},
            packets=60,
            seed=index,
            delays={BRIDGE: spike(30, us=5 if name in ("t2", "t5") else 9000)},
        )
        for index, name in enumerate(names)
    ]
    chart = over_time(analysed(tmp_path, *usual))
    assert chart is not None
    texts = [each.text for each in ElementTree.fromstring(chart.svg).iter() if each.text]
    assert [text for text in texts if text in names] == [
        name for name in names if name not in ("t2", "t5")
    ]
    assert f"{TRIALS} of {TRIALS + 2} trials" in chart.caption


def test_every_form_of_the_report_has_the_slowest_packets(tmp_path: Path) -> None:
    """The far trial's packets are slower, the near one's spike is the more unusual."""
    far = {BRIDGE: spike(7, us=60_000), ("reply", "wire"): synthetic.constant(50_000)}
    near = Condition(factors={"distance": "near"}, delays={BRIDGE: spike(100)})
    place = write(tmp_path, near, Condition(factors={"distance": "far"}, delays=far))
    found = as_script(as_json(place))["trials"][0]["slowest"]
    assert len(found) == 10
    assert found[0]["seq"] == 100
    assert found[0]["lost_in"]["layer"] == "bridge and uplink queue"
    assert found[0]["machine"]["busy"] == pytest.approx(0.5)
    out = io.StringIO()
    show(Console(file=out, width=100), place)
    table = out.getvalue().partition("The slowest packets")[2]
    rows = [line for line in table.splitlines() if "+" in line]
    assert "near" in rows[0]
    assert "+50.0 ms of 50.0 ms in bridge and uplink" in rows[0]
    assert "machine: 50 % busy, 20 % waiting, 2 % stolen" in table
    page = write_report(place).read_text(encoding="utf-8")
    assert ">The slowest packets</h3>" in page
    assert "User RTT over time, with the load and the machine&#39;s state" in page
    assert (place / "charts" / "rtt-over-time.png").is_file()


def test_a_trial_without_replies_has_no_slowest_packet(tmp_path: Path) -> None:
    lost = dict.fromkeys(range(30), ("request", "wire"))
    (group,) = analysed(tmp_path, Condition(packets=30, lost_after=lost))
    assert of_packets(group).slowest == []
    chart = over_time([group])
    assert chart is not None, "that nothing came back is drawn, too"
    assert "no reply" in _texts(chart)
    (outage,) = of_packets(group).timelines[0].outages
    assert (outage.packets, outage.most_s) == (30, None)


def _texts(chart: Chart) -> list[str]:
    return [each.text for each in ElementTree.fromstring(chart.svg).iter() if each.text]


@pytest.mark.parametrize(
    ("lost", "expected"),
    [
        ([10, 11, 12, 13, 14], [(10, 14, 5)]),
        ([10, 11, 12, 13], []),
        ([3, 10, 11, 12, 13, 14, 15, 40], [(10, 15, 6)]),
        ([*range(5), *range(20, 30)], [(0, 4, 5), (20, 29, 10)]),
        (list(range(50)), [(0, 49, 50)]),
    ],
)
def test_an_outage_is_a_run_of_packets_without_a_reply(
    lost: list[int], expected: list[tuple[int, int, int]]
) -> None:
    sent_s = np.arange(50, dtype=np.float64) * 0.01
    gone = np.isin(np.arange(50), lost)
    found = outages(sent_s, gone)
    assert len(found) == len(expected)
    for outage, (first, last, packets) in zip(found, expected, strict=True):
        assert outage.packets == packets
        assert (outage.start_s, outage.end_s) == pytest.approx((first * 0.01, last * 0.01))
        assert outage.least_s == pytest.approx((last - first) * 0.01)
        if first > 0 and last < 49:
            assert outage.most_s == pytest.approx((last - first + 2) * 0.01)
        else:
            assert outage.most_s is None


def test_lost_packets_outages_and_changes_are_drawn_and_their_length_is_told(
    tmp_path: Path,
) -> None:
    gone = dict.fromkeys([20, *range(60, 100)], ("request", "wire"))
    out = Condition(factors={"name": "out"}, packets=200, lost_after=gone)
    whole = Condition(factors={"name": "whole"}, packets=200, seed=1)
    place = write(tmp_path, out, whole)
    study = read_study(place)
    changed = Changes(
        [({"name": "out"}, [ChangeInWords(0.3, "wire: loss 100%"), ChangeInWords(9, "later")])]
    )
    chart = over_time(list(groups(study)), changed)
    assert chart is not None
    texts = _texts(chart)
    assert texts.count("no reply") == 1
    assert "195 ms" in texts
    assert "wire: loss 100%" in texts
    assert "later" not in texts, "the load was over by then"
    for said in ("a packet without a reply", "A red band is an outage", "A dashed line"):
        assert said in chart.caption
    page = write_report(place).read_text(encoding="utf-8")
    told = "out: out for 195 ms to 205 ms from 300 ms on (40 packets in a row without a reply)"
    assert told in page
    console = Console(file=io.StringIO(), width=200)
    show(console, place)
    assert isinstance(console.file, io.StringIO)
    assert f"outage: {told}" in console.file.getvalue()
    first, second = as_script(as_json(place))["trials"]
    assert [outage["packets"] for outage in first["outages"]] == [40]
    assert second["outages"] == []


def test_a_chart_without_losses_and_changes_says_nothing_of_them(tmp_path: Path) -> None:
    chart = over_time(analysed(tmp_path, Condition()))
    assert chart is not None
    assert "no reply" not in _texts(chart)
    assert "A red" not in chart.caption
    assert "dashed" not in chart.caption
