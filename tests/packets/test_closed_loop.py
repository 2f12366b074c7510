"""A closed loop: one packet is under way, and the next one goes out when it has its reply."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from tests.packets.agents import Answer, Pair, address, probe, run
from tests.packets.paths import REPLY, REQUEST
from tests.packets.responder import DROPPED, HELD, RELEASES
from tests.packets.test_fates import misbehaving
from tests.packets.test_tcp import FIRST, PORT

TIMEOUT_NS = 30_000_000


def closed(**fields: Any) -> dict[str, Any]:
    """A request for a closed loop."""
    return probe(interval_ns=0, timeout_ns=TIMEOUT_NS, batch=1, stamps=["app"], tcx=False) | fields


def sendings(answer: Answer) -> pl.DataFrame:
    """One row per packet: when it was intended and sent, when answered, and the packet before."""
    stamps = answer.tables["stamps"].filter(pl.col("point").cast(pl.String) == "app")
    times = [
        stamps.filter(pl.col("leg") == leg).select("seq", pl.col("time_ns").alias(name))
        for leg, name in ((REQUEST, "asked_ns"), (REPLY, "replied_ns"))
    ]
    table = answer.tables["packets"].join(times[0], on="seq", how="left")
    table = table.join(times[1], on="seq", how="left").sort("seq")
    timeout = pl.col("sent_ns").shift(1) + TIMEOUT_NS
    due = pl.min_horizontal(pl.col("replied_ns").shift(1), timeout)
    # An error makes room at once: that of a handshake for which the machine had no time.
    return table.with_columns(pl.when(pl.col("error").shift(1).is_null()).then(due).alias("due_ns"))


def assert_one_under_way(answer: Answer) -> pl.DataFrame:
    """Every packet goes out when the one before has its reply or its time is over, and not before;
    the slip is the time from then on."""
    table = sendings(answer)
    after = table.filter(pl.col("due_ns").is_not_null())
    assert len(after) >= len(table) - 1 - table["error"].count()
    assert (after["sent_ns"] >= after["due_ns"]).all()
    assert (after["intended_ns"] >= after["due_ns"]).all()
    assert (table["sent_ns"] >= table["intended_ns"]).all()
    at_once = after.filter(pl.col("due_ns") == pl.col("intended_ns"))
    assert len(at_once) >= len(after) // 2, "most are due at the moment of a reply"
    return table


@pytest.mark.parametrize("ip", [4, 6])
@pytest.mark.parametrize("protocol", ["icmp", "udp", "tcp", "http"])
def test_one_packet_is_under_way_at_a_time(joined: Pair, protocol: str, ip: int) -> None:
    port = 0 if protocol == "icmp" else PORT
    ident = FIRST if protocol in ("tcp", "http") else 0
    with joined.agent(joined.left) as sender, joined.agent(joined.right) as responder:
        if port:
            reflect = {"op": "reflect", "protocol": protocol, "port": port, "ip": ip}
            responder.start(reflect | {"stamps": protocol == "udp"})
        asked: dict[str, Any] = {"ask": {}} if protocol == "http" else {}
        answer = sender.run(
            closed(protocol=protocol, to=address(ip, 2), port=port, ident=ident, count=300, **asked)
        )
    assert answer.done is not None
    assert answer.done["replied"] >= 290, "a busy machine may lose some handshakes"
    assert_one_under_way(answer)


def test_a_lost_reply_and_a_late_one_cost_their_timeout_and_no_more(joined: Pair) -> None:
    """Packet 3 is lost, 5 answered twice, and 8 when 12 is: then 13 must not go out early."""
    with misbehaving(joined) as port, joined.agent(joined.left) as sender:
        answer = sender.run(closed(protocol="udp", port=port, count=40))
    table = assert_one_under_way(answer)
    outcomes = dict(table.select("seq", "outcome").iter_rows())
    assert outcomes == {seq: "lost" if seq == DROPPED else "replied" for seq in range(40)}
    gaps = dict(zip(table["seq"].shift(1)[1:], waits(table)[1:], strict=True))
    assert [gaps[seq] for seq in (DROPPED, HELD)] == [TIMEOUT_NS] * 2
    waited = table.filter(pl.col("seq") == HELD)["replied_ns"][0]
    assert waited > table.filter(pl.col("seq") == RELEASES)["sent_ns"][0]


def test_nobody_answers_and_the_loop_goes_on(joined: Pair) -> None:
    run("iptables", "-A", "INPUT", "-p", "icmp", "-j", "DROP", namespace=joined.right)
    with joined.agent(joined.left) as sender:
        answer = sender.run(closed(count=10))
    table = assert_all_timed_out(answer)
    assert table["outcome"].to_list() == ["lost"] * 10


def assert_all_timed_out(answer: Answer) -> pl.DataFrame:
    """Each packet but the first waited for the timeout of the one before."""
    table = sendings(answer)
    assert (waits(table).drop_nulls() == TIMEOUT_NS).all()
    return table


def waits(table: pl.DataFrame) -> pl.Series:
    """When each packet was meant to go, after the one before was sent."""
    return table["intended_ns"] - table["sent_ns"].shift(1)


def test_a_closed_loop_can_be_stopped(joined: Pair) -> None:
    """Replies come all the time, and the order is read nevertheless."""
    with joined.agent(joined.left) as sender:
        sender.start(closed(count=1_000_000))
        answer = sender.stop()
    assert answer.done is not None
    assert answer.done["sent"] < 1_000_000
    assert set(answer.tables["packets"]["outcome"]) >= {"unsent"}


@pytest.mark.parametrize(
    "fields", [{"timeout_ns": -1}, {"timeout_ns": 1_000_000, "interval_ns": 1_000_000}]
)
def test_a_timeout_without_a_closed_loop_is_refused(joined: Pair, fields: dict[str, int]) -> None:
    with joined.agent(joined.left) as sender:
        answer = sender.run(closed(count=1) | fields)
    assert answer.error is not None
    assert "timeout_ns" in answer.error["why"]
