"""OSPF labs of another tool's integration tests, as lab files: each works for versions 2 and 3.

They are those of netlab (github.com/ipspace/netlab, tests/integration/ospf) that need no VRF, no
BFD and no newer FRR: 01-network, 02-areas, 03-cost, 04-passive, 10-import and 20-default for both
versions, and 06-lb-prefix for version 3. A loopback costs 1 here and 0 there.
"""

from __future__ import annotations

import re

import pytest

from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse
from tests.doing.routing.observed import said
from tests.waiting import wait_until

pytestmark = [pytest.mark.root, pytest.mark.slow]
TIMES = "hello: 1s, dead: 4s, retransmit: 1s, lsa_interval: 100ms"
WITHIN_S = 60
VERSIONS = (4, 6)
PATHS = {
    "Intra-Area": "intra",
    "Inter-Area": "IA",
    "External-1": "E1",
    "External-2": "E2",
}
"""The types of paths as FRR's OSPFv3 says them, and as its OSPFv2 does."""


def lab_of(nodes: str, links: str, routing: str = f"routing: {{ospf: {{{TIMES}}}}}") -> str:
    return f"lab: nl\nip: [4, 6]\n{routing}\nnodes:\n{nodes}\nlinks:\n{links}\n"


def loopback(lab: LiveLab, node: str, version: int) -> str:
    found = lab.plan.nodes[node].loopback(version)
    assert found is not None
    return f"{found}/{32 if version == 4 else 128}"


def neighbours(lab: LiveLab, node: str, version: int) -> str:
    command = "show ip ospf neighbor" if version == 4 else "show ipv6 ospf6 neighbor"
    return said(lab, node, "vtysh", "-c", command)


def await_neighbour(lab: LiveLab, node: str, other: str) -> None:
    """Wait until a node has a full adjacency with another in both versions."""
    ident = lab.plan.nodes[other].loopback(4)
    full = re.compile(rf"^{ident} .*Full", re.MULTILINE)

    def is_full(version: int) -> bool:
        return bool(full.search(neighbours(lab, node, version)))

    wait_until(lambda: all(map(is_full, VERSIONS)), WITHIN_S)


def route(lab: LiveLab, node: str, prefix: str) -> tuple[str, int] | None:
    """Return a node's route by OSPF to a prefix: its type and cost; None if it has none."""
    if ":" not in prefix:
        text = said(lab, node, "vtysh", "-c", "show ip ospf route")
        found = re.search(
            rf"^(N\S*(?: \S+)?) +{re.escape(prefix)} +\[([\d/]+)\]", text, re.MULTILINE
        )
        if found is None:
            return None
        kind, costs = found[1], found[2].split("/")
        # An external route of type 2 has the cost of the announcement last.
        return kind.removeprefix("N").strip() or "intra", int(costs[-1])
    text = said(lab, node, "vtysh", "-c", "show ipv6 ospf6 route detail")
    for block in text.split("Destination: ")[1:]:
        found = re.search(r"Path Type: (\S+).*?\nMetric: (\d+) \((\d+)\)", block, re.DOTALL)
        if block.split()[0] == prefix and "Flags: B" in block and found is not None:
            kind = PATHS[found[1]]
            return kind, int(found[3] if kind == "E2" else found[2])
    return None


def await_route(
    lab: LiveLab, node: str, prefix: str, *, kind: str | None = None, cost: int | None = None
) -> None:
    """Wait until a node has such a route by OSPF."""

    def is_there() -> bool:
        found = route(lab, node, prefix)
        return found is not None and kind in (None, found[0]) and cost in (None, found[1])

    wait_until(is_there, WITHIN_S)


def test_01_networks_and_06_the_prefix_of_a_loopback() -> None:
    text = lab_of(
        "  dut: {forwards: true}\n  x1: {forwards: true}\n  x2: {forwards: true}",
        "  - {join: [dut, x1], name: lan}\n  - {between: [dut, x2], name: cable}",
    )
    with temporary(lab_from(parse(text, "01.yaml"))) as lab:
        for node in ("x1", "x2"):
            await_neighbour(lab, node, "dut")
        for version in VERSIONS:
            await_route(lab, "x2", loopback(lab, "x1", version))
            await_route(lab, "x1", loopback(lab, "x2", version))
            await_route(lab, "x1", loopback(lab, "dut", version), kind="intra")


def test_02_areas() -> None:
    areas = {"dut": 2, "x1": 0, "x2": 2, "x3": 3}
    nodes = "\n".join(
        f"  {node}: {{forwards: true, routing: {{ospf: {{area: {area}}}}}}}"
        for node, area in areas.items()
    )
    links = "\n".join(f"  - {{between: [dut, x{n}], name: e{n}}}" for n in (1, 2, 3))
    routing = f"routing: {{ospf: {{{TIMES}, areas: {{e1: 0, e2: 2, e3: 3}}}}}}"
    with temporary(lab_from(parse(lab_of(nodes, links, routing), "02.yaml"))) as lab:
        for node in ("x1", "x2", "x3"):
            await_neighbour(lab, node, "dut")
        for version in VERSIONS:
            of_dut = loopback(lab, "dut", version)
            await_route(lab, "x1", of_dut, kind="IA")
            await_route(lab, "x3", of_dut, kind="IA")
            await_route(lab, "x2", of_dut, kind="intra")


