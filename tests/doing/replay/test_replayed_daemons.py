"""Routing daemons that are recorded through a failure, and replayed without their network."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from tests.doing.conftest import DELAYLAB, Run, Up, as_json, skip_unless_runnable
from tests.doing.replay.test_replay import calls
from tests.waiting import PATIENCE_S, wait_until

pytestmark = [pytest.mark.root, pytest.mark.slow]
ROUTERS = """\
lab: routers
routing: {by: DAEMON, ospf: {hello: 1s, dead: 4s}}
nodes: {r1: {KIND}, r2: {forwards: true}, r3: {forwards: true}}
links:
  - {between: [r1, r2], state: up}
  - {between: [r2, r3], state: up}
  - {between: [r1, r3], state: up}
"""
FIND = "ip route get $(getent hosts r1 | cut -d ' ' -f 1) || true"


def await_way(delaylab: Run, link: str) -> None:
    """Wait until r2 reaches r1 by a link."""
    argv = ("exec", "r2", "--", "sh", "-c", FIND)
    wait_until(lambda: f" dev {link} " in delaylab(*argv).stdout)


@pytest.mark.parametrize(
    ("by", "program", "kind"),
    [
        ("bird", "bird", "netns"),
        ("frr", "ospfd", "netns"),
        ("frr", "zebra", "netns"),
        ("bird", "bird", "lxc"),
        ("frr", "ospfd", "lxc"),
        ("frr", "zebra", "lxc"),
    ],
)
def test_a_routing_daemon_is_replayed_through_a_failure(
    by: str, program: str, kind: str, up: Up, delaylab: Run, tmp_path: Path
) -> None:
    skip_unless_runnable(kind)
    packages = ", packages: [bird2]" if kind == "lxc" and by == "bird" else ""
    node = f"kind: {kind}, forwards: true{packages}"
    name = up(ROUTERS.replace("DAEMON", by).replace("KIND", node))
    folder = tmp_path / "recording"
    argv = [str(DELAYLAB), "record", name, "r1", "--program", program, "-o", str(folder)]
    with subprocess.Popen([*argv, "--duration", "30s"], stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        process.stderr.readline()  # once it is recorded
        await_way(delaylab, "r1-r2")
        delaylab("link", "down", name, "r1-r2")
        await_way(delaylab, "r2-r3")
        delaylab("link", "up", name, "r1-r2")
        await_way(delaylab, "r1-r2")
        assert process.poll() is None, "it was recorded through all of that"
        assert process.wait(PATIENCE_S) == 0
    names = [each for _, each in calls(delaylab, folder)]
    # Hello packets in both directions, or routes to the kernel, at the least.
    assert sum(each in ("sendmsg", "sendto", "write") for each in names) > 20
    assert sum(each in ("recvmsg", "read") for each in names) > 20
    argv = [str(DELAYLAB), "replay", str(folder), "--json"]
    done = as_json(subprocess.run(argv, capture_output=True, text=True, check=False))
    assert done["how"] == "equal"
    assert done["outputs"] == sum(each.startswith(("send", "write")) for each in names)


def test_a_router_whose_zebra_is_recorded_takes_a_failure(
    up: Up, delaylab: Run, tmp_path: Path
) -> None:
    """ospfd is restarted with it: it would not repeat what it tells a zebra that is gone."""
    text = ROUTERS.replace("DAEMON", "frr").replace("KIND", "forwards: true")
    name = up(text.replace("dead: 4s", "dead: 4s, retransmit: 1s"))
    argv = [str(DELAYLAB), "record", name, "r1", "--program", "zebra"]
    with subprocess.Popen(
        [*argv, "-o", str(tmp_path / "recording")], stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        process.stderr.readline()  # once it is recorded
        delaylab("converge", name)
        down, up_again = as_json(
            delaylab("converge", name, "--down", "r1-r2", "--up", "r1-r2", "--json")
        )
        assert down["right_s"] is not None
        assert up_again["right_s"] is not None
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
    delaylab("converge", name)
    assert "ended" not in delaylab("ps").stdout
