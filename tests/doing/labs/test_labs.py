"""Labs as a user has them: plan, up, ps, exec, down; nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from tests.doing.conftest import Run, as_json, only_line, our_processes
from tests.waiting import wait_until_gone

pytestmark = pytest.mark.root


def machine_interfaces(lab: str) -> list[str]:
    """The interfaces in this machine's own stack that belong to a lab."""
    found = []
    for path in Path("/sys/class/net").iterdir():
        with suppress(OSError):  # another lab may just have taken it away
            if (path / "ifalias").read_text().strip() == f"delaylab:{lab}":
                found.append(path.name)
    return found


def left_behind(run_directory: Path) -> list[str]:
    """Everything of this test's labs that is still there."""
    folders = [str(path) for path in run_directory.iterdir()] if run_directory.exists() else []
    return folders + our_processes(str(run_directory))


def test_up_ps_exec_down(delaylab: Run, testbed: Path, run_directory: Path) -> None:
    up = as_json(delaylab("up", str(testbed), "--json"))
    assert [node["name"] for node in up["nodes"]] == ["probe", "noisy", "vps", "base", "echo"]
    listed = as_json(delaylab("ps", "--json"))
    assert listed["labs"] == [up]
    addresses = {
        node["name"]: node["interfaces"][0]["addresses"][0].split("/")[0] for node in up["nodes"]
    }
    for node in ("probe", "noisy", "vps", "base"):
        ping = delaylab("exec", node, "--", "ping", "-c", "1", "-W", "2", addresses["echo"])
        assert "1 received" in ping.stdout
    assert machine_interfaces("testbed") == []
    delaylab("down", "testbed")
    assert as_json(delaylab("ps", "--json")) == {"labs": []}
    assert left_behind(run_directory) == []


def test_up_of_many_nodes_says_how_many_and_ps_lists_them(delaylab: Run, tmp_path: Path) -> None:
    file = tmp_path / "line.yaml"
    delaylab("generate", "line", "101", "-o", str(file))
    up = delaylab("up", str(file))
    assert up.stdout.splitlines()[0] == (
        "line: 101 nodes and 100 links are up; `delaylab ps` lists them"
    )
    assert "INTERFACE" not in up.stdout
    # A title, an interface for each end of a link.
    assert len(delaylab("ps").stdout.splitlines()) >= 1 + 2 * 100


def test_ps_names_namespaces_that_other_tools_enter(delaylab: Run, testbed: Path) -> None:
    up = as_json(delaylab("up", str(testbed), "--json"))
    for node in up["nodes"]:
        entered = subprocess.run(
            [*node["enter"].split(), "ip", "-brief", "address"],
            capture_output=True,
            text=True,
            check=True,
        )
        interface = node["interfaces"][0]
        assert interface["name"] in entered.stdout
        assert interface["addresses"][0] in entered.stdout
    lost = up["nodes"][0]["interfaces"][0]["name"]
    delaylab("exec", up["nodes"][0]["name"], "--", "ip", "address", "flush", "dev", lost)
    had = up["nodes"][0]["interfaces"][0]["addresses"]
    other = "192.0.2.7/32"
    delaylab("exec", up["nodes"][0]["name"], "--", "ip", "address", "add", other, "dev", lost)
    (listed,) = as_json(delaylab("ps", "--json"))["labs"]
    now = listed["nodes"][0]["interfaces"][0]
    assert (now["addresses"], now["lost"]) == ([other], had)
    assert f"{other} {had[0]} (lost)" in delaylab("ps").stdout


def test_kinds_are_isolated_as_they_say(delaylab: Run, testbed: Path) -> None:
    delaylab("up", str(testbed))

    def inside(node: str, *argv: str) -> str:
        return delaylab("exec", node, "--", *argv).stdout.strip()

    def network(node: str) -> str:
        return inside(node, "readlink", "/proc/self/ns/net")

    assert network("vps") == network("base") == network("host.sut")
    assert network("probe") != network("noisy") != network("host.sut")
    assert inside("vps", "hostname") == "vps"
    assert inside("probe", "hostname") == "probe"
    namespaces = ("pid", "mnt", "uts", "ipc")
    for space in namespaces:
        path = f"/proc/self/ns/{space}"
        assert inside("vps", "readlink", path) != inside("base", "readlink", path)
    assert len(inside("vps", "sh", "-c", "ls -d /proc/[0-9]*").splitlines()) < 6


