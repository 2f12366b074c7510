"""Each FRR daemon's part of one `frr.conf`, and the lines that no daemon took. Pure."""

from __future__ import annotations

import pytest

from delaylab.routing.frr_parts import DAEMONS, complaints, parts, untaken

WHOLE = """\
frr defaults traditional
no zebra nexthop kernel enable
log stdout
interface e
 ip ospf cost 17
 ipv6 ospf6 cost 3
 ip address 10.0.0.1/32
exit
!
router ospf
 redistribute connected
exit
router bgp 65000
 address-family ipv4 unicast
  redistribute ospf
 exit-address-family
exit
router ospf6
 maximum-paths 8
exit
route-map bgp permit 10
 set metric 7
exit
end
"""


def said(part: str) -> list[str]:
    return [line.strip() for line in part.splitlines() if line]


def test_a_daemon_gets_its_own_blocks_and_all_that_comes_after_those_of_others() -> None:
    common = ["frr defaults traditional", "log stdout", "interface e", "ip address 10.0.0.1/32"]
    after = ["route-map bgp permit 10", "set metric 7", "exit"]
    found = parts(WHOLE, DAEMONS)
    own = {
        "ospfd": [*common, "ip ospf cost 17", "router ospf", "redistribute connected", *after],
        "ospf6d": [*common, "ipv6 ospf6 cost 3", "router ospf6", "maximum-paths 8", *after],
        "zebra": [*common, "no zebra nexthop kernel enable", *after],
        "isisd": [*common, *after],
        "bgpd": [
            *common,
            *("router bgp 65000", "address-family ipv4 unicast", "redistribute ospf"),
            *("exit-address-family", *after),
        ],
    }
    for name, lines in own.items():
        assert {*said(found[name])} == {*lines}, name
        assert said(found[name])[-3:] == after, "no `exit` or `end` ends the file before"
        assert len(found[name].splitlines()) == len(WHOLE.splitlines()), "numbers stay"


@pytest.mark.parametrize(
    "text",
    [
        "router bgp 1\nneighbor 10.0.0.2 remote-as 2\nexit\n"
        "router ospf\nnetwork 10.0.0.0/8 area 0\n",
        "router bgp 1\n neighbor 10.0.0.2 remote-as 2\n!\n"
        "router ospf\n network 10.0.0.0/8 area 0\n",
        "conf t\nrouter bgp 1\n neighbor 10.0.0.2 remote-as 2\nend\n"
        "configure terminal\nrouter ospf\n network 10.0.0.0/8 area 0\n",
    ],
)
def test_blocks_may_be_written_in_any_of_the_usual_ways(text: str) -> None:
    found = parts(text, ["ospfd", "bgpd"])
    assert said(found["ospfd"]) == ["router ospf", "network 10.0.0.0/8 area 0"]
    assert said(found["bgpd"])[:2] == ["router bgp 1", "neighbor 10.0.0.2 remote-as 2"]
    assert "network 10.0.0.0/8 area 0" not in found["bgpd"]


def test_lines_that_no_daemon_took_are_named() -> None:
    text = "log stdout\nip route 10.7.0.0/16 Null0\ninterfase e\n ip ospf cost 3\nexit\n"
    text += "router rip\n network e\n version 2\nexit\ninterface e\n ip ospf kost 3\nexit\n"
    printed = "2026/11/29 OSPF: [EC 1] No such command on config line {}: x\n"
    heard = {
        "zebra": complaints("".join(printed.format(each) for each in (2, 3))),
        "ospfd": complaints("".join(printed.format(each) for each in (2, 3, 11))),
    }
    assert list(map(str, untaken(text, ["zebra", "ospfd"], heard))) == [
        "line 2 (`ip route 10.7.0.0/16 Null0`)",
        "line 3 (`interfase e`) and the line of its block",
        "line 6 (`router rip`) and the 2 lines of its block",
        "line 11 (`ip ospf kost 3`)",
    ]


def test_a_line_that_one_of_several_daemons_took_is_not_named() -> None:
    text = "interface lo\n ip address 10.9.9.9/32\nexit\n"
    assert untaken(text, ["zebra", "bgpd"], {"zebra": [], "bgpd": [1, 2]}) == []
    assert [each.number for each in untaken(text, ["bgpd"], {"bgpd": [2]})] == [2]
