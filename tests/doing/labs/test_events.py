"""Nodes and links of a running lab that are taken down, and come back, by command and by Python."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from delaylab.errors import BadInput, DelaylabError
from delaylab.lab.node_events import act
from delaylab.lab.programs.programs import node_states, states
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.resolve.lab import Lab
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse
from delaylab.verbs.execute import captured
from tests.doing.conftest import (
    Run,
    as_json,
    left_to_slow,
    only_line,
    our_processes,
    skip_unless_runnable,
)
from tests.waiting import wait_until

pytestmark = pytest.mark.root
LAB = """
lab: events
hosts: {sut: {}}
nodes:
  one: {}
  two:
    kind: KIND
    start:
      - {run: [sleep, inf], name: first}
      - {run: "sleep 1000 & sleep 1001", name: second}
  three: {}
links:
  - {between: [one, two], name: wan, state: up}
  - {join: [one, two, three], name: lan, state: up}
"""
KINDS = ["netns", "lxc", *left_to_slow("uml", "docker", "qemu")]


def lab(kind: str = "netns") -> Lab:
    return lab_from(parse(LAB.replace("KIND", kind), "lab.yaml"))


def carrier(running: LiveLab, node: str, link: str) -> bool:
    _, out, _ = captured(running, node, ["ip", "link", "show", link])
    return b"state UP" in out or b"LOWER_UP" in out


def reaches(running: LiveLab, to: str, link: str) -> bool:
    address = running.plan.attachment(to, link).address
    code, _, _ = captured(running, "one", ["ping", "-c", "1", "-W", "1", address])
    return code == 0


def ways(running: LiveLab) -> dict[str, str]:
    return {each.name: each.how for each in states(running)["two"]}


@pytest.mark.parametrize("kind", KINDS)
def test_a_node_is_stopped_killed_and_started(kind: str) -> None:
    skip_unless_runnable(kind)
    with temporary(lab(kind)) as running:
        assert reaches(running, "two", "wan")
        before = time.time_ns()
        event = act(running, "two", "stop")
        assert before <= event.began_ns <= event.done_ns <= time.time_ns() or kind in (
            "uml",
            "qemu",
        )
        assert ways(running) == {"first": "frozen", "second": "frozen"}
        assert node_states(running)["two"].node == "stopped"
        assert carrier(running, "one", "wan"), "a frozen node keeps its carrier"
        assert not reaches(running, "two", "wan")
        assert not reaches(running, "two", "lan")
        act(running, "two", "start")
        assert ways(running) == {"first": "running", "second": "running"}
        assert reaches(running, "two", "wan")

        event = act(running, "two", "kill")
        assert event.links == ("wan", "lan")
        assert ways(running) == {"first": "ended by signal 9", "second": "ended by signal 9"}
        wait_until(lambda: not carrier(running, "one", "wan"))
        assert carrier(running, "one", "lan"), "the switch is still there"
        assert not reaches(running, "two", "lan")
        assert reaches(running, "three", "lan"), "others are reached as before"
        old = {each.name: each.pid for each in states(running)["two"]}
        event = act(running, "two", "start")
        assert event.programs == ("first", "second"), "in the order of their start"
        assert ways(running) == {"first": "running", "second": "running"}
        assert all(old[each.name] != each.pid for each in states(running)["two"])
        wait_until(lambda: reaches(running, "two", "wan"))
        wait_until(lambda: reaches(running, "two", "lan"))


def test_a_program_alone_is_killed_and_restarted() -> None:
    with temporary(lab()) as running:
        act(running, "two", "kill", ["second"])
        assert ways(running) == {"first": "running", "second": "ended by signal 9"}
        assert reaches(running, "two", "wan")
        act(running, "two", "restart", ["second"])
        assert ways(running) == {"first": "running", "second": "running"}
        act(running, "two", "stop", ["first"])
        assert ways(running)["first"] == "frozen"
        act(running, "two", "start", ["first"])
        assert ways(running)["first"] == "running"
        with pytest.raises(DelaylabError, match="no program of this name was started"):
            act(running, "two", "kill", ["third"])


def test_the_cable_to_a_dead_node_stays_down_until_both_are_there() -> None:
    with temporary(lab()) as running:
        act(running, "one", "kill")
        act(running, "two", "kill")
        act(running, "one", "start")
        assert not carrier(running, "one", "wan")
        assert carrier(running, "one", "lan")
        act(running, "two", "start")
        wait_until(lambda: reaches(running, "two", "wan"))


def test_a_node_whose_links_the_kernel_carries_is_refused() -> None:
    plain = LAB.replace(", name: lan, state: up", ", name: lan").replace("KIND", "netns")
    with temporary(lab_from(parse(plain, "lab.yaml"))) as running:
        with pytest.raises(BadInput, match="its link 'lan' has no conditions"):
            act(running, "two", "kill")
        assert ways(running) == {"first": "running", "second": "running"}
        assert reaches(running, "two", "wan"), "nothing has changed"


def test_verbs_say_what_happened_and_when(
    delaylab: Run, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("lab") / "lab.yaml"
    file.write_text(LAB.replace("KIND", "netns"))
    delaylab("up", str(file))
    wan, lan = as_json(delaylab("link", "down", "events", "wan", "lan", "--json"))
    assert (wan["link"], wan["did"]) == ("wan", "down")
    # All ends of both change by one request to the engine.
    assert abs(wan["began_ns"] - lan["began_ns"]) < 50_000_000
    assert only_line(delaylab("link", "down", "events", "wan").stdout) == "link wan: down as before"
    assert "wan: down at one and two" in delaylab("ps").stdout
    delaylab("link", "up", "events", "wan", "lan")
    down, up = as_json(delaylab("link", "flap", "events", "wan", "--for", "300ms", "--json"))
    assert up["began_ns"] - down["done_ns"] >= 300_000_000
    (event,) = as_json(delaylab("node", "kill", "events", "two", "--json"))
    assert event["programs"] == ["second", "first"]
    assert "killed" in delaylab("ps").stdout
    assert delaylab("node", "restart", "events", "two").stdout.startswith("node two: restarted at ")
    wrong = delaylab("node", "stop", "events", "four", code=2)
    assert "no node 'four'" in wrong.stderr
    delaylab("down", "events")


def test_frozen_and_killed_programs_end_with_the_lab(
    delaylab: Run, tmp_path_factory: pytest.TempPathFactory, run_directory: Path
) -> None:
    """A frozen process does not act on the signal by which others end."""
    file = tmp_path_factory.mktemp("lab") / "lab.yaml"
    file.write_text(LAB.replace("KIND", "netns"))
    delaylab("up", str(file))
    delaylab("node", "stop", "events", "two")
    programs = [line for line in our_processes(str(run_directory)) if line.startswith("sleep ")]
    assert len(programs) == 3, "those of both programs, which were started by a shell or without"
    delaylab("down", "events")
    assert our_processes(str(run_directory)) == []
