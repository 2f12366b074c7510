"""Configuration of routing daemons: every line reaches its daemon, or `up` names it."""

from __future__ import annotations

import re

import pytest

from delaylab.errors import DelaylabError
from delaylab.lab.programs import programs
from delaylab.lab.start import temporary
from delaylab.resolve.load import lab_from
from delaylab.routing import adjacencies
from delaylab.spec.source import parse
from delaylab.units import Duration
from delaylab.verbs.converge import Break, converge
from tests.doing.routing.observed import said
from tests.waiting import wait_until

pytestmark = pytest.mark.root
BORDERS = """
lab: borders
ip: [4, 6]
routing: {ospf: {hello: 1s, dead: 4s}}
nodes:
  a:
    forwards: true
    routing:
      bgp: {as: 65000}
      added: |
        interface e
         ip ospf cost 17
        exit
        router ospf
         default-informaton orginate
        exit
        router rip
         network e
        exit
        interface lo
         ip address 10.9.9.9/32
        exit
  b: {forwards: true, routing: {bgp: {as: 65100}}}
links:
  - {between: [a, b], name: e}
"""
OWN = """\
frr version 8.4.4
frr defaults traditional
!
router bgp 65000
 no bgp ebgp-requires-policy
 neighbor 10.1.0.2 remote-as 65100
exit
!
ip route 10.7.0.0/16 Null0
!
router ospf
 ospf router-id 10.9.9.1
exit
!
interface lo
 ip address 10.9.9.1/32
exit
!
end
"""


def test_each_line_reaches_its_daemon_and_the_others_are_named() -> None:
    with temporary(lab_from(parse(BORDERS, "borders.yaml"))) as lab:
        form = r"a: no daemon took line (\d+) \(`(.*)`\)(.*) of /etc/frr/frr.conf"
        found = [re.fullmatch(form, each.message) for each in lab.notes]
        named = [each.groups() if each else None for each in found]
        assert [each[1:] for each in named if each] == [
            ("default-informaton orginate", ""),
            ("router rip", " and the line of its block"),
        ], lab.notes
        for number, text, _ in filter(None, named):
            assert said(lab, "a", "sed", "-n", f"{number}p", "/etc/frr/frr.conf").strip() == text
        assert "inet 10.9.9.9/32" in said(lab, "a", "ip", "address", "show", "lo"), "by zebra"
        peers = said(lab, "a", "vtysh", "-c", "show bgp summary")
        assert lab.plan.attachment("b", "e").address in peers
        costs = {
            version: said(lab, "a", "vtysh", "-c", f"show {version} interface e")
            for version in ("ip ospf", "ipv6 ospf6")
        }
        assert "Cost: 17" in costs["ip ospf"]
        assert "Cost 1\n" in costs["ipv6 ospf6"], "a line of OSPFv2 is not OSPFv3's"


def test_a_file_of_ones_own_is_read_to_its_end() -> None:
    own = "\n".join(f"          {line}" for line in OWN.splitlines())
    files = f"    files:\n      /etc/frr/frr.conf:\n        content: |\n{own}\n"
    head, _, tail = BORDERS.partition("      added: |")
    text = head + files + "  b:" + tail.partition("  b:")[2]
    text = text.replace("name: e", "name: e, addresses: {a: 10.1.0.1/30, b: 10.1.0.2/30}")
    text = text.replace("ip: [4, 6]", "ip: [4]")
    with temporary(lab_from(parse(text, "own.yaml"))) as lab:
        assert [each.message for each in lab.notes] == [
            "a: no daemon took line 9 (`ip route 10.7.0.0/16 Null0`) of /etc/frr/frr.conf"
        ]
        assert "inet 10.9.9.1/32" in said(lab, "a", "ip", "address", "show", "lo")
        assert "10.9.9.1" in said(lab, "a", "vtysh", "-c", "show ip ospf")
        assert "10.1.0.2" in said(lab, "a", "vtysh", "-c", "show bgp summary")
        # Its daemons tell of neighbours, with exact times, although the file does not say so.
        assert "adjchange" not in OWN
        wait_until(lambda: any(adjacencies.changes(programs.output(lab, "a", "bgpd").decode())), 60)
        assert said(lab, "a", "cat", "/etc/frr/frr.conf").strip() == OWN.strip()


def test_a_line_that_bird_does_not_take_is_named() -> None:
    """BIRD ends at it, so the lab does not start."""
    text = BORDERS.partition("    routing:\n")[0].replace("{ospf", "{by: bird, ospf")
    text += '    routing: {added: "protocol ospf v2 {\\n area 0 { interfase; };\\n}\\n"}\n'
    text += "  b: {forwards: true}\nlinks: [{between: [a, b], name: e}]\n"
    with (
        pytest.raises(DelaylabError, match=r"syntax error.*`area 0 \{ interfase; \};`"),
        temporary(lab_from(parse(text, "bird.yaml"))),
    ):
        pass


LSP_DEFAULT_S = 30
"""The interval between two LSPs that IS-IS has by default, minimumLSPGenerationInterval."""


def test_isis_announces_changes_as_often_as_the_file_says() -> None:
    """Also those of its start: FRR plans the next LSP by the interval that it knows by then."""
    quick = "{hello: 1s, multiplier: 3, lsp_interval: 1s}"
    text = f"lab: isis\nrouting: {{isis: {quick}}}\nnodes: {{r: {{forwards: true, count: 3}}}}\n"
    text += "links:\n  - {between: [r-1, r-2], name: a}\n  - {between: [r-2, r-3], name: b}\n"
    text += "  - {between: [r-3, r-1], name: c}\n"
    with temporary(lab_from(parse(text, "isis.yaml"))) as lab:
        assert lab.converged is not None
        assert lab.converged.after_s < LSP_DEFAULT_S
        down, up = converge(
            lab, [Break("down", ("a",)), Break("up", ("a",))], Duration.parse("2min")
        ).outcomes
        for each in (down, up):
            assert each.after_s(each.right_ns) is not None
            assert (each.after_s(each.right_ns) or 0) < LSP_DEFAULT_S / 2
