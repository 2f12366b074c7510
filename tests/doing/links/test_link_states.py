"""Links that go down and come up again: carriers, silence, timelines, verdicts, on every kind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from delaylab.agent.wire.sessions import Exec
from delaylab.drawing.svg import STATES as COLOURS
from delaylab.kinds import KINDS
from delaylab.lab.attach import attach
from delaylab.lab.links import link_changes, link_engines
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.machines import LOCAL
from delaylab.resolve.lab import Lab
from delaylab.resolve.resolve import lab_from_data
from delaylab.spec.conditions.model import ConditionsSpec
from tests.doing.conftest import (
    Run,
    Up,
    as_json,
    left_to_slow,
    our_processes,
    skip_unless_runnable,
)
from tests.waiting import wait_until

pytestmark = pytest.mark.root
BAD_INPUT = 2
SHOW = ("ip", "link", "show", "wan")


def said(lab: LiveLab, node: str, *argv: str) -> str:
    """Return what a command in a node prints."""
    session = lab.node_session(node)
    try:
        return session.call(Exec(argv=argv)).stdout.decode()
    finally:
        session.close()


def card(lab: LiveLab, node: str) -> str:
    """Return the state of a node's card as routing daemons see it (operstate of RFC 2863)."""
    return state_of(said(lab, node, *SHOW))


def state_of(shown: str) -> str:
    """Return the state in the output of `ip link`."""
    found = re.search(r" state (\S+)", shown)
    assert found, shown
    return found[1]


def carriers(lab: LiveLab, *nodes: str) -> list[bool]:
    """Return whether each node's card has a carrier; it is set up in any case."""
    return [has_carrier(said(lab, node, *SHOW)) for node in nodes]


def has_carrier(shown: str) -> bool:
    """Return whether there is a carrier, by the output of `ip link`."""
    flags = shown[shown.index("<") + 1 : shown.index(">")].split(",")
    assert "UP" in flags, shown
    return "NO-CARRIER" not in flags


def received(lab: LiveLab, node: str, to: str, count: int = 3) -> int:
    """Return how many pings are answered."""
    ping = f"ping -q -c {count} -i 0.05 -W 1 {to} || true"
    found = re.search(r"(\d+) (?:packets )?received", said(lab, node, "sh", "-c", ping))
    return int(found[1]) if found else 0


def answers(lab: LiveLab, node: str, to: str) -> None:
    """Wait until a node is reached: its address may have to be resolved anew."""
    wait_until(lambda: received(lab, node, to, 1) == 1)


def frames(lab: LiveLab, node: str) -> int:
    """Return how many frames a node's card has received."""
    found = re.search(r"wan: *\d+ +(\d+)", said(lab, node, "cat", "/proc/net/dev"))
    assert found
    return int(found[1])


def address(lab: LiveLab, node: str) -> str:
    return lab.plan.nodes[node].attachments[0].address


def spec(kind: str = "netns", engine: str = "own", **link: Any) -> Lab:
    node = {"kind": kind, "accel": "tcg"} if kind == "qemu" else {"kind": kind}
    return lab_from_data(
        {
            "lab": "states",
            "engine": engine,
            "nodes": {"a": node, "b": {}},
            "links": [{"between": ["a", "b"], "name": "wan", **link}],
        }
    )


def set_state(lab: LiveLab, state: str, node: str | None = None) -> None:
    link_changes.change(lab, "wan", node, ConditionsSpec.model_validate({"state": state}))


@pytest.mark.parametrize(
    ("kind", "engine"),
    [
        ("netns", "own"),
        ("netns", "kernel"),
        ("lxc", "own"),
        ("uml", "own"),
        ("uml", "kernel"),
        ("qemu", "own"),
    ],
)
def test_a_link_that_is_down_has_no_carrier_at_either_end_until_it_is_up(
    kind: str, engine: str
) -> None:
    goes_down(kind, engine)


@pytest.mark.parametrize("kind", left_to_slow("docker"))
def test_a_link_of_a_container_of_an_engine_goes_down(kind: str) -> None:
    goes_down(kind, "own")


def goes_down(kind: str, engine: str) -> None:
    skip_unless_runnable(kind)
    # The driver of User-Mode Linux's card has no carrier to lose.
    down = "DORMANT" if kind == "uml" else "DOWN"
    with temporary(spec(kind, engine, state="up")) as lab:
        a, b = address(lab, "a"), address(lab, "b")
        answers(lab, "a", b)
        for _ in range(2):
            set_state(lab, "down")
            wait_until(lambda: card(lab, "a") == down)
            assert carriers(lab, "a", "b") == [False, False]
            assert received(lab, "a", b) == received(lab, "b", a) == 0
            assert a in said(lab, "a", "ip", "address", "show", "wan"), "addresses stay"
            set_state(lab, "up")
            wait_until(lambda: card(lab, "a") != down)
            assert carriers(lab, "a", "b") == [True, True]
            answers(lab, "a", b)
            answers(lab, "b", a)
        (report,) = link_engines.reports(lab)
        assert report.notes == [] or "card" not in " ".join(report.notes)
        for direction in report.of_nodes:
            assert [each.state for each in direction.downtimes] == ["down", "down"]
            assert all(
                each.until_ns and each.until_ns > each.since_ns for each in direction.downtimes
            )


