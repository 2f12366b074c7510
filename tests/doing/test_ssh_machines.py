"""Labs over machines that are reached by ssh: real sshds in namespaces that stand for machines."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import polars as pl
import pytest
import yaml

import delaylab
from delaylab.agent.binary import agent_path
from tests.doing.ssh_machines import DEADLINE_S, SSHD, Lan, lan

LAB = """\
lab: pair
machines: {m1: {ssh: m1}, m2: {ssh: m2}}
hosts: {h1: {machine: m1}, h2: {machine: m2}, h3: {machine: m2}}
nodes: {a: {host: h1}, b: {host: h2}, c: {host: h3}}
links:
  - {join: [a, b, c], name: lan}
  - {between: [a, b], name: wan, delay: 10ms}
"""
HELD = LAB.replace("b: {host: h2}", "b: {host: h2, start: [{run: sleep 600, ready: {file: /x}}]}")
"""A lab whose `up` does not end by itself: a program never becomes ready."""

AS1755 = Path(__file__).parents[2] / "examples" / "as1755"

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not Path(SSHD).exists(), reason="needs root and openssh-server"
)


@pytest.fixture(scope="module")
def machines() -> Iterator[Lan]:
    """Two machines for all tests of this file."""
    with (
        tempfile.TemporaryDirectory(prefix="dlm-") as folder,
        lan(Path(folder), ["m1", "m2"]) as made,
    ):
        yield made


@pytest.fixture
def two(machines: Lan, run_directory: Path) -> Iterator[Lan]:
    """Two machines that a test leaves as it found them: without a trace of a lab."""
    yield machines
    machines.delaylab("down", "--all")
    machines.wait_until_gone()


def pings(two: Lan, node: str, to: str, *more: str) -> float:
    """Return the fastest round trip between two nodes, in ms."""
    done = two.delaylab("exec", node, "--", "ping", "-q", "-c", "5", "-i", "0.05", *more, to)
    found = re.search(r"= ([\d.]+)/", done.stdout)
    assert found, done.stdout
    return float(found[1])


def test_a_lab_over_two_machines_is_used_like_one_on_this_machine(two: Lan) -> None:
    said = two.up(LAB)
    assert "h1 on m1" in said
    (found,) = two.labs()
    assert found["unreachable"] == {}
    assert {host["name"]: host["enter"].split()[:3] for host in found["hosts"]} == {
        "h1": ["ssh", "-t", "m1"],
        "h2": ["ssh", "-t", "m2"],
        "h3": ["ssh", "-t", "m2"],
    }
    assert {node["name"]: node["machine"] for node in found["nodes"]} == {
        "a": "m1",
        "b": "m2",
        "c": "m2",
    }
    assert pings(two, "a", "b.lan") < 10
    assert pings(two, "a", "b.wan") >= 20
    assert pings(two, "c", "a", "-s", "1472", "-M", "do") < 10
    two.delaylab("link", "set", "pair", "wan", "delay=30ms")
    assert pings(two, "b", "a.wan") >= 60
    assert "nothing was changed" in two.up(LAB)
    two.delaylab("down")
    two.wait_until_gone()
    assert not two.labs()


def test_each_machine_has_one_connection_and_the_agent_once(two: Lan) -> None:
    logins = {name: two.folder.joinpath(f"{name}.log").read_text() for name in two.names}
    two.up(LAB)
    for name, before in logins.items():
        after = two.folder.joinpath(f"{name}.log").read_text()[len(before) :]
        assert after.count("Accepted publickey") == 1, after
        assert len(two.on(name, "ls", "/root/.cache/delaylab").split()) == 1


@pytest.mark.slow
def test_no_frame_of_a_link_reaches_another(two: Lan) -> None:
    """What a broadcast on one link is, no node of another link between the machines sees."""
    two.up(LAB)
    before = received(two, "b", "wan")
    two.delaylab("exec", "a", "--", "ping", "-q", "-c", "20", "-i", "0.01", "c.lan")
    assert received(two, "b", "wan") - before <= 2  # ARP of its own


def received(two: Lan, node: str, interface: str) -> int:
    """Return how many packets an interface of a node has received (proc_net_dev)."""
    counted = two.delaylab("exec", node, "--", "cat", "/proc/net/dev").stdout
    found = re.search(rf"^ *{interface}: *\d+ +(\d+)", counted, re.MULTILINE)
    assert found, counted
    return int(found[1])


@pytest.mark.slow
def test_another_machine_finds_the_lab(
    two: Lan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two.up(LAB)
    own = tmp_path / "other"
    own.mkdir(mode=0o700)
    with monkeypatch.context() as patched:
        patched.setenv("DELAYLAB_RUN", str(own))
        assert not two.labs()
        assert "h1 on m1" in two.delaylab("ps", "--machine", "m1").stdout
        assert pings(two, "a", "b.wan") >= 20
        two.delaylab("down", "pair")
    two.wait_until_gone()
    assert "the lab has ended there" in two.delaylab("ps").stdout
    two.delaylab("down", "pair")


@pytest.mark.slow
def test_a_machine_that_cannot_be_reached_is_said_and_down_finishes_later(two: Lan) -> None:
    two.up(LAB)
    with two.hidden("m2"):
        unreachable(two)
    two.delaylab("down", "pair")
    two.wait_until_gone()
    assert not two.labs()


def unreachable(two: Lan) -> None:
    """Check what `ps` and `down` say of a lab whose machine m2 cannot be reached."""
    said = two.delaylab("ps").stdout
    assert "machine m2: cannot be reached" in said
    assert re.search(r"b +netns +h2 on m2 +unreachable", said), said
    failed = two.delaylab("down", "pair", code=1).stderr
    assert "its part is still on m2" in failed
    two.wait_until_gone("m1")
    assert two.traces("m2")


@pytest.mark.slow
def test_a_machine_that_is_cut_off_is_found_again(two: Lan) -> None:
    two.up(LAB)
    two.cut("m2")
    try:
        unreachable(two)
    finally:
        two.cut("m2", off=False)
    two.delaylab("down", "pair")
    two.wait_until_gone()
    assert not two.labs()


@pytest.mark.slow
def test_a_machine_that_restarts_has_lost_its_part(two: Lan) -> None:
    two.up(LAB)
    two.stop("m2")
    two.folder.joinpath("m2.log").unlink()
    two.start("m2")
    assert "machine m2: the lab has ended there" in two.delaylab("ps").stdout
    two.delaylab("down", "pair")
    two.wait_until_gone()


def held_up(two: Lan) -> subprocess.Popen[str]:
    """Return an `up` that has built its lab on both machines and waits for a program."""
    (two.folder / "held.yaml").write_text(HELD)
    process = subprocess.Popen(
        two.command("up", "held.yaml"),
        cwd=two.folder,
        env=two.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    end_s = time.monotonic() + DEADLINE_S
    while "sleep 600" not in two.on("m2", "ps", "-eo", "args"):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end_s
        time.sleep(0.02)  # nobody else hears that the program has started
    return process


def kill_sessions(two: Lan, name: str) -> None:
    """Kill the sshds of a machine that serve a session, by their pids there."""
    sessions = two.on(name, "pgrep", "-f", "^sshd: root@notty").split()
    if sessions:
        two.on(name, "kill", "-9", *sessions)


def children(pid: int, name: str) -> list[int]:
    """Return the children of a process that run a program; none once it has ended."""
    found: list[int] = []
    with suppress(OSError):
        for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            if Path(f"/proc/{each}/comm").read_text().strip() == name:
                found.append(int(each))
    return found


def test_a_killed_up_leaves_nothing(two: Lan) -> None:
    process = held_up(two)
    process.kill()
    process.communicate()
    two.wait_until_gone()


def test_a_killed_ssh_ends_the_lab_on_all_machines(two: Lan) -> None:
    process = held_up(two)
    os.kill(children(process.pid, "ssh")[1], signal.SIGKILL)
    _, said = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 1
    assert "m2" in said, said
    two.wait_until_gone()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_a_kill_at_any_moment_of_up_leaves_all_or_nothing(two: Lan, seed: int) -> None:
    """The command, an ssh or an sshd is killed; a lab that is up then is whole, until `down`."""
    drawn = random.Random(seed)
    (two.folder / "lab.yaml").write_text(LAB)
    process = subprocess.Popen(
        two.command("up", "lab.yaml"),
        cwd=two.folder,
        env=two.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(drawn.uniform(0.2, 2.0))  # the moment is what is drawn
    victim = drawn.choice(["command", "ssh", "sshd"])
    if victim == "command":
        process.kill()
    elif victim == "ssh":
        for pid in children(process.pid, "ssh")[-1:]:
            os.kill(pid, signal.SIGKILL)
    else:
        kill_sessions(two, "m2")
    _, said = process.communicate(timeout=DEADLINE_S)
    assert "Traceback" not in said, said
    labs = two.labs()
    if process.returncode == 0:
        assert labs
        assert labs[0]["unreachable"] == {}
    if labs:
        two.delaylab("down", "pair")
    two.wait_until_gone()


@pytest.mark.slow
def test_a_killed_sshd_ends_the_lab_on_all_machines(two: Lan) -> None:
    process = held_up(two)
    kill_sessions(two, "m2")
    _, said = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 1
    assert "m2" in said, said
    two.wait_until_gone()


@pytest.mark.slow
def test_a_machine_that_fails_is_named_and_the_others_end(two: Lan) -> None:
    two.on("m2", "mkdir", "-m", "700", "-p", "/run/delaylab/pair/of-another")
    try:
        said = two.up(LAB, code=1)
    finally:
        two.on("m2", "rm", "-r", "/run/delaylab/pair")
    assert "machine m2: " in said
    assert "files that are not a lab's" in said


@pytest.mark.parametrize(
    ("change", "said", "code"),
    [
        (("ssh: m2", "ssh: 'ssh://10.77.0.2:1'"), "machine m2: cannot be reached: ", 1),
        (("ssh: m2", "ssh: nobody@m2"), "machine m2: cannot be reached: ", 1),
        (("ssh: m2", "ssh: m1"), "machines 'm1' and 'm2' are one", 2),
        (("ssh: m2", "ssh: 10.77.0.1"), "machine m2: is the same as machine m1", 3),
        (("ssh: m2", "ssh: -oProxyCommand=x"), "a machine's name as ssh takes it", 2),
        (("machine: m2}, h3", "machine: m3}, h3"), "no machine 'm3'", 2),
        (("ssh: m2", "ssh: m2, address: 10.77.0.1"), "10.77.0.1 is not its own address", 3),
        (("name: lan}", "name: lan, mtu: 1551}"), "and 1550 are left for them", 3),
        (("{host: h2}", "{host: h2, kind: lxc}"), "netns, shared and native", 3),
        (("{host: h2}", "{host: h2, cpus: [4000]}"), "no CPU 4000", 3),
    ],
)
def test_what_cannot_be_is_one_line(
    two: Lan, change: tuple[str, str], said: str, code: int
) -> None:
    text = LAB.replace(*change)
    assert text != LAB
    printed = two.up(text, code=code)
    assert said in printed, printed
    assert len(printed.strip().splitlines()) == 1, printed
    two.wait_until_gone()


def test_a_changed_host_key_is_said_by_ssh(two: Lan) -> None:
    known = two.folder / "known_hosts"
    before = known.read_text()
    first, second = before.splitlines()
    known.write_text(f"{first}\n{second.split()[0]} {' '.join(first.split()[1:])}\n")
    try:
        said = two.up(LAB, code=1)
    finally:
        known.write_text(before)
    assert "machine m2: cannot be reached: " in said
    assert "REMOTE HOST IDENTIFICATION HAS CHANGED" in said
    two.wait_until_gone()


@pytest.mark.slow
def test_another_architecture_is_refused_before_anything_is_put_there(two: Lan) -> None:
    uname = two.folder / "uname"
    uname.write_text('#!/bin/sh\n[ "$1" = -m ] && echo riscv64 || echo Linux\n')
    uname.chmod(0o755)
    real = shutil.which("uname")
    assert real is not None
    two.on("m2", "mount", "--bind", str(_seen_there(two, uname)), real)
    try:
        said = two.up(LAB, code=3)
    finally:
        two.on("m2", "umount", real)
    assert "machine m2: it is Linux riscv64; the agent here is for Linux" in said


def _seen_there(two: Lan, file: Path) -> Path:
    """Put a program where machine m2 sees it; return its path there."""
    there = Path("/run") / file.name
    two.on("m2", "sh", "-c", f"cat > {there} <<'END'\n{file.read_text()}END\nchmod 755 {there}")
    return there


@pytest.mark.slow
def test_a_damaged_agent_is_put_there_again(two: Lan) -> None:
    two.up(LAB)
    two.delaylab("down")
    two.on("m1", "sh", "-c", "for f in /root/.cache/delaylab/*; do echo x >> $f; done")
    two.up(LAB)
    size = two.on("m1", "sh", "-c", "stat -c %s /root/.cache/delaylab/*")
    assert int(size) == agent_path().stat().st_size


@pytest.mark.slow
def test_doctor_tries_a_machine(two: Lan) -> None:
    (two.folder / "lab.yaml").write_text(LAB)
    found = json.loads(
        two.delaylab("doctor", "--machine", "m2", "--lab", "lab.yaml", "--json").stdout
    )
    assert {check["name"]: check["usable"] for check in found}["netns"]
    said = two.delaylab("doctor", "--machine", "m2")
    assert re.search("links to other machines +yes", said.stdout), said.stdout
    two.wait_until_gone()
    unknown = two.delaylab("doctor", "--machine", "m3", "--lab", "lab.yaml", code=2).stderr
    assert "no machine 'm3'" in unknown


STUDY = """\
study: apart
lab:
  lab: apart
  machines: {m1: {ssh: m1}, m2: {ssh: m2}}
  hosts: {here: {}, h1: {machine: m1}, h2: {machine: m2}}
  nodes: {a: {host: here}, r: {host: h1, forwards: true}, b: {host: h2}}
  links:
    - {between: [a, r], name: near, from: {a: {delay: 4ms}, r: {delay: 1ms}}}
    - {between: [r, b], name: far, delay: 0s}