def test_exec_gives_output_and_exit_code(delaylab: Run, testbed: Path) -> None:
    delaylab("up", str(testbed))
    done = delaylab("exec", "probe", "--", "sh", "-c", "echo out; echo err >&2; exit 7", code=7)
    assert (done.stdout, done.stderr) == ("out\n", "err\n")
    done = delaylab("exec", "probe", "--", "cat", input="a line\n")
    assert done.stdout == "a line\n"
    delaylab("exec", "probe", "--", "sh", "-c", "kill -TERM $$", code=128 + signal.SIGTERM)
    done = delaylab("exec", "nobody", "--", "true", code=2)
    assert "has no node 'nobody'" in done.stderr
    done = delaylab("exec", "probe", "--", "no-such-program", code=127)
    assert "no-such-program" in done.stderr
    assert done.stderr.count("\n") == 1


def test_up_twice_changes_nothing_and_another_file_is_refused(
    delaylab: Run, testbed: Path, tmp_path: Path
) -> None:
    delaylab("up", str(testbed))
    before = as_json(delaylab("ps", "--json"))
    assert "lab testbed was up: nothing was changed" in delaylab("up", str(testbed)).stdout
    assert as_json(delaylab("ps", "--json")) == before
    other = tmp_path / "other.yaml"
    text = testbed.read_text()
    other.write_text(
        text.replace("rate: 100Mbit", "rate: 50Mbit", 1).replace(
            "vps: {kind: shared, ", "vps: {kind: netns, "
        )
    )
    said = only_line(delaylab("up", str(other), code=1).stderr)
    assert "hosts.sut.uplink.rate: 100Mbit, not 50Mbit" in said
    assert "nodes.vps.kind: shared, not netns" in said
    assert as_json(delaylab("ps", "--json")) == before


def test_two_labs_of_one_file(delaylab: Run, testbed: Path) -> None:
    delaylab("up", str(testbed), "--name", "one")
    delaylab("up", str(testbed), "--name", "two")
    ambiguous = delaylab("exec", "probe", "--", "true", code=2)
    assert "several labs are up: one, two" in ambiguous.stderr
    delaylab("exec", "--lab", "two", "probe", "--", "true")
    delaylab("down", "one")
    assert [lab["lab"] for lab in as_json(delaylab("ps", "--json"))["labs"]] == ["two"]


@pytest.mark.parametrize("name", ["-x", "--all", "", ".", "a/b", "a b", "x" * 64])
def test_a_name_that_a_lab_cannot_have(
    delaylab: Run, testbed: Path, name: str, run_directory: Path
) -> None:
    said = only_line(delaylab("up", str(testbed), f"--name={name}", code=2).stderr)
    assert f"{name!r} cannot be a lab's name" in said
    assert "letters, digits" in said
    assert list(run_directory.iterdir()) == []


def test_plan_is_what_up_does(delaylab: Run, testbed: Path) -> None:
    plan = as_json(delaylab("plan", str(testbed), "--json"))
    delaylab("up", str(testbed))
    for operation in plan["operations"]:
        if operation["do"] == "veth":
            for end in operation["ends"]:
                shown = delaylab("exec", end["in"], "--", "ip", "link", "show", end["name"]).stdout
                assert end["mac"] in shown
                assert "alias delaylab:testbed" in shown
        if operation["do"] == "queue":
            argv = ("tc", "qdisc", "show", "dev", operation["on"])
            assert "tbf" in delaylab("exec", operation["in"], "--", *argv).stdout
    assert "bridge   wire:br-lan" in delaylab("plan", str(testbed)).stdout


