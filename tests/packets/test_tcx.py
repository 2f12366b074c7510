"""Programs at an interface's hooks: the stamps of packet sockets, for less."""

from __future__ import annotations

import hashlib
import time

import polars as pl
import pytest

from tests.packets.agents import ROOT, Agent, Pair, address, agent_binary, probe, run
from tests.packets.paths import REPLY, REQUEST
from tests.packets.test_tap import tap

BPF = ROOT / "crates" / "os" / "bpf"
KEY = ["seq", "leg"]


@pytest.mark.parametrize(
    ("built", "made_of"),
    [
        ("tcx.o", ("checksum.h", "events.h", "match.h", "tcx.c")),
        ("drop.o", ("drop.c",)),
        ("share.o", ("counters.h", "share.c")),
        ("loss.o", ("loss.c",)),
        ("order.o", ("counters.h", "order.c")),
        ("lan.o", ("lan.c",)),
        ("gate.o", ("gate.c",)),
        ("socket.o", ("events.h", "socket.c")),
        ("drops.o", ("events.h", "kernel.h", "drops.c")),
        ("retransmissions.o", ("events.h", "kernel.h", "sockets.h", "retransmissions.c")),
    ],
)
def test_the_object_is_of_these_sources(built: str, made_of: tuple[str, ...]) -> None:
    sources = b"".join((BPF / name).read_bytes() for name in made_of)
    assert hashlib.sha256(sources).hexdigest().encode() in (BPF / built).read_bytes(), (
        "run crates/os/bpf/compile.sh"
    )


def agreeing(stamps: pl.DataFrame, ring: pl.DataFrame, count: int) -> pl.DataFrame:
    """Both stamps of every packet and leg, side by side; `apart_ns` is by how much later the
    ring's is."""
    both = stamps.join(ring.rename({"time_ns": "ring_ns"}), on=KEY, how="full", coalesce=True)
    assert both.null_count().sum_horizontal().item() == 0, "both saw the same packets"
    assert len(both) == 2 * count
    return both.with_columns((pl.col("ring_ns") - pl.col("time_ns")).alias("apart_ns"))


def assert_same_instants(both: pl.DataFrame, arriving: int) -> None:
    """What arrives has one stamp for all. What leaves meets the hook just before the ring."""
    arrivals = both.filter(pl.col("leg") == arriving)["apart_ns"]
    assert (arrivals == 0).all(), arrivals.describe()
    departures = both.filter(pl.col("leg") != arriving)["apart_ns"]
    assert (departures > 0).all(), departures.min()
    assert departures.min() < 5_000, departures.describe()  # type: ignore[operator]


@pytest.mark.parametrize("ip", [4, 6])
@pytest.mark.parametrize("protocol", ["icmp", "udp"])
def test_a_tap_gives_the_stamps_of_a_packet_ring(joined: Pair, ip: int, protocol: str) -> None:
    port = 5001 if protocol == "udp" else 0
    wanted = {"protocol": protocol, "ip": ip, "port": port}
    with (
        joined.agent(joined.left) as sender,
        joined.agent(joined.right) as fast,
        joined.agent(joined.right) as slow,
        joined.agent(joined.right) as responder,
    ):
        if port:
            reflect = {"op": "reflect", "port": port, "ip": ip, "stamps": False, "probe": 0}
            responder.start(reflect)
        fast.start(tap("far", "right", filter=wanted))
        slow.start(tap("far", "right", filter=wanted, tcx=False))
        sender.run(probe(to=address(ip, 2), protocol=protocol, port=port))
        tables = [watcher.stop().tables["stamps"] for watcher in (fast, slow)]
    stamps, ring = (table.select(*KEY, "time_ns") for table in tables)
    assert_same_instants(agreeing(stamps, ring, 50), arriving=REQUEST)


@pytest.mark.parametrize("mode", ["socket", "packet"])
@pytest.mark.parametrize("ip", [4, 6])
@pytest.mark.parametrize("protocol", ["icmp", "udp"])
def test_a_fast_sender_gives_the_stamps_of_a_packet_ring(
    joined: Pair, ip: int, protocol: str, mode: str
) -> None:
    port = 5001 if protocol == "udp" else 0
    wanted = {"protocol": protocol, "ip": ip, "port": port}
    with (
        joined.agent(joined.left) as sender,
        joined.agent(joined.left) as slow,
        joined.agent(joined.right) as responder,
    ):
        if port:
            reflect = {"op": "reflect", "port": port, "ip": ip, "stamps": False, "probe": 0}
            responder.start(reflect)
        slow.start(tap("ring", "left", filter=wanted, tcx=False))
        answer = sender.run(
            probe(
                to=address(ip, 2),
                protocol=protocol,
                port=port,
                mode=mode,
                count=500,
                batch=8,
                interval_ns=0,
                stamps=["app", "stack"],
            )
        )
        ring = slow.stop().tables["stamps"].select(*KEY, "time_ns")
    assert answer.done is not None
    assert answer.done["by"] == "tcx"
    assert answer.tables["packets"]["outcome"].to_list() == ["replied"] * 500
    stamps = answer.tables["stamps"].filter(pl.col("point").cast(pl.String) == "stack")
    assert_same_instants(agreeing(stamps.select(*KEY, "time_ns"), ring, 500), arriving=REPLY)


