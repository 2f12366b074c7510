"""`engine: kernel`: links that the kernel's own queues carry, on this machine's kernel.

What needs netem is in `test_netem.py`, in a guest whose kernel has it.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from delaylab.agent.binary import kernel_parts
from tests.doing.conftest import Run, Up, as_json
from tests.doing.labs.test_bad_input import agent_pid

pytestmark = pytest.mark.root
BAD_INPUT, FAILED = 2, 1
LAB = """\
lab: kernel
engine: kernel
hosts: {left: {}, right: {engine: own}}
nodes: {a: {host: left}, b: {host: left}, c: {host: right}}
links:
  - {join: [a, b, c], name: wan, rate: 8Mbit, from: {b: {loss: 50%}}}
"""
ONE_WAY = """\
lab: kernel
engine: kernel
hosts: {left: {}}
nodes: {a: {host: left}, b: {host: left}}
links: [{between: [a, b], name: wan, from: {b: {rate: 8Mbit}}}]
"""


def received(delaylab: Run, node: str, address: str, count: int) -> int:
    """How many pings of a node are answered."""
    argv = ("ping", "-q", "-c", str(count), "-i", "0.01", "-W", "1", address)
    said = delaylab("exec", node, "--", "sh", "-c", f"{' '.join(argv)} || true").stdout
    found = re.search(r"(\d+) received", said)
    assert found, said
    return int(found[1])


def test_a_rate_may_follow_a_loss_at_one_port_and_a_loss_a_rate(delaylab: Run, up: Up) -> None:
    """Both are filters of one queue, which whichever comes first makes."""
    name = up(ONE_WAY)  # b has a rate, a has nothing
    for node, before in (("a", "loss=50%"), ("b", "loss=50%"), ("a", "rate=8Mbit")):
        delaylab("link", "set", name, "wan", before, "--node", node)
    assert 0 < received(delaylab, "a", "b", 60) < 60
    (engine,) = as_json(delaylab("link", "show", name, "--json"))["engines"]
    ways = {way["node"]: way for way in engine["directions"]}
    assert all(way["asked"].keys() == {"loss", "rate"} for way in ways.values())
    assert all(way["dropped"]["loss"] > 0 for way in ways.values()), ways


def test_a_shared_link_of_both_engines(delaylab: Run, up: Up) -> None:
    name = up(LAB)
    for node, address in (("a", "c"), ("c", "a")):
        assert received(delaylab, node, address, 10) == 10
    # Addresses are resolved by a question that may be lost, too.
    assert 0 < received(delaylab, "a", "b", 50) < 50
    delaylab("link", "set", name, "wan", "loss=none", "--node", "b")
    assert received(delaylab, "a", "b", 50) == 50
    left, right = as_json(delaylab("link", "show", name, "--json"))["engines"]
    assert (left["engine"], right["engine"]) == ("kernel", "own")
    ways = {way["node"]: way for way in left["directions"]}
    assert ways["b"]["asked"].keys() == {"rate"}
    assert ways["b"]["dropped"]["loss"] > 0
    assert ways["a"]["dropped"]["loss"] == 0
    # Where the machine is busy, the engine of host right may be late; the conditions were kept.
    assert all("engine" in why or "lateness" in why for why in ways["a"]["why_not"]), ways["a"]
    said = delaylab("ps").stdout
    assert "links of left: kernel engine; " in said
    assert "links of right: own engine, " in said


def test_what_this_kernel_lacks_is_refused_before_anything_is_built(
    delaylab: Run, tmp_path: Path
) -> None:
    if kernel_parts()["netem"] is None:
        pytest.skip("this kernel has netem")
    path = tmp_path / "lab.yaml"
    path.write_text(LAB.replace("rate: 8Mbit", "delay: 20ms"))
    said = delaylab("up", str(path), code=FAILED).stderr
    assert "make the conditions of link wan of a: `delay_ns` needs the kernel's netem" in said
    assert "engine: own" in said
    assert as_json(delaylab("ps", "--json"))["labs"] == []


@pytest.mark.parametrize(
    ("changes", "code", "says"),
    [
        (("queue=30",), FAILED, "would drop what waits"),
        (("queue={bytes: 9kB, discipline: red, min: 1kB, max: 9kB}",), BAD_INPUT, "`red` queues"),
        (("jitter={spread: 1ms, correlation: 50%}",), BAD_INPUT, "correlation of `jitter`"),
    ],
)
def test_a_change_that_the_kernel_cannot_make_changes_nothing(
    changes: tuple[str, ...], code: int, says: str, delaylab: Run, up: Up
) -> None:
    name = up(LAB)
    before = as_json(delaylab("link", "show", name, "--json"))["engines"]
    said = delaylab("link", "set", name, "wan", "loss=3%", *changes, code=code).stderr
    assert says in said
    after = as_json(delaylab("link", "show", name, "--json"))["engines"]
    for then, now in zip(before, after, strict=True):
        assert [w["asked"] for w in then["directions"]] == [w["asked"] for w in now["directions"]]


def test_a_change_can_be_made_once_the_cause_of_its_failure_is_gone(
    delaylab: Run, up: Up, run_directory: Path
) -> None:
    """Another program has put a hook of its own at a port, and takes it away again."""
    name = up(ONE_WAY)
    pid = agent_pid(run_directory / name, "host.left")
    hook = ["nsenter", "--target", str(pid), "--net", "tc", "qdisc"]
    subprocess.run([*hook, "add", "dev", "a.wan", "clsact"], check=True)
    said = delaylab("link", "set", name, "wan", "rate=4Mbit", "--node", "a", code=FAILED).stderr
    assert "File exists" in said
    subprocess.run([*hook, "del", "dev", "a.wan", "clsact"], check=True)
    delaylab("link", "set", name, "wan", "rate=4Mbit", "--node", "a")
    (engine,) = as_json(delaylab("link", "show", name, "--json"))["engines"]
    assert all(way["asked"].keys() == {"rate"} for way in engine["directions"])
