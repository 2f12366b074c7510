"""MTUs of links: their own, the lab's, or what is usual."""

from __future__ import annotations

import pytest

from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse

HOSTS = """\
lab: lengths
machines: {m1: {ssh: m1}, m2: {ssh: m2}}
hosts: {h1: {machine: m1}, h2: {machine: m2}, h3: {machine: m2}, h4: {}}
nodes: {a: {host: h1}, b: {host: h2}, c: {host: h3}, d: {host: h4}}
links:
  - {between: [a, b], name: apart}
  - {between: [b, c], name: together}
  - {join: [c, d], name: home}
  - {between: [a, c], name: stated, mtu: 9000}
"""


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("", [1450, 1500, 1450, 9000]),
        ("data_plane: ethernet", [1500, 1500, 1500, 9000]),
        ("mtu: 1400", [1400, 1400, 1400, 9000]),
    ],
)
def test_a_link_has_its_own_mtu_or_the_lab_s_or_what_a_tunnel_leaves(
    more: str, expected: list[int]
) -> None:
    lab = lab_from(parse(f"{HOSTS}{more}\n", "lab.yaml"))
    assert [link.mtu for link in lab.links.values()] == expected