@pytest.mark.parametrize("tcx", [True, False])
def test_packet_mode_stamps_what_was_asked_for(joined: Pair, tcx: bool) -> None:
    """And the reply's receipt, which costs nothing."""
    with joined.agent(joined.left) as sender:
        answer = sender.run(probe(mode="packet", count=20, stamps=["app"], tcx=tcx))
    points = answer.tables["stamps"].select("leg", pl.col("point").cast(pl.String)).unique()
    assert set(points.iter_rows()) == {(REQUEST, "app"), (REPLY, "stack"), (REPLY, "app")}


@pytest.mark.parametrize("tcx", [True, False])
@pytest.mark.parametrize("mode", ["socket", "packet"])
def test_a_closed_loop_accounts_for_every_packet_either_way(
    joined: Pair, mode: str, tcx: bool
) -> None:
    """Lost packets are told, whichever way replies come."""
    drop = "-p icmp --icmp-type echo-request -m statistic --mode nth --every 5 --packet 0 -j DROP"
    with joined.agent(joined.left) as sender:
        run("iptables", "-A", "INPUT", *drop.split(), namespace=joined.right)
        answer = sender.run(
            probe(mode=mode, count=100, interval_ns=0, tcx=tcx, stamps=["app", "stack"])
        )
    slow = {"packet": "ring", "socket": "socket"}
    assert answer.done is not None
    assert answer.done["by"] == ("tcx" if tcx else slow[mode])
    outcomes = answer.tables["packets"]["outcome"].value_counts()
    assert dict(outcomes.iter_rows()) == {"replied": 80, "lost": 20}


def test_replies_by_another_interface_reach_a_closed_loop_by_sockets(joined: Pair) -> None:
    """The programs are where the requests leave."""
    for namespace, device, last in ((joined.left, "left", 1), (joined.right, "right", 2)):
        run("ip", "address", "add", f"10.8.0.{last}/32", "dev", "lo", namespace=namespace)
        run("sysctl", "-qw", f"net.ipv4.conf.{device}.rp_filter=0", namespace=namespace)
        run("sysctl", "-qw", "net.ipv4.conf.all.rp_filter=0", namespace=namespace)
    veth = f"link add other type veth peer name other netns {joined.right}"
    run("ip", *veth.split(), namespace=joined.left)
    for namespace, last in ((joined.left, 1), (joined.right, 2)):
        run("ip", "address", "add", f"10.7.0.{last}/24", "dev", "other", namespace=namespace)
        run("ip", "link", "set", "other", "up", namespace=namespace)
        run("sysctl", "-qw", "net.ipv4.conf.other.rp_filter=0", namespace=namespace)
    there = "route add 10.8.0.2/32 via 10.9.0.2 src 10.8.0.1"
    run("ip", *there.split(), namespace=joined.left)
    back = "route add 10.8.0.1/32 via 10.7.0.1 src 10.8.0.2"
    run("ip", *back.split(), namespace=joined.right)
    with joined.agent(joined.left) as sender:
        answer = sender.run(probe(to="10.8.0.2", count=200, interval_ns=0, stamps=["app", "stack"]))
    assert answer.done is not None
    assert (answer.done["by"], answer.done["replied"]) == ("tcx", 200)
    assert len(answer.tables["stamps"]) == 4 * 200


def test_a_tap_sees_replies_that_a_sender_takes_away(joined: Pair) -> None:
    with joined.agent(joined.left) as sender, joined.agent(joined.left) as watcher:
        sender.start(probe(mode="packet", count=100_000))
        watcher.start(tap("near", "left"))
        time.sleep(1)  # for so long it watches
        answer = sender.stop()
        seen = watcher.stop()
    assert answer.done is not None
    assert answer.done["by"] == "tcx"
    assert seen.done is not None
    assert seen.done["interfaces"][0]["by"] == "tcx"
    seqs = dict(seen.tables["stamps"].group_by("leg").agg("seq").iter_rows())
    assert len(seqs[REQUEST]) > 20
    assert set(seqs[REQUEST]) <= set(seqs[REPLY])


def test_on_an_interface_with_a_queue_the_ring_sees_what_leaves_it(joined: Pair) -> None:
    """The hook would see packets before they have waited."""
    queue = "qdisc add dev left root tbf rate 1mbit burst 2kb latency 400ms"
    run("tc", *queue.split(), namespace=joined.left)
    with joined.agent(joined.left) as sender, joined.agent(joined.left) as watcher:
        watcher.start(tap("near", "left"))
        answer = sender.run(probe(mode="packet", count=40, interval_ns=0, size=500))
        seen = watcher.stop()
    assert answer.done is not None
    assert seen.done is not None
    assert (answer.done["by"], seen.done["interfaces"][0]["by"]) == ("ring", "ring")
    left = seen.tables["stamps"].filter(pl.col("leg") == REQUEST).sort("seq")["time_ns"]
    # 542 bytes with Ethernet's header at 1 Mbit/s, once the bucket is empty.
    assert left.diff().drop_nulls()[10:].median() == pytest.approx(542 * 8 * 1000, rel=0.1)


def test_without_the_capability_the_ring_taps() -> None:
    """In a user namespace the kernel lets nobody load programs."""
    enter = ["unshare", "--user", "--map-root-user", "--net", "--", "sh", "-c"]
    agent = Agent(*enter, f"ip link set lo up && exec {agent_binary()} serve")
    try:
        assert "ready" in agent.start(tap("here", "lo"))
        seen = agent.stop()
    finally:
        agent.close()
    assert seen.done is not None
    assert [each["by"] for each in seen.done["interfaces"]] == ["ring"]
