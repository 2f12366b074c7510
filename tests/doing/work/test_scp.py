"""Work of scp with real packets: the file arrives, at a rate that is known, and nothing is left."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from delaylab.agent.frames import Frame
from delaylab.agent.wire.sessions import Exec
from delaylab.errors import DelaylabError, NotHere
from delaylab.lab.attach import attach
from delaylab.lab.links import link_engines
from delaylab.lab.running import LiveLab
from delaylab.units import Size
from delaylab.verdicts.links import judge
from delaylab_study.dataset import store
from delaylab_study.study_file.work import ScpWork
from delaylab_study.work import sshd
from delaylab_study.work.crew import Crew
from delaylab_study.work.folders import WorkFolder
from delaylab_study.work.scp import fetches
from delaylab_study.work.study import doubts, prepared
from tests.doing.conftest import (
    DELAYLAB,
    Run,
    Up,
    as_json,
    left_to_slow,
    our_processes,
    skip_unless_runnable,
)
from tests.waiting import wait_until

pytestmark = pytest.mark.root
SIZE = Size.parse("8MB")
NET = 80 + 2 * (os.getpid() % 80)
"""The third number of addresses in this machine's own stack: another run has others."""
LINK = 50e6
"""The rate in bit/s of the link whose rate is known."""
HEADERS = 1448 / 1538
"""The share of it that Ethernet, IP and TCP leave, preamble and gap included."""


def lab_of(kind: str = "netns", link: str = "", name: str = "two") -> str:
    """Two nodes: `a` of a kind, `b` with a stack of its own."""
    return (
        f"lab: {name}\nhosts: {{one: {{}}, two: {{}}}}\n"
        f"nodes: {{a: {{kind: {kind}, host: one}}, b: {{kind: {kind}, host: two}}}}\n"
        f"links: [{{between: [a, b], name: lan{link}}}]\n"
    )


def copies(size: Size = SIZE, on: Sequence[str] = ("a",), to: str = "b") -> ScpWork:
    return ScpWork.model_validate({"name": "copy", "on": list(on), "scp": size, "to": to})


@contextmanager
def copying(lab: LiveLab, spec: ScpWork) -> Iterator[Crew]:
    with prepared(lab, [spec]) as crew:
        yield crew


def content(lab: LiveLab, folder: str, name: str) -> str:
    return hashlib.sha256((Path(lab.folder) / folder / name).read_bytes()).hexdigest()


def left(run_directory: Path) -> list[Path]:
    return sorted(run_directory.rglob("*.work"))


def servers(lab: LiveLab) -> list[int]:
    """The server's processes in the network of `b`; their titles hide their environments."""
    network = os.stat(f"/proc/{lab.pid('node.b')}/ns/net").st_ino  # noqa: PTH116
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if (folder / "comm").read_text() == "sshd\n":
                found += [int(folder.name)] * ((folder / "ns/net").stat().st_ino == network)
        except OSError:
            continue
    return found


def listener(lab: LiveLab) -> int:
    """The server itself, which tells so in its title."""
    return next(
        pid for pid in servers(lab) if b"[listener]" in Path(f"/proc/{pid}/cmdline").read_bytes()
    )


@pytest.mark.parametrize(
    "kind", ["netns", *left_to_slow("lxc", "native", "shared", "docker", "qemu")]
)
def test_a_study_copies_on_each_kind(
    delaylab: Run, tmp_path: Path, run_directory: Path, kind: str
) -> None:
    skip_unless_runnable(kind)
    lab = f"lab: {{{', '.join(lab_of(kind).splitlines())}}}"
    probe = "probe: {from: a, to: b, count: 20, interval: 5ms, at_rest: 4}"
    work = "work: [{name: copy, on: a, to: b, scp: 8MB}]"
    (tmp_path / "s.yaml").write_text(f"study: s\n{lab}\nfactors: {{}}\n{probe}\n{work}\n")
    delaylab("run", "s.yaml", "--out", "out")
    study = store.read_study(tmp_path / "out")
    (trial,) = study.trials
    assert not [each for each in trial.warnings if each.kind == "work-failed"]
    (done,) = trial.work
    assert (done.node, done.unit, done.failed) == ("a", "B/s", None)
    assert done.rate is not None
    assert done.wall_ns is not None
    assert done.rate == pytest.approx(SIZE.bytes / (done.wall_ns / 1e9))
    # ssh is a child of scp: without it there would be hardly any CPU time.
    assert (done.user_ns or 0) + (done.system_ns or 0) > 10_000_000
    steps = study.progress(trial.id)
    assert steps["done"].to_list()[-1] == SIZE.bytes
    assert as_json(delaylab("show", "out", "--json"))["work"][0]["unit"] == "B/s"
    assert not left(run_directory)
    assert not our_processes(str(run_directory))


