"""Work of MPI with real packets: latencies are those of the links, and programs that fail."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from delaylab.agent.result import AgentError
from delaylab.agent.wire.sessions import Exec
from delaylab.errors import DelaylabError
from delaylab.lab.attach import attach
from delaylab.lab.running import LiveLab
from delaylab_study.dataset import store
from delaylab_study.dataset.records.work import WorkDone
from delaylab_study.study_file.work import MpiWork
from delaylab_study.work.crew import Crew
from delaylab_study.work.folders import folders
from delaylab_study.work.mpi import latency, launch, settings
from delaylab_study.work.study import doubts, prepared, records
from tests.doing.conftest import (
    Run,
    Up,
    left_to_slow,
    of_program,
    our_processes,
    skip_unless_runnable,
)
from tests.waiting import wait_until

pytestmark = pytest.mark.root
DELAY_NS = 5_000_000
"""The delay of the link one way."""
BUSY_NS = 4_000_000
"""The longest time by which a busy machine may be late."""
BUSY_MEAN_NS = 20_000_000
"""The same of a mean, which one long wait moves."""


def lab_of(kind: str = "netns", link: str = "", nodes: int = 2) -> str:
    names = "abcdefgh"[:nodes]
    hosts = ", ".join(f"h-{name}: {{}}" for name in names)
    made = ", ".join(f"{name}: {{kind: {kind}, host: h-{name}}}" for name in names)
    return (
        f"lab: mpi\nhosts: {{{hosts}}}\nnodes: {{{made}}}\n"
        f"links: [{{join: [{', '.join(names)}], name: lan{link}}}]\n"
    )


def messages(**more: Any) -> MpiWork:
    return MpiWork.model_validate({"name": "m", "on": ["a", "b"], "mpi": "latency", **more})


@contextmanager
def running(lab: LiveLab, spec: MpiWork) -> Iterator[Crew]:
    with prepared(lab, [spec]) as crew:
        yield crew


def measured(lab: LiveLab, spec: MpiWork) -> list[WorkDone]:
    with running(lab, spec) as crew:
        crew.go()
        crew.wait()
        assert not doubts(crew)
    return records(crew, [spec], lab.spec)


def times(done: WorkDone) -> dict[tuple[str, int], float]:
    return {(each.operation, each.size_bytes): each.median_ns for each in done.latencies}


def least(done: WorkDone) -> dict[tuple[str, int], float]:
    """The least times: on a busy machine, where medians also have waits for a CPU."""
    return {(each.operation, each.size_bytes): each.least_ns for each in done.latencies}


def assert_nothing_runs(lab: LiveLab) -> None:
    """Give a program that was told to end some seconds for it."""
    names = ("latency", "orted", "mpirun.openmpi")
    wait_until(
        lambda: not [pid for name in names for node in "ab" for pid in of_program(lab, node, name)]
    )


def test_a_delay_is_found_where_it_was_put(up: Up, run_directory: Path) -> None:
    delayed = measured(attach(up(lab_of(link=", delay: 5ms"))), messages())
    first, second = delayed
    assert [each.node for each in delayed] == ["a", "b"]
    assert all(each.together and each.wall_ns for each in delayed)
    assert (first.user_ns or 0) + (first.system_ns or 0) > 0
    assert not second.latencies
    slow, soonest = times(first), least(first)
    assert slow["round-trip", 1] >= 2 * DELAY_NS
    assert soonest["round-trip", 1] < 2 * DELAY_NS + BUSY_NS
    assert slow["exchange", 1] >= DELAY_NS
    # In one run of many every exchange took a whole round trip (9.997 ms), on an idle machine.
    assert soonest["exchange", 1] < 2 * DELAY_NS + BUSY_NS
    assert slow["barrier", 0] >= DELAY_NS
    assert soonest["barrier", 0] < DELAY_NS + BUSY_NS
    assert {size for _, size in slow} == {0, 1, 64, 1024, 4096, 16384, 65536, 262144}
    assert not sorted(run_directory.rglob("*.work"))


def test_without_a_delay_messages_take_no_such_time(up: Up) -> None:
    """Some message at least goes at once, also on a busy machine."""
    first, _ = measured(attach(up(lab_of())), messages())
    assert least(first)["round-trip", 1] < DELAY_NS


def test_a_large_message_takes_the_time_of_its_bytes(up: Up) -> None:
    """It crosses the link twice in a round trip, with headers."""
    rate_bps = 100_000_000
    first, _ = measured(attach(up(lab_of(link=", rate: 100Mbit, queue: 1000"))), messages())
    assert times(first)["round-trip", 262144] > 2 * 262144 * 8e9 / rate_bps


def test_a_barrier_of_more_nodes_takes_more_rounds(up: Up) -> None:
    """Four ranks need two rounds of messages, two ranks one."""
    nodes = ["a", "b", "c", "d"]
    lab = attach(up(lab_of(link=", delay: 5ms", nodes=4)))
    found = measured(lab, messages(on=nodes))
    assert [each.node for each in found] == nodes
    assert times(found[0])["barrier", 0] >= 2 * DELAY_NS
    assert least(found[0])["barrier", 0] < 2 * DELAY_NS + 2 * BUSY_NS


@pytest.mark.slow
def test_hpcc_finds_a_delay_and_computes(up: Up) -> None:
    """Its latencies are one way, and the mean of pairs."""
    delay_ns = 2_000_000
    lab = attach(up(lab_of(link=", delay: 2ms")))
    first, _ = measured(lab, messages(mpi="hpcc", order=520, deadline="2min"))
    found = {each.name: each for each in first.figures}
    assert delay_ns <= found["ping-pong-one-way"].value < delay_ns + BUSY_MEAN_NS
    # Two messages, one to each neighbour, are under way at once.
    assert delay_ns / 2 <= found["random-ring-per-message"].value < delay_ns + BUSY_MEAN_NS
    assert found["linpack-order"].value == 520
    assert found["linpack"].unit == "flop/s"
    assert found["linpack"].value > 1e6
    assert not first.latencies


def test_ranks_on_one_node_use_no_network(up: Up) -> None:
    """The link of the node would cost them 10 ms."""
    lab = attach(up(lab_of(link=", delay: 5ms")))
    (done,) = measured(lab, messages(on=["a"], ranks=3))
    assert least(done)["round-trip", 1] < DELAY_NS


@pytest.mark.parametrize(
    "kind", ["netns", *left_to_slow("lxc", "qemu", "native", "shared", "docker")]
)
def test_a_study_has_the_latencies(
    delaylab: Run, tmp_path: Path, run_directory: Path, kind: str
) -> None:
    skip_unless_runnable(kind)
    lab = f"lab: {{{', '.join(lab_of(kind).splitlines())}}}"
    probe = "probe: {from: a, to: b, count: 20, interval: 5ms, at_rest: 4}"
    work = "work: [{name: m, on: [a, b], mpi: latency}]"
    (tmp_path / "s.yaml").write_text(f"study: s\n{lab}\nfactors: {{}}\n{probe}\n{work}\n")
    delaylab("run", "s.yaml", "--out", "out")
    (trial,) = store.read_study(tmp_path / "out").trials
    assert [each.failed for each in trial.work] == [None, None]
    assert ("round-trip", 64) in times(trial.work[0])
    assert not our_processes(str(run_directory))


def test_a_rank_that_dies_is_said_and_nothing_is_left(up: Up, run_directory: Path) -> None:
    lab = attach(up(lab_of(link=", delay: 5ms")))
    with running(lab, messages()) as crew:
        crew.go()
        wait_until(lambda: bool(of_program(lab, "b", "latency")))
        (rank,) = of_program(lab, "b", "latency")
        os.kill(rank, signal.SIGKILL)
        crew.wait()
        found = doubts(crew)
    assert {each.kind for each in found} == {"work-failed"}
    assert "rank 1 on node 'b' ended with signal 9" in found[0].message
    assert_nothing_runs(lab)
    assert not sorted(run_directory.rglob("*.work"))


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        ("delaylab-failed 1 b 137\n", "rank 1 on node 'b' ended with signal 9"),
        ("", "mpirun.openmpi did not end within 0.2 s of a node's part"),
    ],
)
def test_mpirun_that_does_not_end_is_said(
    up: Up, monkeypatch: pytest.MonkeyPatch, failure: str, said: str
) -> None:
    """A rank that died is still named: its node has a note of it."""
    monkeypatch.setattr(launch, "END_DEADLINE_S", 0.2)
    lab = attach(up(lab_of()))
    with folders(lab, ["a", "b"], "m") as made:
        made["b"].write(settings.FAILURES, failure.encode())
        endless = lab.node_session("a")
        result = endless.start(Exec(argv=["sleep", "60"]))
        program = launch.StartedJob(endless, result, list(made.values()))
        with pytest.raises(AgentError) as raised:
            program.ended()
        endless.close()
    assert raised.value.what == said


def test_a_daemon_that_dies_is_said(up: Up) -> None:
    lab = attach(up(lab_of(link=", delay: 5ms")))
    with running(lab, messages()) as crew:
        crew.go()
        # A child that it has just made is still called like it.
        os.kill(min(of_program(lab, "b", "orted")), signal.SIGKILL)
        crew.wait()
        found = [each.message for each in doubts(crew)]
    assert any("the work of node 'b' failed" in each and "signal 9" in each for each in found)
    assert len(found) == 2, "nobody has done a job that all do together"


def test_a_program_that_fails_is_said(
    up: Up, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Rank 0 begins once it may go. Rank 1 fails after that, and not while others still start."""
    begun = tmp_path / "begun"
    first = f'[ "$OMPI_COMM_WORLD_RANK" = 0 ] && {{ touch {begun}; exec sleep 60; }}'
    fails = f"until [ -e {begun} ]; do sleep 0.05; done; echo no table >&2; exit 7"
    monkeypatch.setattr(latency, "COMMAND", ("sh", "-c", f"{first}; {fails}"))
    lab = attach(up(lab_of()))
    with running(lab, messages()) as crew:
        crew.go()
        crew.wait()
        found = [each.message for each in doubts(crew)]
    said = "rank 1 on node 'b' ended with exit code 7"
    # mpirun may end before it has passed on what the rank said.
    assert [each.removesuffix("; it said last: no table") for each in found] == [
        f"the work of nodes 'a', 'b' failed: {said}"
    ]


