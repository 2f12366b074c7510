"""Probes by HTTP requests: stamps of program, kernel and taps."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from delaylab_study.trial.segments import stamped
from tests.packets.agents import Pair, address, probe
from tests.packets.paths import REPLY, REQUEST, SENDER_PATH, assert_whole_and_ordered
from tests.packets.test_tap import tap
from tests.packets.test_tcp import FIRST, PORT, sockets


def requests(*, ask: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """A request for a probe by HTTP."""
    stamps = ["app", "stack"]
    known = {"protocol": "http", "port": PORT, "ident": FIRST, "size": 0, "stamps": stamps}
    return probe(**known, ask=ask or {}) | fields


@pytest.mark.parametrize("ip", [4, 6])
def test_a_request_is_stamped_by_program_kernel_and_tap(joined: Pair, ip: int) -> None:
    wanted = {"protocol": "http", "ip": ip, "port": PORT, "ident": FIRST}
    with (
        joined.agent(joined.right) as responder,
        joined.agent(joined.left) as sender,
        joined.agent(joined.right) as watcher,
    ):
        reflect = {"op": "reflect", "protocol": "http", "port": PORT, "ip": ip, "stamps": True}
        responder.start(reflect)
        watcher.start(tap("far", "right", filter=wanted, segments=1000))
        answer = sender.run(requests(to=address(ip, 2), live=True))
        seen = watcher.stop()
        left = sockets(joined.left)
        served = responder.stop()
    assert answer.done is not None
    assert (answer.done["replied"], answer.done["by"]) == (50, "ring")
    assert answer.tables["packets"]["outcome"].to_list() == ["replied"] * 50
    assert set(answer.tables["packets"]["error"]) == {None}
    assert served.done == {"reflected": 50, "unsent": 0}
    assert left == []
    assert seen.done is not None
    (far,) = seen.done["interfaces"]
    assert (far["packets"], far["unparsed"]) == (100, 0)
    of_tap = stamped(seen.tables["segments"], answer.tables["exchanges"])
    both = pl.concat(
        table.with_columns(pl.col("point").cast(pl.String))
        for table in (answer.tables["stamps"], of_tap)
    )
    app, stack = SENDER_PATH[0], SENDER_PATH[2]
    back = SENDER_PATH[3:]
    assert_whole_and_ordered(both, [app, stack, (REQUEST, "far"), (REPLY, "far"), *back], 50)
    # The handshake is over when the request is sent: its stamp is not that of the connection.
    events = [event["packet"] for event in answer.events if "packet" in event]
    packets = {packet["seq"]: packet for packet in events}
    begun = dict(answer.tables["packets"].select("seq", "sent_ns").iter_rows())
    asked = both.filter((pl.col("point") == "app") & (pl.col("leg") == REQUEST))
    for seq, time_ns in asked.select("seq", "time_ns").iter_rows():
        assert time_ns - begun[seq] >= packets[seq]["handshake_ns"] > 0


def test_a_closed_port_is_named(joined: Pair) -> None:
    with joined.agent(joined.left) as sender:
        answer = sender.run(requests(count=5))
    assert answer.tables["packets"]["outcome"].to_list() == ["closed"] * 5


@pytest.mark.parametrize("fields", [{"path": "/a b"}, {"path": ""}, {"host": "a\r\nb: c"}])
def test_a_request_cannot_be_split(joined: Pair, fields: dict[str, Any]) -> None:
    with joined.agent(joined.left) as sender:
        answer = sender.run(requests(ask=fields))
    assert answer.error is not None
    assert "not those of an HTTP request" in answer.error["why"]