@pytest.mark.parametrize("victim", ["keeper", "probe", "host"])
def test_killed_processes_leave_nothing(
    delaylab: Run, testbed: Path, run_directory: Path, victim: str
) -> None:
    up = as_json(delaylab("up", str(testbed), "--json"))
    pids = {"keeper": up["keeper"], "probe": up["nodes"][0]["pid"], "host": up["hosts"][0]["pid"]}
    os.kill(pids[victim], signal.SIGKILL)
    delaylab("down", "--all")
    wait_until_gone(lambda: left_behind(run_directory))


def test_rootless(nobody: Run, testbed: Path) -> None:
    """An ordinary user's lab, in a user namespace: the same file, the same commands."""
    up = as_json(nobody("up", str(testbed), "--json"))
    echo = next(node for node in up["nodes"] if node["name"] == "echo")
    address = echo["interfaces"][0]["addresses"][0].split("/")[0]
    for node in ("probe", "vps", "base"):
        argv = ("exec", node, "--", "ping", "-c", "1", "-W", "2", address)
        assert "1 received" in nobody(*argv).stdout
    nobody("down", "--all")
    assert as_json(nobody("ps", "--json")) == {"labs": []}


def test_a_native_node_on_this_machine_reaches_the_lab(delaylab: Run, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may add to this machine's interfaces")
    path, name = tmp_path / "here.yaml", f"here{os.getpid()}"
    lab = f"lab: {name}\nnodes: {{me: {{kind: native}}, far: {{}}}}\n"
    path.write_text(lab + "links: [{join: [me, far]}]\n")
    up = as_json(delaylab("up", str(path), "--json"))
    address = up["nodes"][1]["interfaces"][0]["addresses"][0].split("/")[0]
    assert len(machine_interfaces(name)) == 1
    subprocess.run(["ping", "-c", "1", "-W", "2", address], check=True, capture_output=True)
    delaylab("down")
    assert machine_interfaces(name) == []


def test_all_labs_are_stopped_only_without_a_name(delaylab: Run, testbed: Path) -> None:
    delaylab("up", str(testbed))
    said = delaylab("down", "testbed", "--all", code=2).stderr
    assert "--all stops every lab, not only testbed" in said
    assert [lab["lab"] for lab in as_json(delaylab("ps", "--json"))["labs"]] == ["testbed"]
    delaylab("down", "testbed")


def test_cpu_sets_hold_for_hosts_and_nodes(delaylab: Run, tmp_path: Path) -> None:
    path = tmp_path / "cpus.yaml"
    path.write_text(
        "lab: cpus\nhosts: {h: {cpus: [0]}}\n"
        "nodes: {a: {host: h}, b: {host: h, cpus: [1]}, c: {host: h, kind: native}}\n"
        "links: [{join: [a, b, c]}]\n"
    )
    delaylab("up", str(path))
    for node, cpus in (("a", "0"), ("b", "1"), ("c", "0"), ("host.h", "0")):
        status = delaylab("exec", node, "--", "cat", "/proc/self/status").stdout
        assert f"Cpus_allowed_list:\t{cpus}\n" in status


def test_ps_has_a_row_for_each_interface_with_its_peers(delaylab: Run, tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(
        "lab: peers\nnodes: {a: {}, b: {}, c: {}, d: {}, e: {}, alone: {}}\n"
        "links: [{join: [a, b, c, d, e], name: lan}, {between: [a, b], name: wire}]\n"
    )
    delaylab("up", str(file))
    rows = [line.split() for line in delaylab("ps").stdout.splitlines()]
    first = next(row for row in rows if row[:2] == ["peers", "a"])
    assert first[5:-1] == ["lan", "lan", "b,", "c,", "d", "+", "1"]
    second = rows[rows.index(first) + 1]
    assert second[:3] == ["wire", "wire", "b"]
    assert next(row for row in rows if row[0] == "alone")[1] == "netns"
    node = as_json(delaylab("ps", "--json"))["labs"][0]["nodes"][1]
    assert [each["peers"] for each in node["interfaces"]] == [["a", "c", "d", "e"], ["a"]]
    delaylab("down", "peers")