def test_a_program_that_hangs_ends_by_its_deadline(up: Up) -> None:
    lab = attach(up(lab_of(link=", delay: 500ms")))
    with running(lab, messages(deadline="1s")) as crew:
        crew.go()
        crew.wait()
        found = [each.message for each in doubts(crew)]
    assert "it did not end within 1 s" in found[0]
    assert_nothing_runs(lab)


def test_a_program_that_obeys_no_signal_leaves_nothing(
    up: Up, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its ranks have process groups of their own, which a signal to the daemon's does not reach."""
    monkeypatch.setattr(launch, "END_DEADLINE_S", 0.5)
    lab = attach(up(lab_of(link=", delay: 500ms")))
    with running(lab, messages(deadline="1s")) as crew:
        crew.go()
        wait_until(lambda: bool(of_program(lab, "b", "latency")))
        for name in ("orted", "latency"):
            for pid in of_program(lab, "b", name):
                os.kill(pid, signal.SIGSTOP)
        crew.wait()
    assert_nothing_runs(lab)


def test_a_daemon_that_does_not_start_is_said(up: Up, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "AGENT_TEXT", b'echo "delaylab-launch $1 no-such-orted"\n')
    lab = attach(up(lab_of()))
    with (
        pytest.raises(DelaylabError, match=r"orted of [ab] did not start: .*no-such-orted"),
        running(lab, messages()),
    ):
        pytest.fail("it has no daemon")


@pytest.mark.slow
def test_an_ordinary_user_runs_it_too(nobody: Run, tmp_path: Path) -> None:
    lab = f"lab: {{{', '.join(lab_of().splitlines())}}}"
    probe = "probe: {from: a, to: b, count: 20, interval: 5ms, at_rest: 4}"
    work = "work: [{name: m, on: [a, b], mpi: latency}]"
    (tmp_path / "s.yaml").write_text(f"study: s\n{lab}\nfactors: {{}}\n{probe}\n{work}\n")
    tmp_path.chmod(0o777)
    nobody("run", "s.yaml", "--out", "out")
    (trial,) = store.read_study(tmp_path / "out").trials
    assert trial.work[0].failed is None
    assert trial.work[0].latencies
