"""Packets of one trial that went several ways: each has its own, and delays stay apart."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import delaylab_study
from delaylab_study.analysis.analyse import analysed
from delaylab_study.analysis.group import Group, SegmentSummary
from delaylab_study.analysis.packets.ways import OFF, UNKNOWN, parted
from delaylab_study.dataset import store
from delaylab_study.dataset.records.tables import PROBES, STAMPS
from delaylab_study.dataset.records.ways import Hop, Way
from delaylab_study.report.html import write_report
from delaylab_study.report.show import as_json
from tests import synthetic
from tests.plain import plain
from tests.synthetic import CLOCK, START, Condition

N = 100
LINK_US = {"p": 5000, "q": 9000, "slow": 20_000}
STEP_NS = 1000
"""The time of every segment that is not on one of these links."""


def hops(*ends: tuple[str, str]) -> list[Hop]:
    """The links of a leg from the first node on, each given with the node that it leads to."""
    (_, start), *others = ends
    found, before = [], "sender.vif"
    for index, (link, end) in enumerate(others):
        far = f"{end}@{link}" if index < len(others) - 1 else "responder.vif"
        found.append(Hop(link=link, start=start, end=end, near=before, far=far))
        start = end
        before = f"{end}@{others[index + 1][0]}" if index < len(others) - 1 else ""
    return found


def points(links: list[Hop]) -> list[str]:
    return ["sender.app", "sender.stack", "sender.vif"] + [
        point for hop in links for point in (hop.near, hop.far) if "@" in point
    ]


def way(there: list[Hop], back: list[Hop] | None = None) -> Way:
    """A way; `back` are the links of the reply, as a request would take them."""
    home = back or there
    turned = [
        Hop(link=hop.link, start=hop.end, end=hop.start, near=hop.far, far=hop.near)
        for hop in reversed(home)
    ]
    return Way(
        request=[*points(there), "responder.stack"],
        reply=["responder.stack", *reversed(points(home))],
        hops=there,
        back=turned if back else None,
    )


def over(link: str) -> list[Hop]:
    return hops(("", "probe"), ("in", "r1"), (link, "r2"), ("out", "echo"))


P, Q = way(over("p")), way(over("q"))
THERE_P_BACK_Q = way(over("p"), over("q"))
BY_P, BY_Q = "in → p → out", "in → q → out"


@dataclass(frozen=True)
class Sent:
    """One packet: the way that it went, and the last point that saw it, if it was lost."""

    way: Way
    lost_after: tuple[str, str] | None = None
    unseen: tuple[str, ...] = ()


def stamps_of(seq: int, sent: Sent) -> list[dict[str, Any]]:
    time, before, found = START + seq * 50_000_000, "", []
    for leg in ("request", "reply"):
        for point in sent.way.points(leg):
            link = point.partition("@")[2]
            same = bool(link) and before.partition("@")[2] == link
            time += LINK_US.get(link, 0) * 1000 if same and link in LINK_US else STEP_NS
            before = point
            if point not in sent.unseen:
                row = {"probe": 1, "seq": seq, "leg": leg, "point": point}
                found.append(row | {"time_ns": time, "clock": CLOCK})
            if (leg, point) == sent.lost_after:
                return found
    return found


def tables(packets: list[Sent]) -> tuple[pl.DataFrame, pl.DataFrame]:
    rows = [row for seq, sent in enumerate(packets) for row in stamps_of(seq, sent)]
    times = [START + seq * 50_000_000 for seq in range(len(packets))]
    probes = [
        {"probe": 1, "seq": seq, "phase": "load", "intended_ns": time, "sent_ns": time}
        | {"slip_ns": 0, "outcome": "lost" if sent.lost_after else "replied"}
        | {"duplicates": 0, "reordered": False}
        for seq, (sent, time) in enumerate(zip(packets, times, strict=True))
    ]
    return pl.DataFrame(rows, schema_overrides=STAMPS), pl.DataFrame(
        probes, schema_overrides=PROBES
    )


def write(place: Path, packets: list[Sent], *ways: Way) -> Path:
    condition = Condition()
    record = synthetic.trial(condition, 0)
    record["ways"] = [each.model_dump() for each in ways]
    synthetic.write_study(place, synthetic.study([condition], []))
    synthetic.write_trial(place, record, *tables(packets), synthetic.hosts())
    return place


def group_of(place: Path) -> Group:
    (group,) = analysed(place).groups
    return group


def across(group: Group, name: str) -> list[SegmentSummary]:
    """The segments over the parallel links, there and back, of packets of one way."""
    ends = {("hop1.far", "hop2.near"), ("hop2.near", "hop1.far")}
    return [each for each in group.segments if each.way == name and (each.start, each.end) in ends]


def median(part: SegmentSummary) -> float | None:
    return part.delay.median.value


def test_delays_of_two_ways_come_out_apart_and_exact(tmp_path: Path) -> None:
    packets = [Sent(Q if seq % 2 else P) for seq in range(N)]
    place = write(tmp_path, packets, P, Q)
    group = group_of(place)
    for name, link in ((BY_P, "p"), (BY_Q, "q")):
        found = across(group, name)
        assert [(part.leg, part.at, part.delay.n) for part in found] == [
            ("request", link, N // 2),
            ("reply", link, N // 2),
        ]
        assert [median(part) for part in found] == [LINK_US[link]] * 2
    assert group.packets is not None
    assert group.packets.way_unknown == group.packets.off_ways == 0
    assert {each.way: each.packets for each in group.packets.ways} == {BY_P: 50, BY_Q: 50}
    assert group.answered == N
    (trial,) = plain(as_json(place))["trials"]
    assert {each["way"] for each in trial["segments"][1:]} == {BY_P, BY_Q}
    assert [each["rtt"]["app"]["median_us"] for each in trial["ways"]] == [10_013, 18_013]


def test_the_segments_of_each_packet_sum_to_its_round_trip(tmp_path: Path) -> None:
    packets = [Sent((P, Q, THERE_P_BACK_Q)[seq % 3]) for seq in range(N)]
    found = delaylab_study.read(write(tmp_path, packets, P, Q, THERE_P_BACK_Q))
    sums = found.segments().group_by("seq").agg(pl.col("delay_ns").sum())
    trips = found.packets.select("seq", pl.col("rtt_user_ns"))
    both = sums.join(trips, on="seq")
    assert len(both) == N
    assert (both["delay_ns"] == both["rtt_user_ns"]).all()
    of_ways = found.segments().group_by("way").agg(pl.col("seq").n_unique())
    assert dict(of_ways.iter_rows()) == {BY_P: 34, BY_Q: 33, f"{BY_P}, back out → q → in": 33}


def test_a_change_of_route_in_the_middle_parts_the_packets_at_it(tmp_path: Path) -> None:
    change = 60
    packets = [Sent(P if seq < change else Q) for seq in range(N)]
    packets[change] = Sent(THERE_P_BACK_Q)
    place = write(tmp_path, packets, P, Q)
    found = delaylab_study.read(place).segments()
    assert set(found.filter(pl.col("way") == BY_P)["seq"]) == {*range(change)}
    assert set(found.filter(pl.col("way") == BY_Q)["seq"]) == {*range(change + 1, N)}
    group = group_of(place)
    assert group.packets is not None
    assert (group.packets.off_ways, group.answered) == (1, N)
    (doubt,) = (each for each in group.doubts if each.kind == "way-unknown")
    assert doubt.message.startswith(f"the stamps of 1 of {N} packets fit no way")


def test_a_reply_may_come_back_another_way(tmp_path: Path) -> None:
    (trial,) = plain(as_json(write(tmp_path, [Sent(THERE_P_BACK_Q)] * N, THERE_P_BACK_Q)))["trials"]
    found = {
        (part["leg"], part["from"], part["to"]): (part["at"], part["median_us"])
        for part in trial["segments"]
    }
    assert found["request", "hop1.far", "hop2.near"] == ("p", LINK_US["p"])
    assert found["reply", "hop2.near", "hop1.far"] == ("q", LINK_US["q"])
    assert "ways" not in trial
    assert not any("way" in part for part in trial["segments"])


def test_routers_of_a_longer_way_back_are_numbered_from_the_sender(tmp_path: Path) -> None:
    home = hops(("", "probe"), ("in", "r1"), ("slow", "r3"), ("s2", "r2"), ("out", "echo"))
    longer = way(over("p"), home)
    (trial,) = plain(as_json(write(tmp_path, [Sent(longer)] * N, longer)))["trials"]
    found = {part["to"]: part for part in trial["segments"] if part["leg"] == "reply"}
    assert [found[f"hop{n}.near"]["at"] for n in (3, 2)] == ["r2", "r3"]
    assert found["hop1.far"]["median_us"] == LINK_US["slow"]
    assert found["hop1.far"]["at"] == "slow"


def test_losses_are_those_of_the_way_on_which_they_were(tmp_path: Path) -> None:
    packets = [Sent(Q if seq % 2 else P) for seq in range(N)]
    packets[10] = Sent(P, lost_after=("request", "r1@p"))
    packets[21] = Sent(Q, lost_after=("reply", "r2@q"))
    packets[30] = Sent(P, lost_after=("request", "r1@in"))
    group = group_of(write(tmp_path, packets, P, Q))
    assert group.packets is not None
    account = group.packets.account
    assert account.lost_after == {
        f"request hop1.far ({BY_P})": 1,
        f"reply hop2.near ({BY_Q})": 1,
        "request sender.vif": 1,
    }
    there = [each for each in account.points if each.leg == "request"]
    far = {each.way: each for each in there if each.point == "hop2.near"}
    assert (far[BY_P].seen, far[BY_P].lost) == (48, 1)
    assert (far[BY_Q].seen, far[BY_Q].lost) == (50, 0)
    assert [(phase.lost.request, phase.lost.reply) for phase in group.packets.phases] == [(2, 1)]
    assert {each.way: (each.packets, each.phases[0].lost.total) for each in group.packets.ways} == {
        BY_P: (49, 1),
        BY_Q: (50, 1),
    }
    # It was lost before the ways part, as the account says: that is no doubt about its way.
    assert group.packets.way_unknown == 1
    assert not any(each.kind == "way-unknown" for each in group.doubts)


def circle() -> Way:
    """The points of a packet that came back to its first router before it went on."""
    seen = ["r1@in", "r1@p", "r2@p", "r2@q", "r1@q", "r2@out"]
    ends = ["sender.app", "sender.stack", "sender.vif"]
    return Way(request=[*ends, *seen, "responder.stack"], reply=P.reply)


ROUTERS = ("r1@in", "r1@p", "r2@p", "r2@out")


@pytest.mark.parametrize(
    ("odd", "expected"),
    [
        (Sent(circle()), OFF),
        (Sent(P, unseen=ROUTERS), UNKNOWN),
        (Sent(P, unseen=("r1@in", "r2@out")), 0),
        (Sent(P, unseen=("r1@p", "r2@p")), UNKNOWN),
        (Sent(Q, unseen=("r1@q",)), 1),
        (Sent(THERE_P_BACK_Q), OFF),
    ],
)
def test_a_packet_is_never_forced_into_a_way(odd: Sent, expected: int) -> None:
    stamps, probes = tables([Sent(P), odd, Sent(Q)])
    assert parted(stamps, probes, [P, Q]).numbers["way"].to_list() == [0, expected, 1]


def test_a_packet_whose_way_is_unknown_counts_in_round_trips_alone(tmp_path: Path) -> None:
    packets = [*[Sent(P), Sent(Q)] * 50, Sent(circle()), Sent(P, unseen=ROUTERS)]
    place = write(tmp_path, packets, P, Q)
    group = group_of(place)
    assert group.packets is not None
    assert (group.packets.off_ways, group.packets.way_unknown, group.answered) == (1, 1, 102)
    assert set(delaylab_study.read(place).segments()["seq"]) == {*range(100)}
    said = [each.message for each in group.doubts if each.kind == "way-unknown"]
    assert ["more than one way" in each for each in said] == [True, False]
    write_report(store.read_study(place))
    page = (place / "report.html").read_text()
    assert all(text in page for text in ("fit no way", BY_P, BY_Q))


def test_ways_over_the_same_points_differ_by_their_order() -> None:
    there = way(hops(("", "probe"), ("lan", "r1"), ("x", "r2"), ("lan", "echo")))
    other = way(hops(("", "probe"), ("lan", "r2"), ("x", "r1"), ("lan", "echo")))
    assert {*there.request} == {*other.request}
    stamps, probes = tables([Sent(there), Sent(other)])
    assert parted(stamps, probes, [there, other]).numbers["way"].to_list() == [0, 1]
    # A way that only the other order would fit is no way that was recorded.
    assert parted(stamps, probes, [there]).numbers["way"].to_list() == [0, OFF]


@given(st.lists(st.sampled_from([P, Q, THERE_P_BACK_Q, circle()]), min_size=1, max_size=30))
@settings(deadline=None)
def test_every_packet_is_of_one_way_or_counted_as_of_no_way(went: list[Way]) -> None:
    ways = [P, Q, THERE_P_BACK_Q]
    stamps, probes = tables([Sent(each) for each in went])
    found = parted(stamps, probes, ways)
    expected = [ways.index(each) if each in ways else OFF for each in went]
    assert found.numbers["way"].to_list() == expected
    rows = [len(found.of(stamps, number)) for number in (*range(len(ways)), OFF, UNKNOWN)]
    assert sum(rows) == len(stamps)


def as_before(raw: dict[str, Any]) -> dict[str, Any]:
    """A trial's values as versions wrote them that knew one way."""
    (one,) = raw.pop("ways")
    one.pop("back", None)
    return raw | {"hops": one.pop("hops"), "path": one}


