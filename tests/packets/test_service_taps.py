"""Taps at the sockets of a service: between the network stack and the program."""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.packets.agents import Agent, Pair, address, probe
from tests.packets.paths import REPLY, REQUEST
from tests.packets.test_tap import tap
from tests.waiting import wait_until_gone

PORT, COUNT = 5001, 50
# bpf(2) on x86-64, and what it is asked (linux/bpf.h).
BPF, QUERY, INGRESS, MOST_PROGRAMS = 321, 16, 0, 64


def at_sockets(namespace: int, ip: int) -> dict[str, Any]:
    """A request to tap the sockets of the responder's port in a namespace."""
    wanted = {"protocol": "udp", "ip": ip, "port": PORT}
    request = tap("unused", "unused", filter=wanted)
    return request | {"interfaces": [], "sockets": {"point": "at", "namespace": namespace}}


def namespace_of(agent: Agent) -> int:
    done = agent.run({"op": "hello"}).done
    assert done is not None
    return int(done["namespace"])


@pytest.mark.parametrize("ip", [4, 6])
def test_packets_are_stamped_between_the_stack_and_the_program(joined: Pair, ip: int) -> None:
    with (
        joined.agent(joined.left) as sender,
        joined.agent(joined.left) as watcher,
        joined.agent(joined.left) as elsewhere,
        joined.agent(joined.right) as responder,
    ):
        own, other = namespace_of(responder), namespace_of(sender)
        assert len({own, other, 0}) == 3
        reflect = {"op": "reflect", "port": PORT, "ip": ip, "stamps": True, "probe": 7}
        responder.start(reflect)
        # Whoever loads the programs, they see the sockets of the namespace that is asked for.
        watcher.start(at_sockets(own, ip))
        elsewhere.start(at_sockets(other, ip))
        sender.run(probe(to=address(ip, 2), protocol="udp", port=PORT, count=COUNT))
        seen, unseen, there = (each.stop() for each in (watcher, elsewhere, responder))
    assert seen.done is not None
    assert unseen.done is not None
    (counts,), (none,) = seen.done["interfaces"], unseen.done["interfaces"]
    assert (counts["point"], counts["by"], counts["packets"]) == ("at", "socket", 2 * COUNT)
    assert {counts[name] for name in ("dropped", "unparsed", "repeated", "unsent")} == {0}
    assert none["packets"] == 0, "the sender's namespace has no such service"
    at, by_program = seen.tables["stamps"], there.tables["stamps"]

    def times(table: pl.DataFrame, leg: int, point: str) -> list[int]:
        of = table.filter(pl.col("leg") == leg, pl.col("point").cast(pl.String) == point)
        found = of.sort("seq")["time_ns"].to_list()
        assert len(found) == COUNT
        return found

    for leg, order in (
        (REQUEST, ((by_program, "stack"), (at, "at"), (by_program, "app"))),
        (REPLY, ((by_program, "app"), (at, "at"), (by_program, "stack"))),
    ):
        stamps = [times(table, leg, point) for table, point in order]
        assert all(one < two < three for one, two, three in zip(*stamps, strict=True))


def test_a_tap_pauses(joined: Pair) -> None:
    with (
        joined.agent(joined.left) as sender,
        joined.agent(joined.right) as watcher,
        joined.agent(joined.right) as responder,
    ):
        responder.start({"op": "reflect", "port": PORT, "ip": 4, "stamps": False, "probe": 0})
        watcher.start(at_sockets(0, 4))
        first = {"to": address(4, 2), "protocol": "udp", "port": PORT, "count": 5}
        for number, (paused, seq) in enumerate(((False, 0), (True, 5), (False, 10))):
            if number:
                watcher.send({"pause": paused})
                assert watcher.event() == {"paused": paused}
            sender.run(probe(**first, first_seq=seq))
        seen = watcher.stop()
    assert sorted(set(seen.tables["stamps"]["seq"])) == [*range(5), *range(10, 15)]


def test_the_programs_end_with_their_agent(joined: Pair) -> None:
    with joined.agent(joined.right) as watcher:
        watcher.start(at_sockets(namespace_of(watcher), 4))
        loaded = programs_of(watcher.process.pid)
        assert loaded & at_root(), "they are at the root control group"
        watcher.process.kill()
        wait_until_gone(lambda: loaded & at_root())


@pytest.mark.parametrize(
    "wrong",
    [
        {"interfaces": [{"name": "right", "point": "too"}]},
        {"pcap": "/nowhere.pcapng"},
        {"capture_bytes": 1000},
        {"filter": {"protocol": "udp", "ip": 4, "probe": 7}},
    ],
)
def test_what_a_tap_at_sockets_cannot_do(joined: Pair, wrong: dict[str, Any]) -> None:
    with joined.agent(joined.right) as watcher:
        answer = watcher.run(at_sockets(0, 4) | wrong)
    assert answer.error is not None
    assert answer.error["what"] == "tap sockets"
    assert "needs a port" in answer.error["why"]


def programs_of(process: int) -> set[int]:
    """The numbers of the programs that a process holds."""
    found = set()
    for entry in Path(f"/proc/{process}/fdinfo").iterdir():
        lines = dict(line.split(":", 1) for line in entry.read_text().splitlines() if ":" in line)
        if "prog_id" in lines:
            found.add(int(lines["prog_id"]))
    return found


def at_root() -> set[int]:
    """The numbers of the programs for incoming packets at the root control group."""
    groups = next(
        line.split()[1]
        for line in Path("/proc/mounts").read_text().splitlines()
        if line.split()[2] == "cgroup2"
    )
    folder = os.open(groups, os.O_RDONLY)
    numbers = (ctypes.c_uint32 * MOST_PROGRAMS)()
    request = struct.pack(
        "=IIIIQI", folder, INGRESS, 0, 0, ctypes.addressof(numbers), MOST_PROGRAMS
    )
    asked = ctypes.create_string_buffer(request.ljust(64, b"\0"), 64)
    failed = ctypes.CDLL(None, use_errno=True).syscall(BPF, QUERY, asked, len(asked))
    os.close(folder)
    assert failed == 0, os.strerror(ctypes.get_errno())
    return {number for number in numbers if number}