def test_each_node_gets_the_file_of_its_own_server(up: Up, run_directory: Path) -> None:
    """Also if a node both serves and fetches; the files of servers differ, as they are random."""
    lab = attach(up(lab_of()))
    spec = ScpWork.model_validate({"name": "c", "on": ["a", "b"], "scp": SIZE, "to": ["b", "a"]})
    with copying(lab, spec) as crew:
        for folder in left(run_directory):
            assert folder.stat().st_mode & 0o777 == 0o700
            assert all(not each.stat().st_mode & 0o077 for each in folder.glob("key"))
        crew.go()
        crew.wait()
        assert not doubts(crew)
        served = {each: content(lab, f"{each}.c.far.work", "file") for each in "ab"}
        fetched = {each: content(lab, f"{each}.c.work", "fetched") for each in "ab"}
        assert (fetched["a"], fetched["b"]) == (served["b"], served["a"])
        assert served["a"] != served["b"]
        assert (Path(lab.folder) / "a.c.work/fetched").stat().st_size == SIZE.bytes
    assert not left(run_directory)
    assert not servers(lab)


def test_one_server_has_room_for_many_at_once(up: Up, run_directory: Path) -> None:
    """OpenSSH's own default turns clients away from the eleventh on that is not logged in yet."""
    lab = attach(
        up(
            "lab: many\nhosts: {one: {}}\n"
            "nodes: {n: {host: one, count: 16}, far: {host: one}}\n"
            "links: [{join: [n, far], name: lan}]\n"
        )
    )
    on = [f"n-{number}" for number in range(1, 17)]
    with copying(lab, copies(Size.parse("1MB"), on=on, to="far")) as crew:
        listening = lab.node_session("far").call(Exec(argv=["ss", "-Hltn"])).stdout.decode()
        crew.go()
        crew.wait()
        assert not doubts(crew)
    # At the address of the link, and nowhere else.
    addresses = [line.split()[3] for line in listening.splitlines()]
    (attachment,) = lab.plan.nodes["far"].attachments
    assert addresses == [f"{attachment.address}:30001"]
    assert not left(run_directory)


def test_the_rate_is_that_of_the_link(up: Up) -> None:
    lab = attach(up(lab_of(link=", rate: 50Mbit, queue: 100")))
    with copying(lab, copies(Size.parse("25MB"))) as crew:
        crew.go()
        crew.wait()
    (worker,) = crew.workers
    assert worker.done is not None, worker.failed
    assert 8 * worker.done.rate < LINK * HEADERS
    # The engine is the witness: it carried the file, and not faster than the link.
    (way,) = [way for way in judge(link_engines.reports(lab)) if way.direction.node == "b"]
    assert 25e6 <= way.direction.left.bytes < 1.15 * 25e6
    assert way.rate is not None
    assert not way.rate.exceeded


def test_a_server_that_dies_is_said_and_nothing_is_left(up: Up, run_directory: Path) -> None:
    lab = attach(up(lab_of(link=", rate: 50Mbit, queue: 100")))
    killed: list[int] = []

    def kill(frame: Frame, since_ns: int) -> None:
        # As soon as some of the file has come.
        listen(frame, since_ns)
        if not killed and b" 0% " not in frame.payload and b"%" in frame.payload:
            killed.append(listener(lab))
            os.kill(killed[0], signal.SIGKILL)

    with copying(lab, copies(Size.parse("100MB"))) as crew:
        (worker,) = crew.workers
        assert worker.job.listen is not None
        listen = worker.job.listen
        worker.job = replace(worker.job, listen=kill)
        crew.go()
        crew.wait()
        (found,) = doubts(crew)
    assert killed
    assert found.kind == "work-failed"
    assert "the work of node 'a' failed: scp said: " in found.message
    assert "onnection" in found.message
    assert worker.done is None
    assert not left(run_directory)
    assert not servers(lab)


