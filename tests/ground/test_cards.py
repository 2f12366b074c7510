"""Limits of nodes' network cards in lab files."""

import pytest

from delaylab.errors import BadInput
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse


@pytest.mark.parametrize(
    ("node", "largest"),
    [
        ("kind: netns", 65_535),
        ("kind: qemu", 65_521),
        ("{kind: qemu, nic: vmxnet3}", 9000),
        ("{kind: qemu, nic: e1000}", 16_110),
        ("{kind: qemu, nic: e1000e}", 9212),
        ("{kind: qemu, nic: rtl8139, count: 2}", 4096),
        ("kind: uml", 1500),
        ("kind: xen", 65_517),
    ],
)
def test_an_mtu_that_a_card_cannot_have_is_refused(node: str, largest: int) -> None:
    given = node.strip("{}")
    text = f"lab: x\nnodes: {{a: {{}}, b: {{{given}}}}}\nlinks:\n  - {{join: [a, b], mtu: {{}}}}\n"
    assert lab_from(parse(text.replace("{}}\n", f"{largest}}}\n"), "lab.yaml")).written.links[0].mtu
    if largest < 65_535:
        says = f"lab.yaml:4: the card of node 'b' .* takes an MTU of {largest} at most"
        with pytest.raises(BadInput, match=says):
            lab_from(parse(text.replace("{}}\n", f"{largest + 1}}}\n"), "lab.yaml"))
