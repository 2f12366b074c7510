"""Dead agents are named by `ps` and `up`, and repaired where that is possible."""

from __future__ import annotations

import os
import resource
import select
import signal
import subprocess
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from delaylab.agent.result import AgentError, NoAnswer
from delaylab.agent.wire.sessions import Hello
from delaylab.errors import DelaylabError
from delaylab.lab.attach import attach
from delaylab.lab.programs.programs import output, start
from delaylab.replaying.ongoing import recording
from delaylab.spec.programs import ProgramSpec
from tests.doing.conftest import (
    NOBODY,
    Run,
    Up,
    as_json,
    only_line,
    pid_in_container,
    skip_unless_runnable,
)
from tests.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.root
LAB = """\
lab: sick
hosts: {left: {}, right: {}}
nodes: {a: {host: left}, b: {host: right}, c: {host: left}}
links:
  - {between: [a, b], name: wan, delay: 5ms}
  - {join: [a, b, c], name: lan}
"""


def kill(name: str, agent: str) -> None:
    """Kill an agent, and wait until it is dead."""
    pid = attach(name).pid(agent)
    end([pid])


def end(pids: list[int]) -> None:
    """Kill processes, and wait until they are dead."""
    handles = [os.pidfd_open(pid) for pid in pids]
    for handle in handles:
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    for handle in handles:
        assert select.select([handle], [], [], PATIENCE_S)[0]
        os.close(handle)


@pytest.mark.parametrize("agent", ["node.a", "host.left", "link.left", "wire"])
def test_ps_and_up_name_what_is_dead(delaylab: Run, up: Up, tmp_path: Path, agent: str) -> None:
    name = up(LAB)
    (healthy,) = as_json(delaylab("ps", "--json"))["labs"]
    assert healthy["dead"] == {}
    kill(name, agent)
    listed = delaylab("ps").stdout
    assert f"sick: agent {agent} is dead: its process has ended" in listed
    assert "delaylab down sick" in listed
    (known,) = as_json(delaylab("ps", "--json"))["labs"]
    assert known["dead"] == {agent: "its process has ended"}
    states = {place["agent"]: place["state"] for place in (*known["hosts"], *known["nodes"])}
    assert {one for one, state in states.items() if state == "dead"} == {agent} & set(states)
    said = only_line(delaylab("up", str(tmp_path / "lab.yaml"), code=1).stderr)
    assert f"lab 'sick' is up, but agent {agent} is dead" in said
    assert "delaylab down sick" in said
    delaylab("down", name)
    up(LAB)
    assert as_json(delaylab("ps", "--json"))["labs"][0]["dead"] == {}


def test_a_link_is_changed_on_all_hosts_or_on_none(delaylab: Run, up: Up) -> None:
    name = up(LAB)
    before = as_json(delaylab("link", "show", name, "--json"))["engines"]
    kill(name, "link.right")
    said = only_line(delaylab("link", "set", name, "wan", "delay=20ms", code=1).stderr)
    assert "the link engine of host 'right' is down" in said
    assert "delaylab down sick, then up again" in said
    shown = delaylab("link", "show", name)
    assert "links of right are down" in shown.stdout
    after = {e["host"]: e for e in as_json(delaylab("link", "show", name, "--json"))["engines"]}
    assert after["right"]["state"] == "down"
    (left,) = [engine for engine in before if engine["host"] == "left"]

    def asked(engine: dict[str, list[dict[str, object]]]) -> list[object]:
        return [direction["asked"] for direction in engine["directions"]]

    assert asked(after["left"]) == asked(left)


def test_both_engines_dead_is_not_a_lab_without_conditions(delaylab: Run, up: Up) -> None:
    name = up(LAB)
    for host in ("left", "right"):
        kill(name, f"link.{host}")
    shown = delaylab("link", "show", name).stdout
    assert "no link has conditions" not in shown
    assert "links of left are down" in shown
    assert "links of right are down" in shown
    delaylab("link", "set", name, "wan", "delay=20ms", code=1)


