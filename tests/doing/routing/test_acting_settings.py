"""Settings of links and protocols that act on real daemons: neighbours form by them, or do not."""

from __future__ import annotations

import re
from functools import partial

import pytest

from delaylab.lab.links import link_changes
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.resolve.load import lab_from
from delaylab.spec.conditions.model import ConditionsSpec
from delaylab.spec.source import parse
from delaylab.units import Duration
from delaylab.verbs.converge import Break, converge
from tests.doing.routing.observed import said
from tests.waiting import wait_until

pytestmark = pytest.mark.root
WITHIN_S = 60
LONG = Duration.parse("60s")
LINKS = """
lab: acting
routing: {expect: none, ospf: {hello: 1s, dead: 20s, retransmit: 2s, lsa_interval: 100ms}}
nodes:
  dut:
    forwards: true
    routing:
      ospf:
        links:
          clear: {password: GuessMe}
          wrong: {password: GuessMe}
          signed: {digest: {7: s3cret}}
          forged: {digest: {7: s3cret}}
          small: {mtu_ignore: true}
          many: {network: point-to-multipoint}
  a:
    forwards: true
    routing:
      ospf:
        links:
          clear: {password: GuessMe}
          wrong: {password: Another}
          signed: {digest: {7: s3cret}}
          forged: {digest: {7: another}}
          small: {mtu_ignore: true}
          many: {network: point-to-multipoint}
  b: {forwards: true, routing: {ospf: {links: {many: {network: point-to-multipoint}}}}}
links:
  - {between: [dut, a], name: clear}
  - {between: [dut, a], name: wrong}
  - {between: [dut, a], name: signed}
  - {between: [dut, a], name: forged}
  - {between: [dut, a], name: small}
  - {between: [dut, a], name: large}
  - {join: [dut, a, b], name: many}
"""


def vtysh(lab: LiveLab, node: str, command: str) -> str:
    return said(lab, node, "vtysh", "-c", command)


def full(lab: LiveLab, node: str) -> list[str]:
    """Return the links on which a router's OSPF has exchanged all with a neighbour."""
    shown = vtysh(lab, node, "show ip ospf neighbor")
    return sorted(re.findall(r" Full/\S+ .* ([a-z]+):\S+", shown))


def test_links_with_secrets_other_mtus_and_many_ends() -> None:
    """Neighbours of one secret find each other, those of two do not; in one lab of three."""
    with temporary(lab_from(parse(LINKS, "acting.yaml"))) as lab:
        # Too small for the MTU that the other end says: without `mtu_ignore` it stays in ExStart.
        for link in ("small", "large"):
            said(lab, "a", "ip", "link", "set", link, "mtu", "1400")
            vtysh(lab, "dut", f"clear ip ospf interface {link}")
            vtysh(lab, "a", f"clear ip ospf interface {link}")
        agreeing = ["clear", "many", "many", "signed", "small"]
        wait_until(lambda: full(lab, "dut") == agreeing, WITHIN_S)
        found = partial(vtysh, lab, "dut", "show ip ospf neighbor")
        wait_until(lambda: bool(re.search(r" Ex(Start|change)/\S+ .* large:", found())), WITHIN_S)
        shown = found()
        assert not re.search(r" (wrong|forged):", shown), "packets of another secret are not taken"
        assert "Network Type POINTOMULTIPOINT" in vtysh(lab, "dut", "show ip ospf interface many")
        # Of such a network each end is a route of its own.
        far = lab.plan.attachment("b", "many").address
        wait_until(lambda: f" {far}/32 " in vtysh(lab, "a", "show ip ospf route"), WITHIN_S)


WATCHED = """
lab: watched
ip: [4]
routing: {expect: none, bfd: {interval: 100ms}}
nodes:
  b1: {forwards: true, routing: {bgp: {keepalive: 60s, hold: 180s, imports: [isis]}, isis: ISIS}}
  b2: {forwards: true, routing: {bgp: {keepalive: 60s, hold: 180s}}}
  i1: {forwards: true, routing: {isis: ISIS}}
  i2: {forwards: true, routing: {isis: ISIS}}
links:
  - {between: [b1, b2], name: outside, isis: false}
  - {between: [b1, i1], name: one, cost: 5}
  - {between: [i1, i2], name: two, cost: 5}
  - {between: [i2, b1], name: three, cost: 50}
""".replace("ISIS", "{hello: 10s, multiplier: 6, lsp_interval: 1s}")


def test_bfd_with_bgp_and_isis_imports_of_bgp_and_a_cost_of_isis() -> None:
    """Hellos alone would notice nothing within a minute, and BGP nothing within three."""
    with temporary(lab_from(parse(WATCHED, "watched.yaml"))) as lab:
        loopbacks = {node: lab.plan.nodes[node].loopback(4) or "" for node in lab.plan.nodes}

        def over(node: str, to: str, link: str) -> bool:
            return f"dev {link} " in said(lab, node, "ip", "route", "show", loopbacks[to])

        # What IS-IS knows behind b1, BGP tells b2.
        wait_until(lambda: over("b2", "i2", "outside"), WITHIN_S)
        wait_until(lambda: over("i1", "i2", "two") and over("i1", "b1", "one"), WITHIN_S)
        wait_until(lambda: watched(lab, "b1") == 3, WITHIN_S)
        (cost,) = converge(lab, [Break("cost", ("two=100",))], LONG, until="quiet:3s").outcomes
        assert over("i1", "i2", "one")
        assert cost.effect.changes is not None, "the metric change is an event"
        silent = ConditionsSpec.model_validate({"state": "silent"})
        link_changes.change(lab, "one", None, silent)
        wait_until(lambda: over("i1", "b1", "two"), 30)
        link_changes.change(lab, "outside", None, silent)
        wait_until(lambda: not over("b2", "i2", "outside"), 30)


