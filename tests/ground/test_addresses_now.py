"""Addresses that a node has, compared with those of the plan; what it says is not trusted."""

from __future__ import annotations

from delaylab.lab.addresses import MOST_OTHERS, compared

PLANNED = ["198.18.0.1/24", "fd64:656c::1/64"]


def test_addresses_that_a_node_has_lost_are_told_from_those_that_it_has() -> None:
    assert compared(PLANNED, PLANNED[::-1]) == (PLANNED, [])
    assert compared(PLANNED, []) == ([], PLANNED)
    assert compared(PLANNED, ["192.0.2.7/32", "fd64:656c:0::1/64"]) == (
        ["fd64:656c::1/64", "192.0.2.7/32"],
        ["198.18.0.1/24"],
    )
    # With another prefix it is another address: packets take other ways.
    assert compared(PLANNED[:1], ["198.18.0.1/32"]) == (["198.18.0.1/32"], PLANNED[:1])


def test_what_is_no_address_is_left_out_and_many_are_few() -> None:
    said = ["", "x", "\x1b[2J", "198.18.0.1/24; reboot", "fe80::1%\x1b[2J/64", "1/33"]
    assert compared(PLANNED, said) == ([], PLANNED)
    many = [f"10.0.{number // 256}.{number % 256}/32" for number in range(1000)]
    assert compared([], many) == (many[:MOST_OTHERS], [])