probe: {from: a, to: b, count: 200, interval: 2ms}
factors: {load: {idle: []}}
repeat: 1
"""
"""A probe from this machine by a router on a second one to a third."""


ON_ROUTER = ("r@near.wire", "r@near.uplink", "r@near", "r@far", "r@far.uplink")
SENDER = ("sender.app", "sender.qdisc", "sender.stack", "sender.vif", "sender.uplink")
RESPONDER = ("wire", "responder.uplink", "responder.vif")


@pytest.mark.slow
def test_a_probe_over_three_machines_is_stamped_at_every_point(two: Lan) -> None:
    """The machines are namespaces of one kernel, which has one clock: the boot id says so."""
    with measured(two) as trial:
        stamps = pl.read_parquet(trial / "stamps.parquet")
        about = json.loads((trial / "trial.json").read_text())
    assert stamps["clock"].n_unique() == 1
    seen = {leg: set(stamps.filter(pl.col("leg") == leg)["point"]) for leg in ("request", "reply")}
    assert seen["request"] >= {*SENDER, *ON_ROUTER, *RESPONDER}, seen
    assert seen["reply"] >= {*SENDER[2:], *ON_ROUTER, *RESPONDER} - {"sender.qdisc"}, seen
    # What each end of the link adds is found in its direction, between two machines.
    assert 4 <= between_ms(stamps, "request", "sender.stack", "r@near") < 4 + WITHIN_MS
    assert 1 <= between_ms(stamps, "reply", "r@near", "sender.stack") < 1 + WITHIN_MS
    assert about["absent"].keys().isdisjoint({"wire", "sender.uplink", "responder.uplink"})


WITHIN_MS = 2.5
"""Less than the difference of the two directions; what else runs here takes part of it."""


@contextmanager
def measured(two: Lan) -> Iterator[Path]:
    """Run the study for the length of a block; yield the folder of its trial."""
    (two.folder / "study.yaml").write_text(STUDY)
    out = two.folder / "out"
    two.delaylab("run", "study.yaml", "--out", str(out))
    try:
        (trial,) = (out / "trials").iterdir()
        yield trial
    finally:
        shutil.rmtree(out)


def between_ms(stamps: pl.DataFrame, leg: str, first: str, second: str) -> float:
    """Return the median time between two points of a leg, in ms."""
    of_leg = stamps.filter(pl.col("leg") == leg)
    one, other = (
        of_leg.filter(pl.col("point") == point).select("seq", "time_ns")
        for point in (first, second)
    )
    joined = one.join(other, on="seq", suffix="_later")
    return float(statistics.median(joined["time_ns_later"] - joined["time_ns"])) / 1e6


@pytest.mark.slow
def test_stamps_of_two_clocks_are_not_compared(two: Lan) -> None:
    boot = "/proc/sys/kernel/random/boot_id"
    two.on("m2", "sh", "-c", f"echo 01234567-89ab > /run/boot_id; mount --bind /run/boot_id {boot}")
    (two.folder / "study.yaml").write_text(STUDY)
    try:
        said = two.delaylab("run", "study.yaml", "--out", "refused", code=1)
    finally:
        two.on("m2", "umount", boot)
        shutil.rmtree(two.folder / "refused")
    assert "machine m2: has a clock of its own" in said.stdout + said.stderr


@pytest.mark.slow
def test_a_provider_over_four_machines_converges_and_leaves_nothing(
    run_directory: Path, tmp_path: Path
) -> None:
    """AS 1755: 87 routers with OSPF, on four machines; a path over three of them is measured."""
    imported = delaylab.import_map(AS1755).lab
    names = ["m1", "m2", "m3", "m4"]
    text = yaml.safe_load(imported.model_dump_json(by_alias=True, exclude_defaults=True))
    text["machines"] = {name: {"ssh": name} for name in names}
    text["hosts"] = {f"h{name}": {"machine": name} for name in names}
    for number, node in enumerate(text["nodes"].values()):
        node["host"] = f"h{names[number % len(names)]}"
    text["routing"] = {"ospf": {"hello": "1s", "dead": "4s", "retransmit": "1s"}}
    with lan(tmp_path, names) as four:
        said = four.up(yaml.safe_dump(text), "--name", "as")
        assert "87 routers" in said, said[-500:]
        first, *_, last = sorted(imported.nodes)
        assert pings(four, first, last) > 0
        four.delaylab("down")
        four.wait_until_gone()
