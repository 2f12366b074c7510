"""`delaylab fair` on real nodes: shares that are known, stops that are known, work that fails."""

from __future__ import annotations

import json
import math
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from delaylab.agent.measuring_requests import Compute
from delaylab.agent.wire.sessions import Exec
from delaylab.lab.attach import attach
from delaylab.lab.links import link_engines
from delaylab.lab.running import LiveLab
from delaylab.machines.control_groups import VCPU
from delaylab.plan.agents import USUAL_WEIGHT
from delaylab.spec.kinds import FACTS
from delaylab_study.work.crew import ready, together
from delaylab_study.work.jobs import Job, JobFailed, JobResult
from delaylab_study.work.short import CPU, NETWORK, WORKS, job, prepared
from tests.doing.conftest import (
    Run,
    Up,
    left_to_slow,
    only_line,
    our_processes,
    skip_unless_runnable,
)
from tests.images.conftest import NEEDS_APT
from tests.waiting import wait_until, wait_until_gone

pytestmark = pytest.mark.root
WEIGHTS = {"a": 100, "b": 200, "c": 400}
WITHIN = 0.03
"""How far a share of all work may lie from its weight's (issue: 3 %)."""
MOST_ROUNDS = 20
EQUAL = 0.99
"""The least Jain's index of CPU work by equal nodes."""
KINDS = ["netns", "lxc", *left_to_slow("qemu", "docker", "uml")]
QUOTA = 0.3
STOPPED_S = 0.6
SEEN_WITHIN_S = 0.05
AGAIN_S = 0.05
"""The CPU time after which a stopped thread surely works again."""
WORKING_TICKS = 20
"""The CPU time, in ticks of 10 ms, of a thread that has surely begun to work."""
TWO_NODES = "{a: {host: one}, b: {host: one}}"
TWO = f"lab: two\nhosts: {{one: {{}}}}\nnodes: {TWO_NODES}\n" + (
    "links: [{between: [a, b], name: lan}]\n"
)


@NEEDS_APT
@pytest.mark.parametrize("kind", ["netns", *left_to_slow("lxc", "docker", "qemu", "uml")])
def test_equal_nodes_get_equal_shares(delaylab: Run, up: Up, kind: str) -> None:
    skip_unless_runnable(kind)
    nodes = ", ".join(f"{name}: {{kind: {kind}, host: one}}" for name in WEIGHTS)
    links = "links: [{join: [a, b, c], name: lan}]"
    name = up(f"lab: equal\nhosts: {{one: {{cpus: [0]}}}}\nnodes: {{{nodes}}}\n{links}\n")
    rounds = rounds_of_enough(name)
    found = json.loads(delaylab("fair", name, "--work", "cpu", *rounds, "--json").stdout)
    assert found["works"]["cpu"]["jain"] >= EQUAL


@NEEDS_APT
@pytest.mark.parametrize("kind", ["netns", *left_to_slow("lxc", "qemu", "docker", "uml")])
def test_shares_are_those_of_the_weights(delaylab: Run, up: Up, kind: str) -> None:
    skip_unless_runnable(kind)
    nodes = ", ".join(
        f"{name}: {{kind: {kind}, host: one{_weight(weight)}}}" for name, weight in WEIGHTS.items()
    )
    links = "links: [{join: [a, b, c], name: lan}]"
    name = up(f"lab: weighted\nhosts: {{one: {{cpus: [0]}}}}\nnodes: {{{nodes}}}\n{links}\n")
    rounds = rounds_of_enough(name)
    found = json.loads(delaylab("fair", name, "--work", "cpu", *rounds, "--json").stdout)
    shares = found["works"]["cpu"]["shares"]
    for node, weight in WEIGHTS.items():
        fair = weight / sum(WEIGHTS.values())
        cpu = shares[node]["cpu"] / len(WEIGHTS)
        assert abs(cpu - fair) < WITHIN, shares
        # A machine spends part of its CPU time on its own timer, whatever its share is.
        if not FACTS[kind].virtual_machine:
            work = shares[node]["of_fair"]["value"] / len(WEIGHTS)
            assert abs(work - fair) < WITHIN, shares
    assert found["works"]["cpu"]["verdict"] != "fair"
    assert found["works"]["cpu"]["said"] == found["works"]["cpu"]["verdict"]


@NEEDS_APT
@pytest.mark.parametrize("kind", KINDS)
def test_a_node_has_the_cpu_time_of_its_quota(up: Up, kind: str) -> None:
    skip_unless_runnable(kind)
    node = f"{{kind: {kind}, host: one, cpu_quota: {QUOTA:.0%}}}"
    links = "links: [{between: [a, b], name: lan}]"
    lab = attach(
        up(f"lab: q\nhosts: {{one: {{}}}}\nnodes: {{a: {node}, b: {{host: one}}}}\n{links}\n")
    )
    before = periods(lab, "a")
    done = together(lab, [job(CPU, node, 3) for node in "ab"], 3)
    limited = (done["a"].host_cpu_s or 0) / 3
    all_periods, held_back = (
        after - first for after, first in zip(periods(lab, "a"), before, strict=True)
    )
    # On a busy machine many periods end before the quota is used up; in all others it is.
    assert held_back > 0 or limited < QUOTA
    assert QUOTA * held_back / all_periods - WITHIN < limited < QUOTA + WITHIN
    assert periods(lab, "b")[1] == 0


