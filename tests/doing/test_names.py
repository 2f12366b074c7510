"""Names of nodes: every node of a lab finds every other one by its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doing.conftest import Run

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
SYSTEM = Path("/etc/hosts")


def test_nodes_know_each_other_by_name(delaylab: Run, tmp_path: Path) -> None:
    before = SYSTEM.read_bytes()
    (tmp_path / "lab.yaml").write_text(NAMED)
    delaylab("up", str(tmp_path / "lab.yaml"))
    nodes = ("a", "router", "s", "n")
    for start in nodes:
        for target in nodes:
            delaylab("exec", start, "--", "ping", "-c", "1", "-W", "2", target)
    for name, address in (("router.near", "198.18.0.2"), ("router.far", "198.18.1.1")):
        found = delaylab("exec", "a", "--", "getent", "hosts", name)
        assert found.stdout.split()[0] == address
    delaylab("exec", "a", "--", "getent", "hosts", "localhost")
    assert SYSTEM.read_bytes() == before, "the machine's own file stays as it is"
    delaylab("down", "named")
    assert SYSTEM.read_bytes() == before


def test_rootless_nodes_know_each_other_by_name(nobody: Run, tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(NAMED)
    nobody("up", str(tmp_path / "lab.yaml"))
    nobody("exec", "a", "--", "ping", "-c", "1", "-W", "2", "s")