@pytest.mark.parametrize(
    "changed",
    [lambda raw: raw, lambda raw: {key: raw[key] for key in raw if key != "hops"}],
    ids=["as recorded", "without its links"],
)
def test_records_of_earlier_versions_have_one_way(
    tmp_path: Path, changed: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    place = write(tmp_path, [Sent(P)] * N, P)
    new = plain(as_json(place))
    record = place / "trials" / Condition().id / "trial.json"
    old = changed(as_before(json.loads(record.read_text())))
    record.write_text(json.dumps(old))
    (trial,) = store.read_study(place).trials
    assert len(trial.ways) == 1
    if "hops" in old:
        assert plain(as_json(place)) == new
    else:
        assert trial.way.hops == []


def test_links_of_a_reply_that_no_router_saw_are_unknown(tmp_path: Path) -> None:
    place = write(tmp_path, [Sent(P)] * N, P)
    record = place / "trials" / Condition().id / "trial.json"
    old = as_before(json.loads(record.read_text()))
    old["path"]["reply"] = [each for each in old["path"]["reply"] if "@" not in each]
    record.write_text(json.dumps(old))
    (trial,) = store.read_study(place).trials
    assert trial.way.back == []
    (shown,) = plain(as_json(place))["trials"]
    assert {part["at"] for part in shown["segments"] if part["leg"] == "reply"} == {""}


def test_a_way_crosses_a_wire_by_either_of_its_ends(tmp_path: Path) -> None:
    """With routing daemons a tap for another way may stamp at the end that a way does not name."""
    wire, other_end = "r2@p.wire", "r1@p.wire"
    index = P.request.index("r2@p")
    named = P.model_copy(
        update={
            "request": [*P.request[:index], wire, *P.request[index:]],
            "reply": [*P.reply[:-index], wire, *P.reply[-index:]],
        }
    )
    both = named.model_copy(
        update={
            leg: [
                each
                for point in named.points(leg)
                for each in ([other_end, wire] if point == wire else [point])
            ]
            for leg in ("request", "reply")
        }
    )
    stamps, probes = tables([Sent(both), Sent(named), Sent(Q)])
    assert parted(stamps, probes, [named, Q]).numbers["way"].to_list() == [0, 0, 1]
    astray = stamps.with_columns(pl.col("point").replace(other_end, "r1@q.wire"))
    assert parted(astray, probes, [named, Q]).numbers["way"].to_list() == [OFF, 0, 1]