def test_a_node_that_answers_nothing_ends_each_wait(
    delaylab: Run, up: Up, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = up(LAB.replace("a: {host: left}", "a: {host: left, start: [sleep 1000]}"))
    running = attach(name)
    for limit in (
        "lab.programs.programs.OUTPUT_S",
        "lab.programs.programs.STATES_S",
        "replaying.ongoing.ENDS_S",
    ):
        monkeypatch.setattr(f"delaylab.{limit}", 0.2)
    agent = running.pid("node.a")
    os.kill(agent, signal.SIGSTOP)
    try:
        with pytest.raises(AgentError, match=r"no answer within 0\.2 s"):
            output(running, "a", "sleep")
        with pytest.raises(AgentError, match="node a: does not answer"):
            start(running, "a", ProgramSpec(run="true"))
        with (
            pytest.raises(DelaylabError, match=r"no answer|takes no input"),
            recording(running, "a", "sleep"),
        ):
            pass
    finally:
        os.kill(agent, signal.SIGCONT)
    assert delaylab("logs", "a").stdout == ""


def test_engines_that_are_stopped_cost_one_short_wait(delaylab: Run, up: Up) -> None:
    up(LAB)
    engines = [int(each["pid"]) for each in as_json(delaylab("ps", "--json"))["labs"][0]["engines"]]
    assert len(engines) == 2
    for pid in engines:
        os.kill(pid, signal.SIGSTOP)
    shown = " ".join(delaylab("ps").stdout.split())
    for host in ("left", "right"):
        assert f"links of {host} are down: link.{host}: " in shown
    assert shown.count("links: no answer within 5 s") == 2
    for pid in engines:
        os.kill(pid, signal.SIGCONT)
    wait_until(lambda: "are down" not in delaylab("ps").stdout)


def test_an_engine_that_stands_still_at_the_receiver_is_in_the_verdict(
    delaylab: Run, up: Up
) -> None:
    name = up(LAB)
    of_host = {e["host"]: e["pid"] for e in as_json(delaylab("ps", "--json"))["labs"][0]["engines"]}

    def from_a() -> dict[str, Any]:
        engines = as_json(delaylab("link", "show", name, "--json"))["engines"]
        directions = [each for engine in engines for each in engine["directions"]]
        return next(each for each in directions if (each["link"], each["node"]) == ("wan", "a"))

    ping = ("exec", "a", "--", "ping", "-q", "-c")
    delaylab(*ping, "30", "-i", "0.01", "b.wan")
    found = from_a()
    assert found["late_at_receiver"]["p50_ns"] > found["late"]["p50_ns"], "both engines count"
    os.kill(of_host["right"], signal.SIGSTOP)
    delaylab(*ping, "1", "-W", "1", "b.wan", code=1)
    os.kill(of_host["right"], signal.SIGCONT)
    wait_until(lambda: any("host right paused" in why for why in from_a()["why_not"]))
    assert not from_a()["held"]


@pytest.mark.parametrize("kind", ["lxc", "docker", "uml"])
def test_a_guest_that_ended_is_named(delaylab: Run, up: Up, kind: str) -> None:
    skip_unless_runnable(kind)
    name = up(LAB.replace("c: {host: left}", f"c: {{host: left, kind: {kind}}}"))
    if kind == "uml":
        victim = machine_of(attach(name).pid("node.c"))
    else:
        own = ("exec", "c", "--", "readlink", "/proc/self/ns/net")
        network = delaylab(*own).stdout.strip()
        inside = [pid for pid in processes("init --folder") if network_of(pid) == network]
        (victim,) = [pid for pid in inside if pid_in_container(pid) == 1]
    end([victim])
    # Who asks while it ends may be told that it did not answer.
    wait_until(lambda: "it has ended" in delaylab("ps").stdout.replace("\n", " "))
    assert "agent node.c is dead" in delaylab("ps").stdout.replace("\n", " ")
    assert "it has ended" in only_line(delaylab("exec", "c", "--", "true", code=1).stderr)
    delaylab("exec", "a", "--", "true")


@pytest.mark.parametrize("kind", ["uml", "qemu"])
def test_a_machine_that_ends_while_it_is_asked_is_named(delaylab: Run, up: Up, kind: str) -> None:
    """Its monitor sees a client's request and the end of the machine at the same time."""
    skip_unless_runnable(kind)
    more = ", accel: tcg" if kind == "qemu" else ""
    name = up(LAB.replace("c: {host: left}", f"c: {{host: left, kind: {kind}{more}}}"))
    lab = attach(name)
    monitor = lab.pid("node.c")
    with closing(lab.node_session("c")) as session:
        os.kill(monitor, signal.SIGSTOP)
        try:
            end([machine_of(monitor)])
            session.start(Hello())
        finally:
            os.kill(monitor, signal.SIGCONT)
        with pytest.raises(AgentError) as failed:
            session.finish(timeout=PATIENCE_S)
        assert not isinstance(failed.value, NoAnswer), "it was told"
    assert "it has ended" in only_line(delaylab("exec", "c", "--", "true", code=1).stderr)
    assert "agent node.c is dead" in delaylab("ps").stdout.replace("\n", " ")


def machine_of(monitor: int) -> int:
    """Return the process of a virtual machine, the only child of its monitor."""
    (machine,) = Path(f"/proc/{monitor}/task/{monitor}/children").read_text().split()
    return int(machine)


def processes(words: str) -> list[int]:
    """Pids of processes in whose command line these words are."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if words in line:
                found.append(int(folder.name))
    return found


def network_of(pid: int) -> str:
    """The network namespace of a process: that of a container is its own alone."""
    with suppress(OSError):
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    return ""


SMALL = "lab: small\nnodes: {a: {}, b: {}}\nlinks: [{between: [a, b], delay: 1ms}]\n"


@pytest.mark.parametrize("agent", ["node.a", "host.here", "link.here"])
@pytest.mark.parametrize("limit", [resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE])
def test_what_cannot_be_had_ends_a_session_and_not_the_agent(
    nobody: Run, tmp_path: Path, run_directory: Path, agent: str, limit: int
) -> None:
    """An agent at its limit of processes, or of open files, says so, and goes on afterwards."""
    if os.geteuid() != 0:
        pytest.skip("limits are set as another user")
    (tmp_path / "lab.yaml").write_text(SMALL)
    nobody("up", "lab.yaml")
    (known,) = as_json(nobody("ps", "--json"))["labs"]
    name = agent.removeprefix("node.").removeprefix("host.")
    pids = {place["agent"]: place["pid"] for place in (*known["hosts"], *known["nodes"])}
    if agent == "link.here":
        name = agent
        pids[agent] = children_of(known["keeper"])[agent]

    def set_soft(value: int) -> None:
        script = (
            "import resource, sys; pid, kind, value = map(int, sys.argv[1:]);"
            "_, hard = resource.prlimit(pid, kind);"
            "resource.prlimit(pid, kind, (hard if value < 0 else value, hard))"
        )
        words = ["/usr/bin/python3", "-c", script, *map(str, (pids[agent], limit, value))]
        subprocess.run(words, check=True, user=NOBODY, group=NOBODY, extra_groups=[])

    try:
        nobody("exec", name, "--", "true")
        set_soft(1)
        for _ in range(3):
            if limit == resource.RLIMIT_NPROC:
                said = only_line(nobody("exec", name, "--", "true", code=1).stderr)
                assert "start a session: Resource temporarily unavailable" in said
            else:
                # Who cannot be let in cannot be told why: kernels let go of it, or have it wait.
                with suppress(subprocess.TimeoutExpired):
                    assert nobody("exec", name, "--", "true", timeout=2, code=1).stderr
        set_soft(-1)
        assert nobody("exec", name, "--", "echo", "there").stdout == "there\n"
        assert as_json(nobody("ps", "--json"))["labs"][0]["dead"] == {}
    finally:
        nobody("down", "--all")


def children_of(keeper: int) -> dict[str, int]:
    """The agents of a keeper's lab by their titles."""
    (init,) = map(int, Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split())
    found = {}
    for child in Path(f"/proc/{init}/task/{init}/children").read_text().split():
        title = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")[0].decode()
        found[title.removeprefix("delaylab-agent ")] = int(child)
    return found