@pytest.mark.parametrize("kind", ["netns", *left_to_slow("qemu")])
def test_a_link_may_be_down_from_the_start(kind: str) -> None:
    skip_unless_runnable(kind)
    with temporary(spec(kind, state="down")) as lab:
        assert carriers(lab, "a", "b") == [False, False]
        set_state(lab, "up")
        wait_until(lambda: carriers(lab, "a", "b") == [True, True])
        answers(lab, "a", address(lab, "b"))


def test_a_silent_link_keeps_its_carrier_and_nothing_arrives() -> None:
    with temporary(spec(state="up", delay="1ms")) as lab:
        b = address(lab, "b")
        answers(lab, "a", b)
        set_state(lab, "silent")
        before = frames(lab, "b")
        assert received(lab, "a", b) == 0
        assert carriers(lab, "a", "b") == [True, True]
        assert frames(lab, "b") == before
        (report,) = link_engines.reports(lab)
        (of_a,) = (each for each in report.of_nodes if each.node == "a")
        assert of_a.dropped.down > 0
        set_state(lab, "up")
        answers(lab, "a", b)


@contextmanager
def dump(lab: LiveLab, node: str) -> Iterator[list[str]]:
    """Let tcpdump watch the frames of a node's card; give its lines once the block has ended."""
    pid = next(agent.pid for name, agent in lab.keeper.agents.items() if name == f"node.{node}")
    command = (
        "nsenter",
        "-t",
        str(pid),
        "-n",
        "tcpdump",
        "--immediate-mode",
        "-lnei",
        "wan",
        "ip or arp",
    )
    lines: list[str] = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        assert any("listening on wan" in line for line in process.stderr)
        try:
            yield lines
        finally:
            process.send_signal(signal.SIGINT)  # tcpdump then writes out what it has
            lines += process.stdout


def echoes(lines: list[str], kind: str) -> int:
    """Return the number of ICMP echoes of a kind, `request` or `reply`, that tcpdump saw."""
    return sum(f"ICMP echo {kind}" in line for line in lines)


@pytest.mark.skipif(which("tcpdump") is None, reason="tcpdump is not installed")
def test_tcpdump_sees_the_frames_of_a_silent_end_leave_and_none_arrive() -> None:
    with temporary(spec(state="up")) as lab:
        a, b = address(lab, "a"), address(lab, "b")
        answers(lab, "a", b)
        answers(lab, "b", a)
        with dump(lab, "a") as near, dump(lab, "b") as far:
            set_state(lab, "silent")
            assert received(lab, "a", b, 5) == 0
            assert received(lab, "b", a, 4) == 0
        assert (echoes(near, "request"), echoes(far, "request")) == (5, 4)
        assert echoes(near, "reply") == echoes(far, "reply") == 0
        # Silent in one direction: requests arrive, and the answers vanish.
        set_state(lab, "up")
        answers(lab, "a", b)
        with dump(lab, "a") as near, dump(lab, "b") as far:
            set_state(lab, "silent", "b")
            assert received(lab, "a", b, 5) == 0
        assert (echoes(near, "request"), echoes(far, "request")) == (5, 5)
        assert (echoes(near, "reply"), echoes(far, "reply")) == (0, 5)


def test_one_direction_may_be_silent_and_one_end_down() -> None:
    text = {
        "lab": "states",
        "nodes": {"a": {}, "b": {}, "c": {}},
        "links": [{"join": ["a", "b", "c"], "name": "wan", "delay": "1ms"}],
    }
    with temporary(lab_from_data(text)) as lab:
        b, c = address(lab, "b"), address(lab, "c")
        answers(lab, "a", b)
        set_state(lab, "silent", "a")
        before = frames(lab, "b")
        assert received(lab, "a", b) == 0
        assert frames(lab, "b") == before
        answers(lab, "b", c)
        set_state(lab, "down", "a")
        assert carriers(lab, "a", "b", "c") == [False, True, True]
        assert received(lab, "b", address(lab, "a")) == 0
        answers(lab, "b", c)
        set_state(lab, "up", "a")
        assert carriers(lab, "a", "b", "c") == [True, True, True]
        answers(lab, "a", b)


TWO_HOSTS = """\
lab: states
hosts: {left: {}, right: {}}
nodes: {a: {host: left}, own: {kind: native, host: left}, b: {host: right}}
links: [{join: [a, own, b], name: wan, state: up}]
"""


