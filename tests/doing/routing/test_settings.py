"""Settings of OSPF that act: areas, routes from elsewhere, priorities, signed packets, BFD."""

from __future__ import annotations

import re
from functools import partial

import pytest

from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse
from delaylab.units import Duration
from delaylab.verbs.converge import Break, converge
from tests.doing.routing.observed import said
from tests.waiting import wait_until

pytestmark = pytest.mark.root
WITHIN_S = 60
SETTINGS = """
lab: settings
ip: [4, 6]
routing:
  expect: none
  ospf:
    hello: 1s
    dead: 20s
    retransmit: 2s
    lsa_interval: 100ms
    areas: {st: 11, ns: 22, far: 22}
    links:
      core: {digest: {1: s3cret}, hello: 2s, dead: 30s}
      lan: {priority: 1}
    area_settings: {11: {kind: stub, summaries: false}, 22: {kind: nssa}}
  bfd: {interval: 100ms}
nodes:
  dut:
    forwards: true
    routing:
      ospf:
        links: {lan: {priority: 200}}
        area_settings:
          11: {kind: stub, summaries: false, default_cost: 15}
          22:
            kind: nssa
            ranges: [{prefix: 10.19.0.0/16, cost: 42}]
            external_ranges: [{prefix: "2001:db8:20::/48"}]
  rb: {forwards: true, routing: {by: bird}}
  r11: {forwards: true, routing: {ospf: {area: 11}}}
  r22:
    forwards: true
    routing:
      static:
        - {to: 10.20.1.1/32, type: blackhole}
        - {to: "2001:db8:20::1/128", type: unreachable}
        - {to: 10.21.0.0/16, via: dut}
      ospf: {area: 22, imports: {static: {metric: 7, type: 1}}}
  d: {forwards: true, routing: {ospf: {default: {always: true, metric: 40}}}}
links:
  - {between: [dut, rb], name: core}
  - {between: [dut, r11], name: st}
  - {between: [dut, r22], name: ns}
  - join: [r22]
    name: far
    addresses: {r22: [10.19.1.1/24, "2001:db8:19:1::1/64"]}
  - {join: [dut, rb, d], name: lan, state: up}
"""


def vtysh(lab: LiveLab, node: str, *commands: str) -> str:
    return said(lab, node, "vtysh", *(word for each in commands for word in ("-c", each)))


def routes(lab: LiveLab, node: str) -> str:
    return said(lab, node, "ip", "route") + said(lab, node, "ip", "-6", "route")


def test_settings_of_links_areas_and_imports_act() -> None:
    """In one lab of FRR and BIRD, both versions of OSPF."""
    with temporary(lab_from(parse(SETTINGS, "settings.yaml"))) as lab:
        assert lab.notes == ()
        assert lab.converged is not None
        assert lab.converged.unforeseen == "the lab says `expect: none`"

        def at_rb(pattern: str) -> bool:
            return bool(re.search(pattern, routes(lab, "rb"), re.MULTILINE))

        for pattern in (
            r"^default via \S+ dev lan",  # what d announces, not the one into the stub area
            r"^10.19.0.0/16 ",  # the range
            r"^10.20.1.1 ",  # imported into the NSSA, and translated
            r"^10.21.0.0/16 ",
            r"^2001:db8:20::/48 ",  # the range of external routes
        ):
            wait_until(partial(at_rb, pattern), WITHIN_S)
        assert not at_rb(r"^10.19.1.0/24 "), "it is within the range"
        wait_until(lambda: "default via" in said(lab, "r11", "ip", "route"), WITHIN_S)
        stub = vtysh(lab, "r11", "show ip ospf route")
        assert re.search(r"IA 0.0.0.0/0 +\[16\]", stub), "1 for the link, and `default_cost`"
        far = lab.plan.nodes["d"].loopback(4) or ""
        assert far not in stub, "no summaries come into it"
        external = vtysh(lab, "dut", "show ip ospf route")
        assert re.search(r"N E1 10.20.1.1/32 +\[9\]", external), "7, and 2 to r22's loopback"
        # The priority decides who speaks for the network; rb is the DR's neighbour there.
        shown = said(lab, "rb", "birdc", "-s", "/run/bird/bird.ctl", "show ospf neighbors")
        assert re.search(r"\s200\s+Full/\S+\s+\S+\s+lan\b", shown)
        # Packets on `core` are signed: an MD5 digest that each daemon takes of the other.
        assert re.search(r"Full/PtP\s+\S+\s+core\s+198", shown)
        assert "Hello 2s, Dead 30s" in vtysh(lab, "dut", "show ip ospf interface core")
        peers = vtysh(lab, "dut", "show bfd peers brief")
        assert peers.count(" up ") + len(re.findall(r" up *$", peers, re.MULTILINE)) >= 2


def test_bfd_notices_a_silent_link_long_before_ospf() -> None:
    text = "lab: bfd\nrouting: {bfd: {interval: 100ms}, ospf: {hello: 1s, dead: 30s, "
    text += "retransmit: 2s, lsa_interval: 100ms}}\nnodes:\n  r: {forwards: true, count: 2}\n"
    text += "  b: {forwards: true, routing: {by: bird}}\nlinks:\n"
    text += "  - {between: [r-1, r-2], name: a}\n  - {between: [r-2, b], name: b}\n"
    text += "  - {between: [b, r-1], name: c}\n"
    with temporary(lab_from(parse(text, "bfd.yaml"))) as lab:
        found = converge(
            lab, [Break("silent", ("a",)), Break("silent", ("b",))], Duration.parse("60s")
        ).outcomes
    for each in found:
        detected_s = each.after_s(each.detected_ns)
        assert detected_s is not None
        assert detected_s < 15, f"{each.event}: `dead` is 30 s"
