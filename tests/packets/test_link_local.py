"""Link-local addresses of IPv6 (RFC 4007): the zone says which link they are of."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from delaylab.errors import BadInput
from delaylab.verbs.ping.addresses import resolve
from delaylab.verbs.ping.target import Asking, find_target
from tests.packets.agents import ROOT, Pair, mac, probe, run

PORTS = {"udp": 5001, "tcp": 5001, "http": 5002}
THERE = "fe80::2%left"


@pytest.fixture
def linked(joined: Pair) -> Iterator[Pair]:
    """A pair with link-local addresses, of which the right one answers by every protocol."""
    for side, device, last in ((joined.left, "left", 1), (joined.right, "right", 2)):
        for command in (
            f"address add fe80::{last}/64 dev {device} nodad",
            f"neighbour add fe80::{3 - last} lladdr {mac(3 - last)} dev {device}",
        ):
            run("ip", *command.split(), namespace=side)
    with ExitStack() as agents:
        for protocol, port in PORTS.items():
            reflector = agents.enter_context(joined.agent(joined.right))
            wanted = {"protocol": protocol, "port": port, "ip": 6, "stamps": False, "probe": 0}
            reflector.start({"op": "reflect"} | wanted)
        yield joined


@pytest.mark.parametrize(
    "options",
    [(), ("--flood",), ("--hops",), ("--tcp", "-p", "5001"), ("--http", "-p", "5002")],
    ids=["icmp", "flood", "hops", "tcp", "http"],
)
def test_ping_reaches_a_link_local_address(linked: Pair, options: tuple[str, ...]) -> None:
    command = [str(ROOT / ".venv" / "bin" / "delaylab"), "ping", "-c", "3", "-i", "20ms", "--json"]
    made = subprocess.run(
        ["ip", "netns", "exec", linked.left, *command, *options, THERE],
        check=True, capture_output=True,
    ).stdout  # fmt: skip
    result = json.loads(made)
    assert result["address"] == THERE
    if "--hops" in options:
        assert [hop["addresses"] for hop in result["hops"]] == [[THERE]]
        return
    # A connection is given up after 0.9 s, and the HTTP responder may wait longer for a CPU. All
    # others are answered by the kernel.
    least = 1 if "--http" in options else 3
    assert least <= result["replied"] == 3 - result["lost"], made
    replies = [packet for packet in result["packets"] if packet["outcome"] == "replied"]
    assert {packet["from"] for packet in replies} == {THERE}


@pytest.mark.parametrize("mode", ["socket", "packet"])
@pytest.mark.parametrize("protocol", ["icmp", "udp"])
@pytest.mark.parametrize("zone", ["left", "index"])
def test_a_probe_reaches_a_link_local_address(
    linked: Pair, protocol: str, mode: str, zone: str
) -> None:
    if zone == "index":
        (shown,) = json.loads(run("ip", "-j", "link", "show", "left", namespace=linked.left))
        zone = str(shown["ifindex"])
    port = PORTS.get(protocol, 0)
    with linked.agent(linked.left) as agent:
        answer = agent.run(
            probe(to=f"fe80::2%{zone}", protocol=protocol, port=port, mode=mode, count=5)
        )
    assert answer.done is not None, answer.error
    assert answer.done["replied"] == 5


def test_a_zone_that_is_missing_or_unknown_is_a_line(linked: Pair) -> None:
    with pytest.raises(BadInput, match=r"fe80::2 is link-local") as missing:
        resolve("fe80::2", None)
    assert missing.value.fix == "name the interface: fe80::2%INTERFACE"
    with linked.agent(linked.left) as agent:
        unknown = agent.run(probe(to="fe80::2%nowhere"))
    assert unknown.error is not None
    assert unknown.error["why"] == "interface nowhere: No such device"


def test_a_zone_in_a_url_is_escaped() -> None:
    for host in ("http://[fe80::2%25left]:81/x", "http://[fe80::2%left]:81/x"):
        target = find_target(host, Asking(http=True), None)
        assert (target.host, target.port, target.path) == (THERE, 81, "/x")