def test_a_link_between_hosts_goes_down_at_all_of_its_ends(delaylab: Run, up: Up) -> None:
    name = up(TWO_HOSTS)

    def all_carriers() -> list[bool]:
        shown = (delaylab("exec", node, "--", *SHOW).stdout for node in ("a", "own", "b"))
        return [has_carrier(each) for each in shown]

    assert all_carriers() == [True, True, True]
    shown = delaylab("link", "set", name, "wan", "state=down").stdout
    assert shown.count("state=down") == 3
    assert "wan: down once, for " in shown
    assert all_carriers() == [False, False, False]
    said_of_ps = delaylab("ps").stdout
    assert "wan: down at a and own" in said_of_ps.replace("down at own and a", "down at a and own")
    assert "wan: down at b" in said_of_ps
    (directions,) = [
        [way for way in engine["directions"] if way["node"] == "b"]
        for engine in as_json(delaylab("link", "show", name, "--json"))["engines"]
        if engine["host"] == "right"
    ]
    assert directions[0]["held"]
    assert directions[0]["asked"] == {"state": "down"}
    assert [each["until_ns"] for each in directions[0]["downtimes"]] == [None]
    delaylab("link", "set", name, "wan", "state=up")
    assert all_carriers() == [True, True, True]
    assert "all hold" in delaylab("ps").stdout
    delaylab("link", "set", name, "wan", "state=none")
    assert (
        "state"
        not in as_json(delaylab("link", "show", name, "--json"))["engines"][0]["directions"][0][
            "asked"
        ]
    )


def test_a_picture_of_a_running_lab_has_the_colours_of_its_links(
    delaylab: Run, up: Up, tmp_path: Path
) -> None:
    file = tmp_path / "drawn.yaml"
    links = (f"{{between: [a, b], name: {name}, state: up}}" for name in ("one", "two", "three"))
    file.write_text(f"lab: drawn\nnodes: {{a: {{}}, b: {{}}}}\nlinks: [{', '.join(links)}]\n")
    drawing = ("graph", str(file), "--svg", "-", "--running")
    assert "no lab 'drawn' is up" in delaylab(*drawing, code=BAD_INPUT).stderr
    assert "say --svg" in delaylab("graph", str(file), "--running", code=BAD_INPUT).stderr
    up(file.read_text())
    delaylab("link", "set", "drawn", "two", "state=down")
    delaylab("link", "set", "drawn", "three", "state=silent")
    text = delaylab(*drawing).stdout
    dashed = dict(re.findall(r'stroke="(#\w+)"[^>]*stroke-dasharray[^>]*><title>(\w+)', text))
    assert dashed == {COLOURS["down"]: "two", COLOURS["silent"]: "three"}
    assert text.count(f'fill="{COLOURS["running"]}"') == 2


def test_nothing_is_left_of_a_lab_that_is_killed_while_its_link_is_down(
    delaylab: Run, up: Up, run_directory: Path
) -> None:
    name = up(TWO_HOSTS.replace("kind: native", "kind: uml") if runnable("uml") else TWO_HOSTS)
    delaylab("link", "set", name, "wan", "state=down")
    keeper = attach(name).keeper.pid
    with open_pid(keeper) as process:
        signal.pidfd_send_signal(process, signal.SIGKILL)
    wait_until(lambda: not our_processes(str(run_directory)))
    delaylab("down", "--all")
    assert list(run_directory.iterdir()) == []


@contextmanager
def open_pid(pid: int) -> Iterator[int]:
    """Hold a process, whose number nobody else can then get."""
    process = os.pidfd_open(pid)
    try:
        yield process
    finally:
        os.close(process)


def runnable(kind: str) -> bool:
    """Return True if this machine can run nodes of a kind."""
    return KINDS[kind].can_run(LOCAL.rights(), False) is None


def test_what_cannot_go_down_is_refused_with_a_way_out(
    delaylab: Run, up: Up, tmp_path: Path
) -> None:
    name = up("lab: plain\nnodes: {a: {}, b: {}}\nlinks: [{between: [a, b], name: wan}]\n")
    refused = delaylab("link", "set", name, "wan", "state=down", code=BAD_INPUT).stderr
    assert "link 'wan' has no conditions: the kernel carries it" in refused
    assert "`state: up`" in refused
    for node, engine, state, why in (
        ("{kind: xen}", "own", "down", "the card of a cannot lose its carrier"),
        ("{}", "kernel", "silent", "the kernel engine has no `state: silent`"),
        ("{}", "own", "broken", "state: expected 'up', 'down' or 'silent', got 'broken'"),
    ):
        path = tmp_path / "lab.yaml"
        path.write_text(
            f"lab: x\nengine: {engine}\nnodes: {{a: {node}, b: {{}}}}\n"
            f"links: [{{between: [a, b], name: wan, state: {state}}}]\n"
        )
        assert why in delaylab("plan", str(path), code=BAD_INPUT).stderr
