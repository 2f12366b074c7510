"""What a probe says of its packets: stamps, slip, and each packet's fate."""

from __future__ import annotations

import fcntl
import json

import polars as pl
import pytest

from tests.packets.agents import Pair, address, probe, run
from tests.packets.paths import (
    REPLY,
    REQUEST,
    SENDER_PATH,
    Path,
    assert_ordered,
    assert_whole_and_ordered,
)

REFLECTOR_PATH: Path = [
    (REQUEST, "stack"),
    (REQUEST, "app"),
    (REPLY, "app"),
    (REPLY, "qdisc"),
    (REPLY, "stack"),
]


@pytest.mark.parametrize("ip", [4, 6])
@pytest.mark.parametrize("socket", ["datagram", "raw"])
def test_icmp_stamps_are_whole_and_ordered(joined: Pair, ip: int, socket: str) -> None:
    if socket == "raw":
        run("sysctl", "-qw", "net.ipv4.ping_group_range=1 0", namespace=joined.left)
    with joined.agent(joined.left) as agent:
        answer = agent.run(probe(to=address(ip, 2), count=50, first_seq=1000))
    assert answer.error is None
    assert answer.done is not None
    assert answer.done["replied"] == 50
    assert answer.done["warnings"] == []
    assert_whole_and_ordered(answer.tables["stamps"], SENDER_PATH, 50)
    assert answer.tables["packets"]["seq"].to_list() == list(range(1000, 1050))


@pytest.mark.parametrize("ip", [4, 6])
def test_udp_stamps_of_both_ends_are_whole_and_ordered(joined: Pair, ip: int) -> None:
    with joined.agent(joined.left) as sender, joined.agent(joined.right) as responder:
        ready = responder.start({"op": "reflect", "port": 0, "ip": ip, "stamps": True, "probe": 7})
        port = ready["ready"]["port"]
        answer = sender.run(probe(protocol="udp", to=address(ip, 2), port=port, size=1400))
        reflected = responder.stop()
    assert answer.error is None
    assert reflected.done == {"reflected": 50, "unsent": 0}
    assert_whole_and_ordered(answer.tables["stamps"], SENDER_PATH, 50)
    assert_whole_and_ordered(reflected.tables["stamps"], REFLECTOR_PATH, 50)
    both = pl.concat(
        table.with_columns(point=prefix + pl.col("point").cast(pl.String))
        for prefix, table in (
            (pl.lit("sender."), answer.tables["stamps"]),
            (pl.lit("responder."), reflected.tables["stamps"]),
        )
    )
    there = [(leg, f"sender.{point}") for leg, point in SENDER_PATH]
    back = [(leg, f"responder.{point}") for leg, point in REFLECTOR_PATH]
    assert_whole_and_ordered(both, there[:3] + back + there[3:], 50)


def test_only_the_stamps_asked_for_are_taken(joined: Pair) -> None:
    with joined.agent(joined.left) as agent:
        app = agent.run(probe(count=5, stamps=["app"])).tables["stamps"]
        stack = agent.run(probe(count=5, stamps=["stack"])).tables["stamps"]
    assert app["point"].cast(pl.String).to_list() == ["app"] * 10
    assert stack["point"].cast(pl.String).to_list() == ["stack"] * 10


def test_a_late_sender_sends_everything_and_records_its_slip(joined: Pair) -> None:
    """10000 packets at 1 µs are more than any sender here can send in time."""
    with joined.agent(joined.left) as agent:
        answer = agent.run(probe(count=10_000, interval_ns=1_000, stamps=["app"]))
    packets = answer.tables["packets"]
    assert (packets["intended_ns"].diff().drop_nulls() == 1_000).all()
    assert packets["sent_ns"].null_count() == 0
    slip = packets["sent_ns"] - packets["intended_ns"]
    assert (slip >= 0).all()
    took = packets["sent_ns"][-1] - packets["sent_ns"][0]
    assert took > 12_000_000, "the sender must have been slower than its schedule"
    assert slip[-1] > 2_000_000, "so the last packet must have slipped"


def test_packets_at_an_address_that_is_not_there_are_lost_with_the_reason(joined: Pair) -> None:
    with joined.agent(joined.left) as agent:
        answer = agent.run(probe(to="10.9.0.77", count=3, linger_ns=4_000_000_000))
    packets = answer.tables["packets"]
    assert packets["outcome"].to_list() == ["lost"] * 3
    assert all("No route to host" in error for error in packets["error"])


def test_a_closed_udp_port_is_named_as_the_reason(joined: Pair) -> None:
    with joined.agent(joined.left) as agent:
        answer = agent.run(probe(protocol="udp", port=9, count=3))
    packets = answer.tables["packets"]
    assert packets["outcome"].to_list() == ["lost"] * 3
    refused = "Connection refused (os error 111) (ICMP type 3 code 3, from 10.9.0.2)"
    assert packets["error"].to_list() == [refused] * 3


