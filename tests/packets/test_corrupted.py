"""A packet with a wrong checksum is not a reply, and no tap says that it has passed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import polars as pl
import pytest

from tests.packets.agents import Pair, helper, mac, probe, run
from tests.packets.corrupting import AGAIN_S
from tests.packets.test_tap import tap

COUNT = 20
EVEN = list(range(0, COUNT, 2))
REPLY = 1


@contextmanager
def corrupting(joined: Pair) -> Iterator[None]:
    """The responder of ``corrupting.py`` at the right end, found without asking."""
    for far in ("10.9.0.9", "fd09::9"):
        neighbour = f"neighbour add {far} lladdr {mac(2)} dev left"
        run("ip", *neighbour.split(), namespace=joined.left)
    # Else the kernel there would send the packets back, with an ICMP redirect.
    run("sysctl", "-qw", "net.ipv4.ip_forward=0", namespace=joined.right)
    with helper(joined.right, "corrupting", "right"):
        yield


@pytest.mark.parametrize("ip", [4, 6])
@pytest.mark.parametrize(
    ("protocol", "way"),
    [
        ("icmp", "raw"),
        ("icmp", "datagram"),
        ("icmp", "tcx"),
        ("icmp", "ring"),
        ("udp", "datagram"),
        ("udp", "tcx"),
        ("udp", "ring"),
    ],
)
def test_a_corrupted_reply_is_no_reply(joined: Pair, protocol: str, way: str, ip: int) -> None:
    """By every way to receive it, and at taps of both makes before the socket."""
    to, port = ("10.9.0.9", "fd09::9")[ip == 6], 5001 if protocol == "udp" else 0
    if way == "raw":
        run("sysctl", "-qw", "net.ipv4.ping_group_range=1 0", namespace=joined.left)
    mode = "packet" if way in ("tcx", "ring") else "socket"
    wanted = {"protocol": protocol, "ip": ip, "port": port}
    with (
        corrupting(joined),
        joined.agent(joined.left) as agent,
        joined.agent(joined.left) as programs,
        joined.agent(joined.left) as ring,
    ):
        programs.start(tap("near", "left", filter=wanted))
        ring.start(tap("near", "left", filter=wanted, tcx=False))
        answer = agent.run(
            probe(to=to, protocol=protocol, port=port, count=COUNT, mode=mode, size=1000,
                  tcx=way == "tcx", linger_ns=200_000_000, stamps=["app", "stack"])
        )  # fmt: skip
        seen = [programs.stop(), ring.stop()]
    assert answer.error is None
    replied = answer.tables["packets"].filter(outcome="replied")["seq"].to_list()
    assert replied == EVEN
    for at, by in zip(seen, ("tcx", "ring"), strict=True):
        assert at.done is not None
        (counted,) = at.done["interfaces"]
        assert counted["by"] == by
        assert counted["unparsed"] == COUNT // 2
        passed = at.tables["stamps"].filter(leg=REPLY)["seq"].sort().to_list()
        assert passed == EVEN


def test_the_stamp_of_a_connection_is_that_of_its_whole_answer(joined: Pair) -> None:
    """A SYN with ACK that is corrupted opens nothing: the one that is sent again does."""
    with corrupting(joined), joined.agent(joined.left) as agent:
        answer = agent.run(
            probe(to="10.9.0.9", protocol="tcp", port=443, ident=20_000, count=COUNT,
                  interval_ns=60_000_000, stamps=["app", "stack"])
        )  # fmt: skip
    assert answer.done is not None
    assert (answer.done["replied"], answer.done["by"]) == (COUNT, "ring")
    stack = answer.tables["stamps"].filter(pl.col("point").cast(pl.String) == "stack")
    trips = stack.group_by("seq").agg(pl.col("time_ns").max() - pl.col("time_ns").min())
    again = trips.filter(pl.col("time_ns") >= AGAIN_S * 1e9)["seq"].sort().to_list()
    assert set(again) >= set(range(COUNT)) - set(EVEN)
