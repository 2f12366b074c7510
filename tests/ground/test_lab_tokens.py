"""Labs of one name with different tokens have nothing in common on the networks that they share."""

from __future__ import annotations

from pathlib import Path

import pytest

from delaylab.kinds import KINDS
from delaylab.machines import lab_token
from delaylab.plan.build import build
from delaylab.plan.cabling.outward import LanPort, MulticastGroups, Tunnel
from delaylab.plan.kind import Rights
from delaylab.plan.model import Plan
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse

ROOT = Rights(root=True)
LAB = """\
lab: twice
machines: {m1: {ssh: m1}, m2: {ssh: m2}}
hosts: {h1: {machine: m1}, h2: {machine: m2}, h3: {machine: m2}}
nodes: {a: {host: h1, forwards: true}, b: {host: h2}, c: {host: h3}}
links:
  - {between: [a, b], name: wan, delay: 10ms}
  - {join: [a, b, c], name: lan}
"""


def plan(data_plane: str, token: str = "") -> Plan:
    lab = lab_from(parse(f"{LAB}data_plane: {data_plane}\n", "lab.yaml"))
    return build(lab, KINDS, ROOT, machines={"m1": ROOT, "m2": ROOT}, token=token)


def on_networks(of: Plan) -> set[str]:
    """Return all by which others on the networks between machines could know the lab."""
    found = {each.mac for each in of.every_attachment}
    for each in of.operations:
        if isinstance(each, Tunnel):
            found.add(f"identifier {each.id}")
        elif isinstance(each, LanPort):
            found |= {
                each.mac,
                each.to,
                *each.own,
                *(mac for peer in each.peers for mac in peer.macs),
            }
        elif isinstance(each, MulticastGroups):
            found |= {each.mac, *each.groups}
    return found


@pytest.mark.parametrize("data_plane", ["vxlan", "ethernet"])
def test_two_labs_of_one_name_have_nothing_in_common_but_names_and_addresses(
    data_plane: str,
) -> None:
    one, other, again = (plan(data_plane, each) for each in ("1", "2", "1"))
    assert one == again
    assert not on_networks(one) & on_networks(other)
    assert not on_networks(one) & on_networks(plan(data_plane))
    assert list(one.names) == list(other.names)
    for node, planned in one.nodes.items():
        ends = zip(planned.attachments, other.nodes[node].attachments, strict=True)
        for here, there in ends:
            assert (here.device, here.outward, here.addresses) == (
                there.device,
                there.outward,
                there.addresses,
            )


def test_a_drawn_token_is_new_and_that_of_a_machine_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lab_token.drawn() != lab_token.drawn()
    monkeypatch.setattr(lab_token, "MACHINE_ID", tmp_path / "machine-id")
    tokens = [lab_token.of_this_machine()]
    for machine in ("1" * 32, "1" * 32, "2" * 32):
        (tmp_path / "machine-id").write_text(f"{machine}\n")
        tokens.append(lab_token.of_this_machine())
    monkeypatch.setenv("DELAYLAB_RUN", str(tmp_path))
    tokens.append(lab_token.of_this_machine())
    assert tokens[1] == tokens[2]
    assert len(set(tokens)) == 4