def test_a_server_that_does_not_start_is_said(up: Up, run_directory: Path) -> None:
    """Its port is taken: by the server of a work that was told to use the same ports."""
    lab = attach(up(lab_of()))
    with fetches(lab, copies()):
        second = copies().model_copy(update={"name": "second"})
        with (
            pytest.raises(DelaylabError, match=r"sshd did not start: .*Cannot bind any address"),
            fetches(lab, second),
        ):
            pytest.fail("both servers listen at the same port")
        assert {each.name for each in left(run_directory)} == {"a.copy.work", "b.copy.far.work"}
    assert not left(run_directory)


def on_machine(name: str, number: int) -> str:
    """A lab whose node `b` is this machine, in its own stack."""
    ends = f"a: 198.19.{number}.1/30, b: 198.19.{number}.2/30"
    return (
        f"lab: {name}\nhosts: {{one: {{}}}}\nnodes: {{a: {{host: one}}, b: {{kind: native}}}}\n"
        f"links: [{{between: [a, b], name: lan, addresses: {{{ends}}}}}]\n"
    )


@pytest.mark.parametrize("own", [False, True], ids=["namespaces", "own-stack"])
def test_two_labs_at_once_do_not_meet(up: Up, run_directory: Path, *, own: bool) -> None:
    """Both have the same nodes and ports; in namespaces the same addresses, too."""
    if own and os.geteuid() != 0:
        pytest.skip("only root adds to this machine's own stack")
    one, two = (
        attach(up(on_machine(name, number) if own else lab_of(name=name)))
        for name, number in (("one", NET), ("two", NET + 1))
    )
    with copying(one, copies()) as first, copying(two, copies()) as second:
        for crew in (first, second):
            crew.go()
        for crew in (first, second):
            crew.wait()
            assert not doubts(crew)
        contents = [content(lab, "a.copy.work", "fetched") for lab in (one, two)]
        assert contents == [content(lab, "b.copy.far.work", "file") for lab in (one, two)]
        assert contents[0] != contents[1]
    assert not left(run_directory)


def test_a_key_that_the_server_was_not_told_opens_nothing(up: Up) -> None:
    lab = attach(up(lab_of()))
    with copying(lab, copies()) as crew:
        near = WorkFolder(lab, "a", "copy")
        near.run("rm", near.file("key"), near.file("key.pub"))
        sshd.make_key(near)
        crew.go()
        crew.wait()
        (found,) = doubts(crew)
    assert "scp said: " in found.message
    assert not crew.workers[0].done


def test_a_server_shows_no_file_of_the_machine(up: Up, tmp_path: Path) -> None:
    """A client may ask for any file: it gets those of the work, and programs."""
    secret = tmp_path / "secret"
    secret.write_text("precious")
    lab = attach(up(lab_of()))
    with copying(lab, copies()) as crew:
        (job,) = [worker.job for worker in crew.workers]
        assert isinstance(job.request, Exec)
        *options, source, target = job.request.argv
        host = source.rpartition(":")[0]

        def fetched(path: str) -> str:
            again = Exec(argv=[*options, f"{host}:{path}", target])
            done = lab.node_session("a").call(again)
            return "" if done.done.exit == 0 else (done.stderr + done.stdout).decode()

        assert fetched("/work/file") == ""
        places = (str(secret), "/etc/shadow", "/etc/hostname", f"/old{secret}")
        processes = (f"/proc/{os.getpid()}/environ", f"/proc/1/root{secret}")
        for path in (*places, *processes):
            said = fetched(path)
            # Where no own /proc may be mounted, it is the lab's.
            assert "No such file" in said or (path in processes and "denied" in said), path


