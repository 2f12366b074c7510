"""Taps and reflectors keep a bounded number of stamps, also if another node forges packets."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from tests.packets.agents import Pair, probe
from tests.packets.test_tap import FORMS, tap

PORT, COUNT = 5001, 10


def sent(**fields: Any) -> dict[str, Any]:
    return probe(protocol="udp", port=PORT, count=COUNT) | fields


def test_a_reflector_stamps_each_packet_of_its_probe_once(joined: Pair) -> None:
    request = {"op": "reflect", "port": PORT, "ip": 4, "stamps": True, "probe": 7}
    with joined.agent(joined.left) as sender, joined.agent(joined.right) as responder:
        responder.start(request | {"packets": COUNT})
        first = sender.run(sent())
        again = sender.run(sent())
        sender.run(sent(first_seq=COUNT, count=5))
        sender.run(sent(probe=8))
        reflected = responder.stop()
    assert again.done is not None
    assert again.done["replied"] == COUNT, "it answers them all"
    assert reflected.done == {"reflected": 3 * COUNT + 5, "unsent": 5}
    stamps = reflected.tables["stamps"]
    key = ["probe", "seq", "leg", "point"]
    assert stamps.height == stamps.select(key).n_unique() == 5 * COUNT
    assert sorted(set(stamps["seq"])) == list(range(COUNT))
    assert stamps["time_ns"].max() < again.tables["packets"]["sent_ns"].min()  # type: ignore[operator]
    assert stamps["time_ns"].min() > first.tables["packets"]["sent_ns"].min()  # type: ignore[operator]


@pytest.mark.parametrize("form", FORMS)
def test_a_tap_keeps_some_repeats_and_counts_the_others(joined: Pair, form: str) -> None:
    room = 3
    with joined.agent(joined.left) as sender, joined.agent(joined.right) as watcher:
        wanted = {"protocol": "icmp", "packets": COUNT}
        watcher.start(tap("far", "right", filter=wanted, repeats=room, **FORMS[form]))
        for first_seq in (0, 0, 5):
            sender.run(probe(count=COUNT, first_seq=first_seq))
        seen = watcher.stop()
    assert seen.done is not None
    (far,) = seen.done["interfaces"]
    # Of each packet the request and the reply; the last run's second half is not of the probe.
    assert {name: far[name] for name in ("packets", "repeated", "unkept", "unsent")} == {
        "packets": 2 * COUNT,
        "repeated": 3 * COUNT,
        "unkept": 3 * COUNT - room,
        "unsent": COUNT,
    }
    assert seen.tables["stamps"].height == 2 * COUNT
    assert seen.tables["repeats"].height == room
    both = pl.concat(seen.tables[name] for name in ("stamps", "repeats"))
    assert set(both["seq"]) == set(range(COUNT))
