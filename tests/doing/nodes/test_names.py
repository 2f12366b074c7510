"""Names of nodes: every node of a lab finds every other one by its name."""

from __future__ import annotations

import subprocess
from itertools import permutations
from pathlib import Path

import pytest

from delaylab.lab.attach import attach
from tests.doing.conftest import DELAYLAB, Run, skip_unless_runnable
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.root

NAMED = """
lab: named
hosts: {one: {}, two: {}}
nodes:
  a: {host: one}
  router: {host: one, forwards: true}
  s: {host: two, kind: shared}
  n: {host: two, kind: native}
links:
  - {join: [a, router], name: near}
  - {join: [router, s, n], name: far}
"""
LINKS = ("near", "far")
SYSTEM = Path("/etc/hosts")


def test_nodes_know_each_other_by_name(delaylab: Run, tmp_path: Path) -> None:
    before = SYSTEM.read_bytes()
    (tmp_path / "lab.yaml").write_text(NAMED)
    delaylab("up", str(tmp_path / "lab.yaml"))
    nodes = ("a", "router", "s", "n")
    for start in nodes:
        for target in nodes:
            delaylab("exec", start, "--", "ping", "-c", "1", "-W", "2", target)
    plan = attach("named").plan
    every_name = {f"router.{link}": plan.attachment("router", link).address for link in LINKS}
    every_name["router"] = plan.nodes["router"].loopback(4) or ""
    assert len(set(every_name.values())) == 3
    for name, address in every_name.items():
        found = delaylab("exec", "a", "--", "getent", "hosts", name)
        assert found.stdout.split()[0] == address
    delaylab("exec", "a", "--", "getent", "hosts", "localhost")
    assert SYSTEM.read_bytes() == before, "the machine's own file stays as it is"
    delaylab("down", "named")
    assert SYSTEM.read_bytes() == before


SAME = """
lab: same
nodes:
  machine: {}
  echo: {kind: KIND}
links: [{between: [machine, echo], name: w}]
"""
HOSTS = "127.0.0.1 localhost\n127.0.1.1 machine.example Machine\n::1 machine\n192.0.2.1 proxy\n"
UNDER_OTHER_HOSTS = 'mount --bind "$1" /etc/hosts && shift && exec "$@"'


@pytest.mark.parametrize("kind", ["netns", "shared", "native"])
def test_a_node_named_as_this_machine_is_the_node(delaylab: Run, tmp_path: Path, kind: str) -> None:
    (tmp_path / "lab.yaml").write_text(SAME.replace("KIND", kind))
    (tmp_path / "hosts").write_text(HOSTS)
    start = ["unshare", "--mount", "sh", "-c", UNDER_OTHER_HOSTS, "sh", str(tmp_path / "hosts")]
    subprocess.run(
        [*start, str(DELAYLAB), "up", str(tmp_path / "lab.yaml")], check=True, timeout=PATIENCE_S
    )

    def found(name: str) -> set[str]:
        lines = delaylab("exec", "echo", "--", "getent", "ahosts", name).stdout.splitlines()
        return {line.split()[0] for line in lines}

    assert (
        found("machine")
        == found("machine.w")
        == {attach("same").plan.attachment("machine", "w").address}
    )
    assert found("proxy") == {"192.0.2.1"}, "other names of the machine stay"
    assert found("machine.example") == {"127.0.1.1"}
    assert "from machine" in delaylab("exec", "echo", "--", "ping", "-c", "1", "machine").stdout


def test_rootless_nodes_know_each_other_by_name(nobody: Run, tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(NAMED)
    nobody("up", str(tmp_path / "lab.yaml"))
    for node, other in permutations(("a", "s"), 2):
        nobody("exec", node, "--", "ping", "-c", "1", "-W", "20", other)


@pytest.mark.parametrize("kind", ["lxc", "docker"])
def test_a_name_has_the_addresses_of_both_ip_versions_in_every_kind(
    delaylab: Run, tmp_path: Path, kind: str
) -> None:
    """A program that takes the first address uses one IP version, whatever kind its node is."""
    skip_unless_runnable(kind)
    text = f"lab: dual\nip: [4, 6]\nnodes: {{a: {{}}, c: {{kind: {kind}}}, b: {{}}}}\n"
    (tmp_path / "lab.yaml").write_text(text + "links: [{join: [a, b, c], name: w}]\n")
    delaylab("up", str(tmp_path / "lab.yaml"))
    plan = attach("dual").plan
    v4, v6 = (str(each.ip) for each in plan.attachment("b", "w").interfaces())
    for node in ("a", "c"):
        for version, address in (("-4", v4), ("-6", v6)):
            assert address in delaylab("exec", node, "--", "ping", version, "-c", "1", "b").stdout
    first = {node: delaylab("exec", node, "--", "ping", "-c", "1", "b").stdout for node in "ac"}
    assert (v6 in first["a"]) == (v6 in first["c"])
    delaylab("down", "dual")