def rounds_of_enough(name: str) -> tuple[str, str]:
    """Return the option for so many rounds that the nodes get as much CPU time as in two if alone.

    The scheduler gives CPU time in turns of milliseconds. On a CPU that other work uses for nine
    tenths of the time, the nodes have so few turns in two rounds that one more exceeds the
    tolerance.
    """
    lab = attach(name)
    done = together(lab, [job(CPU, node, 1) for node in WEIGHTS], 1)
    lab.close()
    had = sum(each.host_cpu_s or 0 for each in done.values())
    return "--rounds", str(min(MOST_ROUNDS, math.ceil(2 / min(1, max(had, 0.1)))))


def periods(lab: LiveLab, node: str) -> tuple[int, int]:
    """The periods of a node's quota up to now, and those of them in which it was used up."""
    text = (_group(lab, node) / "cpu.stat").read_text()
    fields = dict(line.split() for line in text.splitlines())
    return int(fields["nr_periods"]), int(fields["nr_throttled"])


def test_the_rate_of_a_stream_is_what_arrives_of_it(up: Up) -> None:
    """One stream over a link whose rate is known, of which headers take a twentieth."""
    link = "{between: [a, b], name: lan, rate: 20Mbit, queue: 50}"
    lab = attach(up(f"lab: rated\nhosts: {{one: {{}}}}\nnodes: {TWO_NODES}\nlinks: [{link}]\n"))
    with prepared(lab, NETWORK, ["a", "b"], 3) as jobs:
        done = together(lab, jobs[:1], 3)
    (sent,) = [
        way for each in link_engines.reports(lab) for way in each.of_nodes if way.node == "a"
    ]
    # The engine is the witness of how much went over the link in those 3 s.
    assert 0.8 * 8 * sent.left.bytes / 3 < done["a"].rate < 20e6


def test_work_that_no_node_can_do_is_said(delaylab: Run, up: Up) -> None:
    """Two links without a router between them."""
    links = "[{between: [a, b], name: one}, {between: [c, d], name: two}]"
    nodes = "{a: {host: one}, b: {host: one}, c: {host: one}, d: {host: one}}"
    name = up(f"lab: apart\nhosts: {{one: {{}}}}\nnodes: {nodes}\nlinks: {links}\n")
    said = delaylab("fair", name, "--work", "network", "--rounds", "2", code=1).stderr
    assert "the work of node 'b' failed: iperf3 said: " in only_line(said)


@pytest.mark.parametrize("kind", ["netns", "lxc", "qemu", *left_to_slow("docker")])
def test_a_stopped_node_shows_as_a_stop_of_that_length(up: Up, kind: str) -> None:
    """A node whose working thread is stopped: in a virtual machine, the thread of its virtual CPU.

    The other node is not stopped. Its longest stop is the machine's own share in both.
    """
    skip_unless_runnable(kind)
    # With a weight, all kinds have a control group.
    lab = attach(up(TWO.replace("a: {", f"a: {{kind: {kind}, cpu_weight: 200, ")))
    with ready(lab, [job(CPU, node, 3) for node in "ab"]) as crew:
        before = _ticks(lab, "a")
        crew.go()
        least_s, most_s = _stopped(_working(lab, "a", before), virtual=FACTS[kind].virtual_machine)
        crew.stop_after(1)
        done = {each.job.node: each.done for each in crew.workers}
    seen_s, machine_s = (each.longest_stop_s or 0.0 for each in map(done.get, "ab") if each)
    assert least_s - SEEN_WITHIN_S <= seen_s <= most_s + machine_s + SEEN_WITHIN_S


def test_work_that_cannot_begin_is_named_and_the_rest_is_stopped(
    up: Up, run_directory: Path
) -> None:
    lab = attach(up(TWO))
    before = {*our_processes(str(run_directory))}
    bad = Job("b", Exec(argv=["no-such-program"], hold=True), lambda _: JobResult(1, 1, 1, 0))
    with pytest.raises(JobFailed, match=r"'b' failed: .*no-such-program"):
        together(lab, [job(CPU, "a", 1), bad], 0.2)
    lab.close()
    wait_until_gone(lambda: {*our_processes(str(run_directory))} - before)


def test_work_that_dies_is_named_with_what_it_said_last(up: Up) -> None:
    lab = attach(up(TWO))
    argv = ["stress-ng", "--no-such-option"]
    dies = Job("b", Exec(argv=argv, hold=True), job(WORKS[1], "b", 1).read)
    with pytest.raises(JobFailed, match=r"'b' failed: stress-ng said: .+"):
        together(lab, [job(CPU, "a", 1), dies], 0.2)


