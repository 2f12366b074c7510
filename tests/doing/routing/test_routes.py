"""Routes of labs, on real packets: no circles, and the path of the least cost."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.doing.conftest import Run, as_json, skip_unless_runnable
from tests.ground.test_routers import COSTLY

pytestmark = pytest.mark.root

CHAIN = """
lab: chain
hosts: {one: {}}
nodes: {a: {}, r1: {forwards: true}, r2: {forwards: true}, b: {}}
links:
  - {between: [a, r1], name: near}
  - {between: [r1, r2], name: middle}
  - {between: [r2, b]}
"""
MIDDLE = (("r1", "middle"), ("r2", "middle"))
"""The routers, each with its interface to the middle link."""


def up(delaylab: Run, folder: Path, text: str) -> dict[tuple[str, str], str]:
    """Bring a lab up; return the address of each node on each link."""
    (folder / "lab.yaml").write_text(text)
    nodes = as_json(delaylab("up", str(folder / "lab.yaml"), "--json"))["nodes"]
    return {
        (node["name"], each["link"]): each["addresses"][0].split("/")[0]
        for node in nodes
        for each in node["interfaces"]
    }


def sent(delaylab: Run, node: str, interface: str) -> int:
    """Packets that an interface of a node has sent."""
    asked = delaylab("exec", node, "--", "ip", "-stats", "-json", "link", "show", interface)
    return int(json.loads(asked.stdout)[0]["stats64"]["tx"]["packets"])


def test_a_packet_to_an_address_outside_does_not_circle(delaylab: Run, tmp_path: Path) -> None:
    """The lab assigns neither address; the second is in the range of those that it assigns."""
    up(delaylab, tmp_path, CHAIN)
    ping = ("ping", "-c", "1", "-W", "2")
    outside = delaylab("exec", "a", "--", *ping, "8.8.8.8", code=2)
    assert "Network is unreachable" in outside.stderr
    before = [sent(delaylab, *each) for each in MIDDLE]
    for start in ("a", "r1", "b", "r2"):
        code = 1 if start in {"a", "b"} else 2
        said = delaylab("exec", start, "--", *ping, "198.19.255.1", code=code)
        assert "nreachable" in said.stdout + said.stderr
    assert [sent(delaylab, *each) for each in MIDDLE] == before, "packets crossed the middle link"


@pytest.mark.parametrize(("cost", "routers"), [(5, 2), (1, 1)])
def test_packets_take_the_path_of_the_least_cost(
    delaylab: Run, tmp_path: Path, cost: int, routers: int
) -> None:
    """A reply's TTL tells over how many routers it came: on a tie the path of fewer links."""
    at = up(delaylab, tmp_path, COSTLY.replace("cost: 5", f"cost: {cost}"))
    ends = {"a": at["b", "down" if cost > 1 else "direct"], "b": at["a", "in"]}
    for start, target in ends.items():
        said = delaylab("exec", start, "--", "ping", "-c", "1", "-W", "2", target).stdout
        (ttl,) = re.findall(r"ttl=(\d+)", said)
        assert 64 - int(ttl) == routers


ROUTES = (
    "{to: b, via: s.back}, {to: 10.9.0.0/16, type: blackhole}, {to: 10.8.0.0/16, type: prohibit}"
)
OWN = """
lab: own
nodes:
  a: {routes: [ROUTES]}
  r: {forwards: true}
  s: {forwards: true, routes: [{to: a, dev: back}]}
  b: {}
links:
  - {between: [a, r], name: near}
  - {between: [a, s], name: back, cost: 9}
  - {join: [r, s, b], name: far}
"""


@pytest.mark.parametrize("kind", ["netns", "uml"])
def test_routes_of_the_file_are_the_ones_that_packets_take(
    delaylab: Run, tmp_path: Path, kind: str
) -> None:
    skip_unless_runnable(kind)
    text = OWN.replace("ROUTES", ROUTES).replace("a: {routes", f"a: {{kind: {kind}, routes")
    up(delaylab, tmp_path, text)
    before = sent(delaylab, "s", "far")
    delaylab("exec", "a", "--", "ping", "-c", "2", "-W", "2", "b")
    assert sent(delaylab, "s", "far") >= before + 2, "not over r, which has the least cost"
    routes = delaylab("exec", "a", "--", "ip", "route").stdout
    assert "blackhole 10.9.0.0/16" in routes
    assert "prohibit 10.8.0.0/16" in routes
    delaylab("down", "own")