def test_03_costs_of_one_end() -> None:
    text = lab_of(
        "  dut: {forwards: true}\n  x1: {forwards: true}\n  x2: {forwards: true}",
        "  - {between: [dut, x1], name: e1, cost: {dut: 17, x1: 10}}\n"
        "  - {between: [dut, x2], name: e2, cost: 10}",
    )
    with temporary(lab_from(parse(text, "03.yaml"))) as lab:
        assert lab.notes == ()
        for version in VERSIONS:
            await_route(lab, "x1", loopback(lab, "x2", version), cost=20 + 1)
            await_route(lab, "x2", loopback(lab, "x1", version), cost=27 + 1)


def test_04_passive_and_stub_interfaces() -> None:
    text = lab_of(
        "  dut: {forwards: true}\n  x1: {forwards: true}\n  x2: {forwards: true}",
        """  - {between: [dut, x1], name: e1, cost: 10}
  - between: [dut, x2]
    name: e2
    cost: {dut: 15, x2: 100}
    ospf: {dut: passive}
    addresses:
      dut: [10.42.1.1/24, "2001:db8:cafe:1::1/64"]
      x2: [10.42.1.2/24, "2001:db8:cafe:1::2/64"]
  - {between: [x1, x2], name: e3, cost: 100}
  - join: [dut]
    name: stub
    cost: 25
    addresses: {dut: [10.42.2.1/24, "2001:db8:cafe:2::1/64"]}""",
    )
    with temporary(lab_from(parse(text, "04.yaml"))) as lab:
        await_neighbour(lab, "x1", "dut")
        await_neighbour(lab, "x2", "x1")
        for prefix, cost in (("10.42.1.0/24", 25), ("10.42.2.0/24", 35)):
            await_route(lab, "x1", prefix, cost=cost)
        for number, cost in ((1, 25), (2, 35)):
            await_route(lab, "x1", f"2001:db8:cafe:{number}::/64", cost=cost)
        ident = lab.plan.nodes["dut"].loopback(4) or ""
        # x2 has x1 by now, whose hello packets are as frequent.
        assert all(ident not in neighbours(lab, "x2", version) for version in VERSIONS)


def test_10_import_of_bgp_and_of_static_routes() -> None:
    ospf = f"ospf: {{{TIMES}}}"
    imports = f"ospf: {{{TIMES}, imports: [bgp, static]}}, bgp: {{as: 65000}}"
    static = "static: [{to: 10.0.0.42/32, via: x1}]"
    text = lab_of(
        f"  dut: {{forwards: true, routing: {{{imports}, {static}}}}}\n"
        f"  r2: {{forwards: true, routing: {{{ospf}}}}}\n"
        "  x1: {forwards: true, routing: {bgp: {as: 65100}}}",
        "  - {between: [dut, x1], name: out}\n  - {between: [dut, r2], name: in}",
        "",
    )
    with temporary(lab_from(parse(text, "10.yaml"))) as lab:
        assert lab.notes == ()
        await_neighbour(lab, "r2", "dut")
        for version in VERSIONS:
            await_route(lab, "r2", loopback(lab, "x1", version), kind="E2")
        await_route(lab, "r2", "10.0.0.42/32", kind="E2")


def test_20_default_routes_always_and_by_bgp() -> None:
    ospf = f"ospf: {{{TIMES}}}"
    always = f"ospf: {{{TIMES}, default: {{always: true, metric: 40}}}}"
    by_bgp = f"ospf: {{{TIMES}, default: {{metric: 20, type: 1}}}}"
    text = lab_of(
        f"  a: {{forwards: true, routing: {{{always}}}}}\n"
        f"  c: {{forwards: true, routing: {{{by_bgp}, bgp: {{as: 65000}}}}}}\n"
        f"  probe: {{forwards: true, routing: {{{ospf}}}}}\n"
        "  xf: {forwards: true, routing: {bgp: {as: 65100}}}",
        "  - {between: [probe, a], name: ea}\n  - {between: [probe, c], name: ec, cost: 10}\n"
        "  - {between: [c, xf], name: ex, ospf: false}",
        "",
    )
    with temporary(lab_from(parse(text, "20.yaml"))) as lab:
        assert lab.notes == ()
        await_route(lab, "probe", "0.0.0.0/0", kind="E2", cost=40)
        # FRR 8.4's OSPFv3 originates a default route that it has by OSPF itself, too.
        await_route(lab, "probe", "::/0")
        said(lab, "probe", "ip", "link", "set", "ea", "down")
        commands = ["configure terminal", "router bgp 65100"]
        for interface, version in zip(
            lab.plan.attachment("c", "ex").interfaces(), VERSIONS, strict=True
        ):
            commands += [f"address-family ipv{version} unicast"]
            commands += [f"neighbor {interface.ip} default-originate", "exit-address-family"]
        said(lab, "xf", "vtysh", *(word for each in commands for word in ("-c", each)))
        for prefix in ("0.0.0.0/0", "::/0"):
            await_route(lab, "probe", prefix, kind="E1", cost=20 + 10)
