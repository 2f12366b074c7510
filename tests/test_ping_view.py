"""The picture of a running ping."""

from __future__ import annotations

from delaylab.verbs.ping.result import PingPacket
from delaylab.verbs.ping.view import PingPicture


def picture(*rtts_ns: int | None) -> PingPicture:
    made = PingPicture()
    for seq, rtt in enumerate(rtts_ns):
        outcome = "lost" if rtt is None else "replied"
        made.add(PingPacket(seq, rtt, rtt, 0, outcome, None, None, None))
    return made


def test_the_sparkline_is_from_the_least_to_the_largest_and_shows_losses() -> None:
    assert picture(10_000, 45_000, None, 80_000).sparkline(80) == "10.0µs … 80.0µs ▁▄×█"


def test_a_narrow_sparkline_has_the_last_packets() -> None:
    found = picture(*range(1_000_000, 3_000_000, 10_000)).sparkline(40)
    assert len(found) == 40
    assert found.endswith("█")


def test_the_histogram_has_each_packet_in_its_bin_and_the_empty_bins_between() -> None:
    rows = [row.split() for row in picture(49_999, 50_000, 99_999, 300_000, None).histogram(60)]
    assert [row[:4] for row in rows[:-1]] == [
        ["20µs", "–", "50µs", "1"],
        ["50µs", "–", "100µs", "2"],
        ["100µs", "–", "200µs", "0"],
        ["200µs", "–", "500µs", "1"],
    ]
    assert rows[-1] == ["no", "answer", "1"]
    assert [len(row[4]) if len(row) > 4 else 0 for row in rows[:-1]] == [15, 30, 0, 15]


def test_without_an_answer_there_is_no_histogram() -> None:
    assert list(picture(None, None).histogram(60)) == []
    assert picture(None, None).sparkline(80) == "××"