def test_a_server_with_another_key_gets_no_login(up: Up) -> None:
    lab = attach(up(lab_of()))
    with copying(lab, copies()) as crew:
        near = WorkFolder(lab, "a", "copy")
        near.run("rm", near.file("known_hosts"))
        sshd.know(near, near.run("cat", near.file("key.pub")))
        crew.go()
        crew.wait()
        (found,) = doubts(crew)
    assert "scp said: " in found.message
    assert not crew.workers[0].done


def test_a_client_reads_nothing_of_the_users(up: Up) -> None:
    """By `ssh -G`, every file that the options name is the lab's, or there is none."""
    lab = attach(up(lab_of()))
    folder = WorkFolder(lab, "a", "copy")
    options = sshd.client_options(folder, 30_001)
    said = subprocess.run(
        ["ssh", "-G", *options, "b"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    found = dict(line.split(" ", 1) for line in said)
    assert found["identityfile"] == folder.file("key")
    assert found["userknownhostsfile"] == folder.file("known_hosts")
    assert found["globalknownhostsfile"] == "/dev/null"
    assert found["identityagent"] == "none"
    assert found["batchmode"] == "yes"
    assert found["stricthostkeychecking"] == "true"
    assert found["canonicalizehostname"] == "false"


def is_fetched(place: Path) -> bool:
    """Return True once a file `fetched` is below a folder, in which other entries come and go."""
    return any("fetched" in files for _, _, files in os.walk(place))


def test_a_run_that_is_killed_leaves_nothing(
    delaylab: Run, tmp_path: Path, run_directory: Path
) -> None:
    """The copy would take minutes; the command is killed in the middle of it."""
    lab = f"lab: {{{', '.join(lab_of(link=', rate: 1Mbit, queue: 100').splitlines())}}}"
    probe = "probe: {from: a, to: b, count: 20, interval: 5ms, at_rest: 4}"
    work = "work: [{name: copy, on: a, to: b, scp: 50MB, deadline: 10min}]"
    (tmp_path / "s.yaml").write_text(f"study: s\n{lab}\nfactors: {{}}\n{probe}\n{work}\n")
    command = subprocess.Popen([DELAYLAB, "run", "s.yaml", "--out", "out"], cwd=tmp_path)
    try:
        wait_until(lambda: is_fetched(run_directory), deadline_s=200)
    finally:
        command.kill()
        command.wait()
    wait_until(lambda: not our_processes(str(run_directory)))
    delaylab("ps")  # it sweeps up what a killed lab left
    assert not list(run_directory.iterdir())


def test_files_without_room_are_refused(up: Up, run_directory: Path) -> None:
    """One of the files has room, both together have not, whatever other programs free meanwhile."""
    about = os.statvfs(run_directory)
    too_much = Size(about.f_bavail * about.f_frsize * 3 // 4)
    if too_much.bytes > 100_000_000_000:
        pytest.skip("this disk has room for the largest file")
    lab = attach(up(lab_of()))
    spec = {"name": "c", "on": ["a", "b"], "scp": too_much, "to": ["b", "a"]}
    with (
        pytest.raises(NotHere, match=r"2 files of .* have no room: .* set DELAYLAB_RUN"),
        copying(lab, ScpWork.model_validate(spec)),
    ):
        pytest.fail("there is no room")


def test_an_ordinary_user_copies_too(nobody: Run, tmp_path: Path) -> None:
    lab = f"lab: {{{', '.join(lab_of().splitlines())}}}"
    probe = "probe: {from: a, to: b, count: 20, interval: 5ms, at_rest: 4}"
    work = "work: [{name: copy, on: a, to: b, scp: 8MB}]"
    (tmp_path / "s.yaml").write_text(f"study: s\n{lab}\nfactors: {{}}\n{probe}\n{work}\n")
    tmp_path.chmod(0o777)
    nobody("run", "s.yaml", "--out", "out")
    (trial,) = store.read_study(tmp_path / "out").trials
    assert trial.work[0].failed is None
    assert trial.work[0].rate
