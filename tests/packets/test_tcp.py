"""Probes by TCP handshakes: stamps, closed ports, lost SYNs, and what they leave behind."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

from tests.packets.agents import Agent, Pair, address, mac, probe, run
from tests.packets.paths import REPLY, REQUEST, SENDER_PATH, assert_whole_and_ordered
from tests.packets.test_tap import tap

PORT = 8462
FIRST = 10_240
"""The source port of the packet with sequence number 0."""
NOBODY = "10.9.0.9"


def handshakes(**fields: Any) -> dict[str, Any]:
    """A request for a probe by TCP."""
    stamps = ["app", "stack"]
    return probe(protocol="tcp", port=PORT, ident=FIRST, size=0, stamps=stamps) | fields


def sockets(namespace: str) -> list[str]:
    """The TCP sockets of a namespace, whatever their state."""
    return run("ss", "-Htan", namespace=namespace).splitlines()


@contextlib.contextmanager
def listening(joined: Pair, ip: int = 4) -> Iterator[Agent]:
    """A listener at the right end."""
    with joined.agent(joined.right) as responder:
        reflect = {"op": "reflect", "protocol": "tcp", "port": PORT, "ip": ip, "stamps": True}
        assert responder.start(reflect) == {"ready": {"port": PORT}}
        yield responder


def blackhole(joined: Pair) -> None:
    """Make the left end send packets for NOBODY to a hardware address that nothing has."""
    neighbour = f"neighbour add {NOBODY} lladdr {mac(9)} dev left"
    run("ip", *neighbour.split(), namespace=joined.left)


@pytest.mark.parametrize("ip", [4, 6])
def test_a_handshake_is_stamped_by_program_kernel_and_tap(joined: Pair, ip: int) -> None:
    wanted = {"protocol": "tcp", "ip": ip, "port": PORT, "ident": FIRST}
    with (
        listening(joined, ip) as responder,
        joined.agent(joined.left) as sender,
        joined.agent(joined.right) as watcher,
    ):
        watcher.start(tap("far", "right", filter=wanted))
        answer = sender.run(handshakes(to=address(ip, 2), first_seq=20))
        seen = watcher.stop()
        accepted = responder.stop()
    assert answer.done is not None
    assert (answer.done["replied"], answer.done["by"]) == (50, "ring")
    assert answer.tables["packets"]["outcome"].to_list() == ["replied"] * 50
    assert accepted.done == {"reflected": 50, "unsent": 0}
    assert seen.done is not None
    (far,) = seen.done["interfaces"]
    assert (far["packets"], far["unparsed"], far["by"]) == (100, 0, "ring")
    both = pl.concat(
        table.with_columns(pl.col("point").cast(pl.String))
        for table in (answer.tables["stamps"], seen.tables["stamps"])
    )
    app, stack = SENDER_PATH[0], SENDER_PATH[2]
    back = SENDER_PATH[3:]
    assert_whole_and_ordered(both, [app, stack, (REQUEST, "far"), (REPLY, "far"), *back], 50)
    assert sorted(both["seq"].unique()) == list(range(20, 70))


def test_a_closed_port_answers_and_is_named(joined: Pair) -> None:
    with joined.agent(joined.left) as sender:
        answer = sender.run(handshakes(count=10))
    assert answer.done is not None
    assert answer.done["replied"] == 10
    assert answer.tables["packets"]["outcome"].to_list() == ["closed"] * 10
    path = [step for step in SENDER_PATH if step[1] != "qdisc"]
    assert_whole_and_ordered(answer.tables["stamps"], path, 10)


def test_a_lost_syn_is_lost_and_not_sent_again(joined: Pair) -> None:
    """The kernel would send it again after 1 s; the probe takes almost 2 s."""
    blackhole(joined)
    wanted = {"protocol": "tcp", "port": PORT, "ident": FIRST}
    with joined.agent(joined.left) as sender, joined.agent(joined.left) as watcher:
        watcher.start(tap("near", "left", filter=wanted))
        request = handshakes(to=NOBODY, count=3, interval_ns=500_000_000, linger_ns=10_000_000_000)
        answer = sender.run(request)
        seen = watcher.stop()
    packets = answer.tables["packets"]
    assert packets["outcome"].to_list() == ["lost"] * 3
    assert set(packets["error"]) == {"no answer for 0.9 s"}
    assert seen.done is not None
    (near,) = seen.done["interfaces"]
    assert near["packets"] == 3
    # It is given up just before the kernel would repeat it: a busy machine may be late by one. The
    # kernel alone would repeat each of them three times while the probe waits.
    assert near["repeated"] < 3


def test_connections_leave_nothing_at_either_end(joined: Pair) -> None:
    with listening(joined), joined.agent(joined.left) as sender:
        answer = sender.run(handshakes(count=200, interval_ns=0))
        assert answer.done is not None
        assert answer.done["replied"] == 200
        assert sockets(joined.left) == []
        assert [line.split()[0] for line in sockets(joined.right)] == ["LISTEN"]
    assert sockets(joined.right) == []


def test_a_killed_probe_leaves_no_connection(joined: Pair) -> None:
    blackhole(joined)
    with joined.agent(joined.left) as sender:
        sender.start(handshakes(to=NOBODY, count=1000, interval_ns=10_000_000, live=True))
        # The first live packet is reported as lost: by then some ninety connections are open.
        sender.event()
        assert sockets(joined.left) != []
        sender.process.kill()
        sender.process.wait()
        assert sockets(joined.left) == []


def test_a_source_port_that_is_taken_is_a_refused_packet(joined: Pair) -> None:
    with joined.agent(joined.left) as holder, joined.agent(joined.left) as sender:
        taken = {"op": "reflect", "protocol": "tcp", "port": FIRST + 2, "ip": 4, "stamps": False}
        holder.start(taken)
        answer = sender.run(handshakes(count=4))
    packets = answer.tables["packets"]
    assert packets["outcome"].to_list() == ["closed", "closed", "refused", "closed"]
    assert "Address already in use" in packets["error"][2]


def test_an_icmp_error_is_the_reason_of_the_loss(joined: Pair) -> None:
    """The TTL is used up on the way, since the right end forwards back to the left."""
    run("ip", "route", "add", "192.0.2.0/24", "via", "10.9.0.2", namespace=joined.left)
    run("ip", "route", "add", "192.0.2.0/24", "via", "10.9.0.1", namespace=joined.right)
    run("sysctl", "-qw", "net.ipv4.ip_forward=1", namespace=joined.right)
    with joined.agent(joined.left) as sender:
        answer = sender.run(handshakes(to="192.0.2.1", count=2, ttl=1))
    packets = answer.tables["packets"]
    assert packets["outcome"].to_list() == ["lost"] * 2
    assert "ICMP type 11 code 0, from 10.9.0.2" in packets["error"][0]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"port": 0}, "needs a port"),
        ({"mode": "packet"}, 'mode "socket"'),
        ({"hops": 3}, "no hops"),
        ({"ident": 65_530}, "at most 65536"),
    ],
)
def test_an_impossible_request_is_refused(joined: Pair, fields: dict[str, Any], says: str) -> None:
    with joined.agent(joined.left) as sender:
        answer = sender.run(handshakes(**fields))
    assert answer.error is not None
    assert says in answer.error["why"]