def test_held_requests_do_nothing_before_they_may(up: Up) -> None:
    lab = attach(up(TWO))
    session = lab.node_session("a")
    compute = session.start(Compute(units=5, hold=True))
    session.event(10)
    session.stop()
    session.finish(10)
    assert compute.done.units == 0
    command = session.start(Exec(argv=["true"], hold=True))
    session.event(10)
    session.stop()
    session.finish(10)
    assert (command.done.exit, command.done.began_ns) == (None, None)


def test_a_command_tells_its_times(up: Up) -> None:
    lab = attach(up(TWO))
    before_ns = time.time_ns()
    burn = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
    done = lab.node_session("a").call(Exec(argv=["sh", "-c", burn])).done
    assert done.exit == 0
    assert before_ns <= (done.began_ns or 0) < (done.ended_ns or 0) <= time.time_ns()
    used_ns = (done.user_ns or 0) + (done.system_ns or 0)
    assert 0 < used_ns <= (done.ended_ns or 0) - (done.began_ns or 0) + 20_000_000, "one process"


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--kind", "vmware"], "--kind: no kind 'vmware' (one of native, "),
        (["--nodes", "1"], "fairness is compared between 2 and 64 nodes, not 1"),
        (["--nodes", "65"], "fairness is compared between 2 and 64 nodes, not 65"),
        (["--work", "gpu"], "--work: no work 'gpu' (one of cpu, "),
        (["--nodes", "0"], "fairness is compared between 2 and 64 nodes, not 0"),
        (["nolab"], "no lab 'nolab' is up"),
        (["nolab", "--nodes", "4"], "LAB has its own nodes (leave out --kind and --nodes)"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(delaylab: Run, argv: list[str], says: str) -> None:
    assert says in only_line(delaylab("fair", *argv, code=2).stderr)


def test_an_ordinary_users_lab_is_gone_afterwards(nobody: Run, run_directory: Path) -> None:
    found = nobody("fair", "--nodes", "2", "--work", "cpu", "--rounds", "2").stdout
    assert found.startswith("cpu: ")
    assert [line.split()[0] for line in found.splitlines()[2:5]] == ["NODE", "n1", "n2"]
    own = run_directory / "nobody"
    assert not list((own if own.exists() else run_directory).iterdir())


def _weight(weight: int) -> str:
    return "" if weight == USUAL_WEIGHT else f", cpu_weight: {weight}"


def _working(lab: LiveLab, node: str, before: dict[int, int]) -> int:
    """The thread of a node that has worked most since then, once it surely does."""
    worked: dict[int, int] = {}

    def works() -> bool:
        now = _ticks(lab, node)
        worked.update((thread, ticks - before.get(thread, 0)) for thread, ticks in now.items())
        return max(worked.values(), default=0) >= WORKING_TICKS

    wait_until(works)
    return max(worked, key=lambda thread: worked[thread])


def _stopped(thread: int, virtual: bool) -> tuple[float, float]:
    """Stop a thread and its process; the least and the most time in s that it stood still."""
    assert virtual == Path(f"/proc/{thread}/comm").read_text().startswith(VCPU)
    waits, before_s = _waits(thread), time.monotonic()
    os.kill(thread, signal.SIGSTOP)
    began_s = time.monotonic()
    time.sleep(STOPPED_S)  # how long the node stands still
    ended_s, (ran_s, _) = time.monotonic(), _schedstat_s(thread)
    os.kill(thread, signal.SIGCONT)
    most_s = time.monotonic() - before_s
    # Once it has run again for a while, the kernel's account has its wait for a CPU, and those of
    # other threads that it waited for: QEMU's share a lock.
    wait_until(lambda: _schedstat_s(thread)[0] > ran_s + AGAIN_S)
    more = sum(now_s - waits.get(each, 0.0) for each, now_s in _waits(thread).items())
    return ended_s - began_s, most_s + more


def _ticks(lab: LiveLab, node: str) -> dict[int, int]:
    """The CPU time of each thread in a node's control group, in ticks of 10 ms."""
    found = {}
    for members in _group(lab, node).rglob("cgroup.procs"):
        for pid in members.read_text().split():
            for task in Path(f"/proc/{pid}/task").glob("*"):
                with suppress(OSError):  # it has ended
                    fields = (task / "stat").read_text().rpartition(")")[2].split()
                    found[int(task.name)] = int(fields[11]) + int(fields[12])
    return found


def _group(lab: LiveLab, node: str) -> Path:
    """The folder of a node's control group that accounts for CPU time."""
    groups = lab.keeper.agents[lab.agent_name(node)].cgroups
    return Path(groups.get("cpu") or groups["unified"])


def _waits(thread: int) -> dict[int, float]:
    """For how long each thread of a thread's process has waited for a CPU, in s, up to now."""
    found = {}
    for each in Path(f"/proc/{thread}/task").glob("*"):
        with suppress(OSError):  # it has ended
            found[int(each.name)] = _schedstat_s(int(each.name))[1]
    return found


def _schedstat_s(thread: int) -> tuple[float, float]:
    """For how long a thread has run, and waited for a CPU, up to now."""
    ran_ns, waited_ns, _ = map(int, Path(f"/proc/{thread}/schedstat").read_text().split())
    return ran_ns / 1e9, waited_ns / 1e9