def watched(lab: LiveLab, node: str) -> int:
    """Return how many neighbours BFD finds alive."""
    return len(re.findall(r" up\b", vtysh(lab, node, "show bfd peers brief")))


BY_ADDRESS = """
lab: by-address
ip: [4]
routing:
  ospf:
    hello: 1s
    dead: 4s
    retransmit: 2s
    lsa_interval: 100ms
    network: non-broadcast
    poll: 2s
    loopback: false
nodes:
  r: {forwards: true, count: 2}
  bird: {forwards: true, routing: {by: bird}}
links:
  - {between: [r-1, r-2], name: one}
  - {between: [r-2, bird], name: two}
  - {between: [bird, r-1], name: three}
"""


def test_links_by_address_of_routers_without_loopbacks() -> None:
    """`up` knows the tables: three links and no loopback. A neighbour that was down is polled."""
    with temporary(lab_from(parse(BY_ADDRESS, "by-address.yaml"))) as lab:
        assert lab.converged is not None
        assert lab.converged.unforeseen is None
        routes = said(lab, "r-1", "ip", "-4", "route")
        assert lab.plan.attachment("bird", "two").address.rpartition(".")[0] in routes
        assert len(re.findall(r"^[0-9]", routes, re.MULTILINE)) == 3, "networks of links alone"
        shown = vtysh(lab, "r-1", "show ip ospf interface one")
        assert "Network Type NBMA" in shown
        assert " poll-interval 2\n" in vtysh(lab, "r-1", "show running-config ospfd")
        (down,) = converge(lab, [Break("down", ("two",))], LONG).outcomes
        assert down.after_s(down.right_ns) is not None, "all tables are right again"


UNNUMBERED = """
lab: unnumbered
ip: [4, 6]
routing:
  ospf: {hello: 1s, dead: 4s, retransmit: 1s, lsa_interval: 100ms}
  router_advertisements: {edge: {interval: 1s, lifetime: 60s}}
nodes: {r: {forwards: true, count: 4}, h: {}}
links:
  - {between: [r-1, r-2], name: north, unnumbered: true}
  - {between: [r-2, r-3], name: east, unnumbered: true}
  - {between: [r-3, r-4], name: south, unnumbered: true}
  - {between: [r-4, r-1], name: west}
  - join: [r-1, h]
    name: edge
    addresses: {r-1: [10.1.0.1/24, "2001:db8:1::1/64"], h: 10.1.0.2/24}
"""


def test_unnumbered_links_and_router_advertisements() -> None:
    """Each end has its loopback's address; `up` and `converge` know the tables of both versions.

    The host has no IPv6 address of the file: it makes itself one of what the router advertises.
    """
    with temporary(lab_from(parse(UNNUMBERED, "unnumbered.yaml"))) as lab:
        assert lab.converged is not None
        assert (lab.converged.unforeseen, lab.converged.quiet_s) == (None, None)
        near, far = (lab.plan.nodes[node].loopback(4) for node in ("r-2", "r-3"))
        assert f"{far} " in said(lab, "r-1", "ip", "route")
        assert f"nexthop via {near} dev north weight 1 onlink" in said(lab, "r-1", "ip", "route")
        assert "This interface is UNNUMBERED" in vtysh(lab, "r-1", "show ip ospf interface north")
        wait_until(lambda: "2001:db8:1:" in said(lab, "h", "ip", "-6", "address"), WITHIN_S)
        assert "default via fe80::" in said(lab, "h", "ip", "-6", "route")
        for version in ("-4", "-6"):
            assert "1 received" in said(lab, "h", "ping", version, "-c", "1", "-W", "9", "r-3")
        (down,) = converge(lab, [Break("down", ("east",))], LONG).outcomes
        assert down.effect.changes is not None
        assert down.after_s(down.right_ns) is not None, "all tables are right again"


BORDER = """
lab: border
routing:
  expect: none
  ospf:
    hello: 1s
    dead: 4s
    retransmit: 2s
    lsa_interval: 100ms
    areas: {inside: 22}
    area_settings: {22: {kind: nssa}}
nodes:
  far: {forwards: true}
  border:
    forwards: true
    routing:
      by: bird
      ospf: {area_settings: {22: {kind: nssa, external_ranges: [{prefix: 10.20.0.0/16}]}}}
  near:
    forwards: true
    routing:
      static: [{to: 10.20.1.0/24, type: blackhole}, {to: 10.30.1.0/24, type: blackhole}]
      ospf: {area: 22, imports: [static]}
links:
  - {between: [far, border], name: outside}
  - {between: [border, near], name: inside}
"""


def test_bird_announces_external_routes_of_an_nssa_as_their_range() -> None:
    with temporary(lab_from(parse(BORDER, "border.yaml"))) as lab:
        wait_until(lambda: "10.30.1.0/24 via" in said(lab, "far", "ip", "route"), WITHIN_S)
        wait_until(lambda: "10.20.0.0/16 via" in said(lab, "far", "ip", "route"), WITHIN_S)
        assert "10.20.1.0/24" not in said(lab, "far", "ip", "route"), "it is within the range"