@pytest.mark.parametrize("mode", ["socket", "packet"])
def test_packets_that_the_kernel_refuses_are_refused_not_lost(joined: Pair, mode: str) -> None:
    """A queue of a few packets at 1 Mbit/s under a burst far above that: the kernel says
    ENOBUFS for most, and the stamps of the others must still be theirs. A stamp in doubt may be
    left out (many are, if the machine is busy), but is never given to another packet."""
    queue = "qdisc add dev left root tbf rate 1mbit burst 2000 limit 6000"
    with joined.agent(joined.left) as agent:
        agent.run(probe(count=1))
        run("tc", *queue.split(), namespace=joined.left)
        answer = agent.run(probe(count=300, interval_ns=100_000, size=500, mode=mode))
    packets = answer.tables["packets"]
    fates = packets.group_by("outcome").agg(pl.col("error").unique())
    refused = "No buffer space available (os error 105)"
    assert dict(fates.iter_rows()) == {"replied": [None], "refused": [refused]}
    refusals = packets.filter(outcome="refused")
    assert refusals["sent_ns"].null_count() == len(refusals) > 100
    replied = packets.filter(outcome="replied")
    assert len(replied) > 5
    path = [step for step in SENDER_PATH if mode == "socket" or step[1] != "qdisc"]
    stamps = answer.tables["stamps"].join(replied, on="seq", how="semi")
    assert_ordered(stamps, path, len(replied), left_out=len(replied) - 1)


def test_a_destination_that_is_forbidden_is_one_error(joined: Pair) -> None:
    run("ip", "route", "add", "prohibit", "10.9.0.2/32", namespace=joined.left)
    with joined.agent(joined.left) as agent:
        answer = agent.run(probe(count=4))
    assert answer.error is not None
    assert answer.error["what"] == "reach 10.9.0.2"
    assert "Permission denied" in answer.error["why"]


def test_stop_leaves_the_rest_unsent_and_gives_what_there_is(joined: Pair) -> None:
    with joined.agent(joined.left) as agent:
        agent.start(probe(count=1000, interval_ns=10_000_000, live=True))
        for _ in range(5):
            agent.event()
        answer = agent.stop()
    assert answer.done is not None
    outcomes = answer.tables["packets"]["outcome"]
    assert len(outcomes) == 1000
    sent = answer.done["sent"]
    assert 5 <= sent < 1000
    assert (outcomes[sent:] == "unsent").all()
    assert (outcomes[:5] == "replied").all()


def test_live_events_agree_with_the_tables(joined: Pair) -> None:
    with joined.agent(joined.left) as agent:
        answer = agent.run(probe(count=10, live=True, ttl=9))
    packets = {event["packet"]["seq"]: event["packet"] for event in answer.events[1:]}
    assert sorted(packets) == list(range(10))
    stamps = answer.tables["stamps"].filter(pl.col("point").cast(pl.String) == "stack")
    for seq, packet in packets.items():
        sent, received = stamps.filter(seq=seq)["time_ns"]
        assert packet["rtt_stack_ns"] == received - sent
        assert packet["rtt_app_ns"] > packet["rtt_stack_ns"]
        assert (packet["outcome"], packet["from"], packet["ttl"]) == ("replied", "10.9.0.2", 64)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"size": 23}, "size"),
        ({"sice": 100}, "sice"),
        ({"to": "nowhere"}, "not an IPv4 or IPv6 address"),
        ({"first_seq": 2**32 - 1}, "32 bits"),
        ({"protocol": "udp"}, "port"),
    ],
)
def test_a_bad_request_is_one_error_that_names_the_field(
    joined: Pair, change: dict[str, object], why: str
) -> None:
    with joined.agent(joined.left) as agent:
        bad = agent.run(probe(**change))
        assert bad.error is not None
        assert why in bad.error["why"]
        good = agent.run(probe(count=1))
        assert good.done is not None, "the stream takes the next request"


def test_a_slow_reader_neither_holds_up_the_sender_nor_its_end(joined: Pair) -> None:
    """Live packets wait in the agent while their reader is busy; `stop` does not wait for them."""
    with joined.agent(joined.left) as agent, joined.agent(joined.left) as witness:
        room = fcntl.fcntl(agent.output, fcntl.F_GETPIPE_SZ)
        agent.start(probe(count=50_000, interval_ns=20_000, live=True, stamps=["app"]))
        # Another probe of a second is the clock: by its end most packets were sent.
        witness.run(probe(count=200, interval_ns=5_000_000))
        answer = agent.stop()
    assert answer.done is not None
    reported = sum(len(json.dumps(event, separators=(",", ":"))) for event in answer.events)
    # What the pipe and the reader's own buffer had taken, and what was written after that.
    assert len(answer.events) > 0
    assert reported <= 2 * room
    assert answer.done["sent"] > 4 * len(answer.events), "the sender went on"
    packets = answer.tables["packets"]
    assert set(packets["outcome"]) <= {"replied", "unsent", "under-way"}


@pytest.mark.parametrize(("linger_ns", "fate"), [(60_000_000_000, "under-way"), (1, "lost")])
def test_what_a_stop_leaves_unanswered_is_under_way_or_lost(
    joined: Pair, linger_ns: int, fate: str
) -> None:
    """Without a reply so far, a probe's patience with its packets is `linger_ns`."""
    run("sysctl", "-qw", "net.ipv4.icmp_echo_ignore_all=1", namespace=joined.right)
    with joined.agent(joined.left) as agent, joined.agent(joined.left) as witness:
        agent.start(probe(count=10_000, linger_ns=linger_ns, linger_rtt=True))
        # Another probe is the clock: by its end some packets were sent.
        witness.run(probe(to="127.0.0.1", count=20))
        answer = agent.stop()
    assert set(answer.tables["packets"]["outcome"]) == {fate, "unsent"}
