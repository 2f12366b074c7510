"""An edit of a lab file changes no address, name, MAC or interface of anything else."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from delaylab.kinds import KINDS
from delaylab.plan.build import build
from delaylab.plan.kept import KeptPlan
from delaylab.plan.kind import Rights
from delaylab.resolve.lab import Lab
from delaylab.resolve.resolve import lab_from_data, resolve

NODES = [f"n{number}" for number in range(8)]
KINDS_OF_NODES = ["netns", "lxc", "qemu", "native"]
Link = dict[str, list[str] | str]
Known = dict[tuple[str, str], object]
"""Node and link -> what the node has there."""

ends = st.lists(st.sampled_from(NODES), min_size=2, max_size=2, unique=True)
between = st.fixed_dictionaries({"between": ends}, optional={"delay": st.just("1ms")})
members = st.lists(st.sampled_from(NODES), min_size=2, max_size=6, unique=True)
links = st.lists(
    st.one_of(between, st.fixed_dictionaries({"join": members})), min_size=2, max_size=12
)


def lab(links: list[Link], kinds: list[str], *, named: bool, addresses: str = "names") -> Lab:
    given = [
        link if not named else {**link, "name": f"w{number}"} for number, link in enumerate(links)
    ]
    nodes = {
        name: {
            "kind": kind,
            "forwards": kind == "netns",
            "at": {"longitude": number, "latitude": 50},
        }
        for number, (name, kind) in enumerate(zip(NODES, kinds, strict=True))
    }
    whole = {"lab": "x", "hosts": {"h": {}}, "ip": [4, 6], "addresses": addresses}
    return lab_from_data({**whole, "nodes": nodes, "links": given})


def planned(spec: Lab) -> KeptPlan:
    return build(spec, KINDS, Rights(root=True))


def without(spec: Lab, *left_out: int) -> Lab:
    kept = [link for number, link in enumerate(spec.written.links) if number not in left_out]
    return resolve(spec.written.model_copy(update={"links": kept}))


def interfaces(plan: KeptPlan) -> Known:
    """Return names and MAC addresses, and those of the interfaces on the host."""
    return {
        (each.node, each.link): (each.device, each.mac, each.port, each.outward)
        for each in plan.every_attachment
    }


def addresses(plan: KeptPlan) -> Known:
    return {
        **{(each.node, each.link): each.addresses for each in plan.every_attachment},
        **{(name, "lo"): node.loopbacks for name, node in plan.nodes.items()},
    }


def same(before: Known, after: Known) -> set[tuple[str, str]]:
    """Return what both have; assert that it is all that `after` has."""
    assert after.keys() <= before.keys()
    return {key for key in after if before[key] == after[key]}


kinds = st.lists(st.sampled_from(KINDS_OF_NODES), min_size=8, max_size=8)


@pytest.mark.parametrize("by", ["names", "places"])
@settings(max_examples=60, deadline=None)
@given(links=links, kinds=kinds, data=st.data())
def test_a_link_that_is_removed_or_added_at_the_end_changes_nothing_else(
    by: str, links: list[Link], kinds: list[str], data: st.DataObject
) -> None:
    native = {name for name, kind in zip(NODES, kinds, strict=True) if kind == "native"}
    links = [each for each in links if not {*(each.get("between") or each["join"])} <= native]
    whole = lab(links, kinds, named=True, addresses=by)
    if len(links) < 2:
        return
    before = planned(whole)
    end = planned(without(whole, len(links) - 1))
    assert same(interfaces(before), interfaces(end)) == interfaces(end).keys()
    assert same(addresses(before), addresses(end)) == addresses(end).keys(), "added at the end"
    gone = data.draw(st.integers(0, len(links) - 1))
    after = planned(without(whole, gone))
    assert same(interfaces(before), interfaces(after)) == interfaces(after).keys()
    moved = addresses(after).keys() - same(addresses(before), addresses(after))
    for node, link in moved:
        number = int(link.removeprefix("w"))
        alone = planned(without(whole, *(n for n in range(len(links)) if n != number)))
        place, had = addresses(alone)[node, link], addresses(before)[node, link]
        assert had != place, "it was not in its own place, which another had taken"


def test_a_link_without_a_name_keeps_that_of_its_members() -> None:
    links: list[Link] = [
        {"between": ["n0", "n1"]},
        {"join": ["n2", "n0", "n3"]},
        {"between": ["n2", "n1"]},
        {"between": ["n2", "n1"]},
    ]
    whole = lab(links, ["netns"] * 8, named=False)
    assert {link for _, link in interfaces(planned(whole))} == {
        *("n0-n1", "lan-n2", "n2-n1", "n2-n1-2")
    }
    for gone in range(3):
        after = planned(without(whole, gone))
        if gone != 2:  # the second of two equal links is then the first
            assert interfaces(after).items() <= interfaces(planned(whole)).items()


def test_members_of_a_broadcast_link_keep_their_addresses() -> None:
    links: list[Link] = [{"join": NODES, "name": "lan"}]
    before = addresses(planned(lab(links, ["netns"] * 8, named=False)))
    fewer: list[Link] = [{"join": NODES[:3] + NODES[4:], "name": "lan"}]
    after = addresses(planned(lab(fewer, ["netns"] * 8, named=False)))
    assert after.items() <= before.items()


def test_no_name_is_one_that_an_interface_cannot_have() -> None:
    links: list[Link] = [
        {"between": ["n0", "n1"], "name": name} for name in ("lo", "all", "default", "a" * 31)
    ]
    devices = [
        each.device
        for each in planned(lab(links, ["netns"] * 8, named=False)).nodes["n0"].attachments
    ]
    assert len({*devices}) == 4
    assert not {*devices} & {"lo", "all", "default"}
    assert all(len(device) <= 15 for device in devices)
