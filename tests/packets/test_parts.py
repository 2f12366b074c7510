"""Parts of tables that come while a request runs."""

from __future__ import annotations

import fcntl
import signal
from collections import Counter
from typing import Any

import polars as pl
import pytest

from delaylab.agent.measuring_requests import Probe
from delaylab.agent.table_schemas import SCHEMAS
from delaylab.agent.tables import Form
from delaylab_study.trial.frames import decode
from delaylab_study.trial.frames import joined as whole
from tests.packets.agents import TABLE, Agent, Answer, Pair, probe
from tests.packets.paths import SENDER_PATH, assert_whole_and_ordered
from tests.packets.responder import DOUBLED, DROPPED, HELD, RELEASES
from tests.packets.test_fates import misbehaving
from tests.packets.test_tap import tap
from tests.waiting import PATIENCE_S

EVERY_NS = 50_000_000
MS = 1_000_000


def next_part(agent: Agent) -> tuple[str, pl.DataFrame]:
    """Read up to the next table frame, and return its name and its rows."""
    while True:
        kind, payload = agent.frame()
        if kind == TABLE:
            name = payload[1 : 1 + payload[0]].decode()
            return name, decode(SCHEMAS[name], payload[1 + payload[0] :])


def joined_with(parts: dict[str, list[pl.DataFrame]], answer: Answer) -> dict[str, pl.DataFrame]:
    """Return the tables of parts that were read before, and of the rest."""
    return {name: pl.concat([*parts.get(name, []), rest]) for name, rest in answer.tables.items()}


def test_a_probes_parts_come_before_its_end_and_are_its_tables_with_the_rest(joined: Pair) -> None:
    count = 400
    parts: dict[str, list[pl.DataFrame]] = {}
    with joined.agent(joined.left) as agent:
        agent.start(probe(count=count, parts_ns=EVERY_NS))
        for _ in range(4):
            name, rows = next_part(agent)
            parts.setdefault(name, []).append(rows)
        early = {name: sum(map(len, rows)) for name, rows in parts.items()}
        answer = agent.answer()
    assert answer.done is not None
    assert (answer.done["sent"], answer.done["replied"]) == (count, count)
    assert 0 < early["packets"] < count
    tables = joined_with(parts, answer)
    assert sorted(tables["packets"]["seq"]) == list(range(count))
    assert set(tables["packets"]["outcome"]) == {"replied"}
    assert_whole_and_ordered(tables["stamps"], SENDER_PATH, count)


def test_a_packet_whose_fate_changes_has_another_row_that_counts(joined: Pair) -> None:
    """One reply comes long after the packet was taken for lost, another one twice."""
    with misbehaving(joined) as port, joined.agent(joined.left) as agent:
        fields: dict[str, Any] = {
            "protocol": "udp", "port": port, "count": 40, "interval_ns": 20 * MS,
            "late_ns": 10 * MS, "stamps": ["app"], "linger_ns": 200 * MS, "parts_ns": 5 * MS,
        }  # fmt: skip
        answer = agent.run(probe(**fields))
    rows = answer.tables["packets"]
    of_held = rows.filter(seq=HELD)["outcome"].to_list()
    assert of_held[-1] == "late"
    # 4 intervals pass until it is answered, in which at least one part has it as lost.
    assert of_held == ["lost", "late"], RELEASES
    assert len(answer.parts["packets"]) > 1, "else the test shows nothing"
    packets = whole(Form(SCHEMAS["packets"], Probe.keys["packets"]), answer.parts["packets"])
    assert packets["seq"].to_list() == list(range(40))
    fates = dict(packets.select("seq", "outcome").iter_rows())
    assert (fates[HELD], fates[DROPPED]) == ("late", "lost")
    assert packets.filter(pl.col("duplicates") > 0)["seq"].to_list() == [DOUBLED]
    stamps = answer.tables["stamps"].select("seq", "leg", "point")
    assert stamps.is_unique().all(), "a stamp comes once"


def test_what_came_before_the_agent_was_killed_is_kept(joined: Pair) -> None:
    with joined.agent(joined.left) as agent:
        agent.start(probe(count=10_000, parts_ns=EVERY_NS))
        parts: dict[str, list[pl.DataFrame]] = {"stamps": [], "packets": []}
        while sum(map(len, parts["packets"])) < 50:
            name, rows = next_part(agent)
            parts[name].append(rows)
        agent.process.send_signal(signal.SIGKILL)
        agent.process.wait(timeout=PATIENCE_S)
    packets = pl.concat(parts["packets"])
    assert packets["seq"].to_list() == list(range(len(packets)))
    assert set(packets["outcome"]) == {"replied"}
    stamps = pl.concat(parts["stamps"]).filter(pl.col("seq") < len(packets))
    assert_whole_and_ordered(stamps, SENDER_PATH, len(packets))


def test_a_slow_reader_holds_up_no_packet(joined: Pair) -> None:
    count = 3000
    # A responder, since the kernel answers ICMP in all namespaces of a CPU by one socket: another
    # test's answers that wait for a neighbour's address can fill its buffer.
    with (
        joined.agent(joined.right) as responder,
        joined.agent(joined.left) as agent,
        joined.agent(joined.left) as witness,
    ):
        ready = responder.start({"op": "reflect", "port": 0, "ip": 4, "stamps": False, "probe": 7})
        port = ready["ready"]["port"]
        # One page: it is full with the first part.
        fcntl.fcntl(agent.output, fcntl.F_SETPIPE_SZ, 4096)
        udp = {"protocol": "udp", "port": port, "count": count, "interval_ns": MS}
        agent.start(probe(**udp, parts_ns=1, stamps=["app"]))
        # Another probe of two seconds is the clock: meanwhile nobody reads.
        witness.run(probe(count=200, interval_ns=10 * MS))
        answer = agent.answer()
    assert answer.done is not None
    packets = answer.tables["packets"].sort("seq")
    assert Counter(packets["outcome"]) == {"replied": count}
    assert answer.done["replied"] == count
    assert packets["seq"].to_list() == list(range(count))
    sent = packets["sent_ns"]
    assert sent[-1] - sent[0] < 2 * count * MS, "the schedule was kept"


@pytest.mark.parametrize("batch", [1, 64])
def test_a_flood_gives_whole_tables_too(joined: Pair, batch: int) -> None:
    count = 20_000
    with joined.agent(joined.left) as agent:
        request = probe(count=count, interval_ns=0, batch=batch, parts_ns=1, stamps=["app"])
        answer = agent.run(request)
    packets = answer.tables["packets"]
    assert answer.done is not None
    assert packets["seq"].n_unique() == count
    last = packets.unique("seq", keep="last")
    assert len(last.filter(outcome="replied")) == answer.done["replied"]


def test_a_taps_parts_come_before_its_end(joined: Pair) -> None:
    count = 400
    with joined.agent(joined.left) as sender, joined.agent(joined.right) as watcher:
        watcher.start(tap("far", "right", parts_ns=EVERY_NS))
        sender.start(probe(count=count))
        name, first = next_part(watcher)
        assert name == "stamps"
        assert 0 < len(first) < 2 * count
        sender.answer()
        rest = watcher.stop()
    stamps = pl.concat([first, rest.tables["stamps"]])
    assert len(stamps) == 2 * count
    assert stamps.select("seq", "leg").is_unique().all()
