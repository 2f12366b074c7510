"""What taps see of a probe's packets."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.packets.agents import Pair, address, probe, run
from tests.packets.paths import REPLY, REQUEST, SENDER_PATH, assert_whole_and_ordered


def tap(point: str, interface: str, **fields: Any) -> dict[str, Any]:
    """A tap request for one interface."""
    wanted: dict[str, Any] = {"probe": 7, "protocol": "icmp", "ident": 0, "ip": 4, "port": 0}
    request = {"op": "tap", "interfaces": [{"name": interface, "point": point}], "pcap": None}
    return request | {"filter": wanted | fields.pop("filter", {})} | fields


FORMS: dict[str, dict[str, object]] = {
    "tcx": {"tcx": True},
    "ring": {"tcx": False},
    "together": {"together": True},
}
"""The fields of a request for each way to get packets."""


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ip", [4, 6])
@pytest.mark.parametrize("protocol", ["icmp", "udp"])
def test_a_tap_sees_every_packet_between_the_stamps_of_the_sender(
    joined: Pair, ip: int, protocol: str, form: str
) -> None:
    port = 5001 if protocol == "udp" else 0
    wanted = {"protocol": protocol, "ip": ip, "port": port}
    with (
        joined.agent(joined.left) as sender,
        joined.agent(joined.right) as watcher,
        joined.agent(joined.right) as responder,
    ):
        if port:
            reflect = {"op": "reflect", "port": port, "ip": ip, "stamps": False, "probe": 0}
            responder.start(reflect)
        watcher.start(tap("far", "right", filter=wanted, **FORMS[form]))
        # Another probe's packets, which the tap must not see.
        sender.run(probe(to=address(ip, 2), protocol=protocol, port=port, probe=8, count=5))
        answer = sender.run(probe(to=address(ip, 2), protocol=protocol, port=port))
        seen = watcher.stop()
    assert seen.done is not None
    far: dict[str, object] = {
        "point": "far",
        "packets": 100,
        "dropped": 0,
        "unparsed": 0,
        "repeated": 0,
        "unkept": 0,
        "unsent": 0,
    }
    by = "tcx" if form == "tcx" else "ring"
    far |= {"by": by, "queue": "noqueue", "queue_after": "noqueue", "queue_changed": False}
    assert seen.done["interfaces"] == [far]
    both = pl.concat(
        table.with_columns(pl.col("point").cast(pl.String))
        for table in (answer.tables["stamps"], seen.tables["stamps"])
    )
    path = [*SENDER_PATH[:3], (REQUEST, "far"), (REPLY, "far"), *SENDER_PATH[3:]]
    assert_whole_and_ordered(both, path, 50)


def test_many_interfaces_are_one_tap_and_one_capture(joined: Pair, tmp_path: Path) -> None:
    capture = tmp_path / "probe.pcapng"
    with joined.agent(joined.left) as sender, joined.agent(joined.left) as watcher:
        request = tap("sender.vif", "left", pcap=str(capture))
        request["interfaces"].append({"name": "lo", "point": "loop"})
        watcher.start(request)
        # The tap is emptied only when all has passed: both points have packets of both times then.
        watcher.process.send_signal(signal.SIGSTOP)
        try:
            sender.run(probe(count=5, to="127.0.0.1", first_seq=20))
            sender.run(probe(count=20))
            sender.run(probe(count=5, first_seq=25, to="127.0.0.1"))
        finally:
            watcher.process.send_signal(signal.SIGCONT)
        seen = watcher.stop()
    assert seen.done is not None
    counts = {each["point"]: each for each in seen.done["interfaces"]}
    assert counts["sender.vif"]["packets"] == 40
    # On loopback a packet passes the tap twice: leaving and arriving.
    assert (counts["loop"]["packets"], counts["loop"]["repeated"]) == (20, 20)
    fields = ["-e", "frame.interface_name", "-e", "frame.time_epoch", "-e", "icmp.seq"]
    shown = subprocess.run(
        ["tshark", "-n", "-r", str(capture), "-T", "fields", *fields],
        check=True, capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    rows = [line.split("\t") for line in shown]
    assert len(rows) == 80
    assert {row[0] for row in rows} == {"sender.vif", "loop"}
    stamps = seen.tables["stamps"].filter(pl.col("point").cast(pl.String) == "sender.vif")
    captured = {int(row[1].replace(".", "")) for row in rows if row[0] == "sender.vif"}
    assert captured == set(stamps["time_ns"]), "nanoseconds, as in the table"
    times = [int(row[1].replace(".", "")) for row in rows]
    assert times == sorted(times), "whatever tap was emptied first"
    assert list(tmp_path.iterdir()) == [capture]


@pytest.mark.parametrize("room", [1 << 20, 2_000])
def test_a_capture_in_memory_is_sent_at_the_end(joined: Pair, tmp_path: Path, room: int) -> None:
    """It is as long as there is room, from the first packet on, and the others are counted."""
    capture = tmp_path / "probe.pcapng"
    with joined.agent(joined.left) as sender, joined.agent(joined.left) as watcher:
        watcher.start(tap("sender.vif", "left", capture_bytes=room))
        sender.run(probe(count=20))
        seen = watcher.stop()
    assert seen.done is not None
    assert len(seen.output) <= room
    capture.write_bytes(seen.output)
    fields = ["-T", "fields", "-e", "icmp.seq"]
    shown = subprocess.run(
        ["tshark", "-n", "-r", str(capture), *fields], check=True, capture_output=True, text=True
    ).stdout.split()
    assert len(shown) + seen.done["uncaptured"] == 40
    assert (seen.done["uncaptured"] == 0) == (room > 2_000)
    assert shown[:2] == ["0", "0"]


def test_one_ring_of_all_interfaces_tells_them_apart(joined: Pair) -> None:
    """It counts and stamps at each named interface alone, those seen again included."""
    with joined.agent(joined.left) as sender, joined.agent(joined.left) as watcher:
        request = tap("sender.vif", "left", together=True)
        request["interfaces"].append({"name": "lo", "point": "loop"})
        watcher.start(request)
        sender.run(probe(count=20))
        sender.run(probe(count=10, first_seq=20, to="127.0.0.1"))
        assert watcher.start({"pause": True}) == {"paused": True}
        sender.run(probe(count=5, first_seq=30))
        assert watcher.start({"pause": False}) == {"paused": False}
        sender.run(probe(count=5, first_seq=40))
        seen = watcher.stop()
    assert seen.done is not None
    counts = {
        each["point"]: (each["packets"], each["repeated"]) for each in seen.done["interfaces"]
    }
    assert counts == {"sender.vif": (50, 0), "loop": (20, 20)}
    assert {each["by"] for each in seen.done["interfaces"]} == {"ring"}
    stamps, repeats = (
        seen.tables[name].with_columns(pl.col("point").cast(pl.String))
        for name in ("stamps", "repeats")
    )
    assert sorted(set(stamps.filter(point="sender.vif")["seq"])) == [*range(20), *range(40, 45)]
    again = stamps.filter(point="loop").join(repeats, on=["seq", "leg", "point"], suffix="_again")
    assert len(again) == len(repeats) == 20
    assert (again["time_ns_again"] >= again["time_ns"]).all()


def test_a_ring_of_all_interfaces_keeps_no_packets(joined: Pair, tmp_path: Path) -> None:
    with joined.agent(joined.right) as watcher:
        request = tap("far", "right", together=True, pcap=str(tmp_path / "x.pcapng"))
        answer = watcher.run(request)
    assert answer.error is not None
    assert "keeps no packets" in answer.error["why"]


@pytest.mark.parametrize("by", ["tcx", "ring"])
def test_a_tap_that_pauses_is_off_its_interface_and_goes_on_later(joined: Pair, by: str) -> None:
    def sockets() -> int:
        listed = run("cat", "/proc/net/packet", namespace=joined.right)
        return len(listed.splitlines()) - 1

    with joined.agent(joined.left) as sender, joined.agent(joined.right) as watcher:
        watcher.start(tap("far", "right", tcx=by == "tcx"))
        # A program has a socket beside it that sees the interface go, and so has a ring.
        there = 1 if by == "tcx" else 2
        assert sockets() == there
        for first, paused in ((0, True), (10, False), (20, None)):
            sender.run(probe(count=10, first_seq=first))
            if paused is not None:
                assert watcher.start({"pause": paused}) == {"paused": paused}
                assert sockets() == (0 if paused else there)
        seen = watcher.stop()
    assert seen.done is not None
    (far,) = seen.done["interfaces"]
    assert (far["by"], far["packets"], far["dropped"]) == (by, 40, 0)
    assert sorted(set(seen.tables["stamps"]["seq"])) == [*range(10), *range(20, 30)]


def test_a_queue_that_appears_under_a_tap_is_told(joined: Pair) -> None:
    with joined.agent(joined.left) as watcher:
        watcher.start(tap("near", "left"))
        limit_rate(joined, "add", limit=100_000)
        seen = watcher.stop()
    assert seen.done is not None
    (near,) = seen.done["interfaces"]
    assert (near["by"], near["queue"], near["queue_after"]) == ("tcx", "noqueue", "tbf")
    assert near["queue_changed"]


@pytest.mark.parametrize("limit", [100_000, 50_000])
def test_a_queue_set_to_another_limit_is_told_and_one_that_worked_is_not(
    joined: Pair, limit: int
) -> None:
    limit_rate(joined, "add", limit=100_000)
    with joined.agent(joined.left) as watcher, joined.agent(joined.left) as sender:
        watcher.start(tap("near", "left"))
        sender.run(probe(count=20))
        limit_rate(joined, "change", limit=limit)
        seen = watcher.stop()
    assert seen.done is not None
    (near,) = seen.done["interfaces"]
    assert (near["by"], near["queue"], near["queue_after"]) == ("ring", "tbf", "tbf")
    assert near["queue_changed"] == (limit != 100_000)


def limit_rate(joined: Pair, verb: str, limit: int) -> None:
    """Give the left interface a queue of so many bytes, or change it."""
    bucket = f"rate 100mbit burst 16000 limit {limit}"
    run(*f"tc qdisc {verb} dev left root tbf {bucket}".split(), namespace=joined.left)


def test_an_interface_that_vanishes_is_named(joined: Pair) -> None:
    with joined.agent(joined.right) as watcher:
        watcher.start(tap("far", "right"))
        run("ip", "link", "delete", "right", namespace=joined.right)
        answer = watcher.answer()
    assert answer.error is not None
    assert answer.error["what"] == "tap right"
    assert answer.error["why"] == "the interface vanished"


@pytest.mark.parametrize("tcx", [True, False])
def test_an_interface_that_goes_down_and_comes_up_again_is_tapped_on(
    joined: Pair, tcx: bool
) -> None:
    with joined.agent(joined.right) as watcher, joined.agent(joined.left) as sender:
        watcher.start(tap("far", "right", tcx=tcx))
        sender.run(probe(count=20))
        run("ip", "link", "set", "right", "down", namespace=joined.right)
        run("ip", "link", "set", "right", "up", namespace=joined.right)
        sender.run(probe(count=20, first_seq=20))
        answer = watcher.stop()
    assert answer.error is None
    seen = answer.tables["stamps"].filter(leg=REQUEST)
    assert seen["seq"].n_unique() == 40


def test_an_interface_that_is_not_there_is_named(joined: Pair) -> None:
    with joined.agent(joined.right) as watcher:
        answer = watcher.run(tap("far", "wrong"))
    assert answer.error is not None
    assert answer.error["what"] == "tap wrong"


def test_a_full_disk_is_an_error_that_names_the_file(joined: Pair) -> None:
    with joined.agent(joined.left) as sender, joined.agent(joined.right) as watcher:
        watcher.start(tap("far", "right", pcap="/dev/full"))
        sender.run(probe(count=3))
        answer = watcher.stop()
    assert answer.error is not None
    assert answer.error["what"] == "write capture /dev/full"
    assert "No space left" in answer.error["why"]


@pytest.mark.parametrize("by", ["tcx", "ring"])
def test_packets_that_find_the_ring_full_are_counted(joined: Pair, by: str) -> None:
    """A tap that does not run for as long as its ring is too small for."""
    count = 100_000
    with joined.agent(joined.left) as sender, joined.agent(joined.right) as watcher:
        watcher.start(tap("far", "right", tcx=by == "tcx"))
        watcher.process.send_signal(signal.SIGSTOP)
        try:
            answer = sender.run(probe(count=count, interval_ns=0, stamps=["app"]))
        finally:
            watcher.process.send_signal(signal.SIGCONT)
        seen = watcher.stop()
    assert answer.done is not None
    assert answer.done["replied"] == count
    assert seen.done is not None
    (far,) = seen.done["interfaces"]
    assert far["by"] == by
    assert far["dropped"] > 0, "the ring must have been full"
    assert far["packets"] + far["dropped"] == 2 * count
    assert len(seen.tables["stamps"]) == far["packets"]
