"""`cp` copies files and folders to nodes and from them; nothing leads out of either side."""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.doing.conftest import Run, Up, left_to_slow, only_line, skip_unless_runnable

pytestmark = pytest.mark.root
OWN = {"files": {"/etc/delaylab-test": "x"}}
"""Fields of a node that give it folders of its own."""
KINDS = ["netns", "native", "lxc", "uml", *left_to_slow("shared", "docker", "qemu")]
LARGE = os.urandom(3 << 20)
HOLE = 2 << 30
FEW_BLOCKS = (1 << 20) // 512
DIGITS = re.compile(r" *\d+")
PIECE = 1 << 16


def lab(kind: str = "netns", **node: object) -> str:
    nodes = {"a": {"kind": kind, **node}, "b": {}}
    links = [{"between": ["a", "b"], "name": "lan"}]
    return yaml.safe_dump({"lab": "copies", "hosts": {"sut": {}}, "nodes": nodes, "links": links})


def own(kind: str) -> str:
    return lab(kind, **(OWN if kind in ("netns", "native", "shared") else {}))


@pytest.fixture
def outside() -> Iterator[Path]:
    """A folder of this machine of which no node has a copy of its own."""
    with tempfile.TemporaryDirectory(prefix="delaylab-", dir="/dev/shm") as name:
        yield Path(name)


def tree(folder: Path) -> dict[str, object]:
    """All that is in a folder: the content of files, the targets of links, the modes."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = str(path.readlink())
        else:
            mode = stat.S_IMODE(path.stat().st_mode)
            found[name] = (mode, path.read_bytes() if path.is_file() else None)
    return found


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    (folder / "deep" / "deeper").mkdir(parents=True)
    (folder / "empty").mkdir()
    (folder / "large").write_bytes(LARGE)
    (folder / "deep" / "program").write_text("#!/bin/sh\necho runs\n")
    (folder / "deep" / "program").chmod(0o755)
    (folder / "secret").write_text("x")
    (folder / "secret").chmod(0o600)
    (folder / "deep" / "deeper" / f"long {'name' * 40} 'é\n").write_text("odd")
    (folder / "deep" / "link").symlink_to("../secret")
    os.link(folder / "large", folder / "twice")
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_copied_there_and_back_is_the_same(
    delaylab: Run, up: Up, tmp_path: Path, source: Path, kind: str
) -> None:
    skip_unless_runnable(kind)
    up(own(kind))
    delaylab("cp", "copies", str(source), "a:/tmp/new/folder")
    assert delaylab("exec", "a", "--", "/tmp/new/folder/deep/program").stdout == "runs\n"
    delaylab("cp", "a:/tmp/new/folder", str(tmp_path / "back"))
    assert tree(tmp_path / "back") == tree(source)
    # Into a folder that is there, by the source's name.
    delaylab("cp", str(source / "secret"), "a:/tmp/new")
    delaylab("cp", "copies", "a:/tmp/new/secret", str(tmp_path / "back"))
    assert (tmp_path / "back" / "secret").read_text() == "x"
    assert not Path("/tmp/new").exists()
    delaylab("cp", "a:/etc/hosts", str(tmp_path / "hosts"))
    assert "copies" in (tmp_path / "hosts").read_text() or "b" in (tmp_path / "hosts").read_text()
    holes_are_not_copied(delaylab, tmp_path)
    files_of_the_kernel_have_their_content(delaylab, tmp_path)


def holes_are_not_copied(delaylab: Run, folder: Path) -> None:
    there, back = folder / "hole", folder / "hole-back"
    with there.open("wb") as file:
        file.write(b"begin")
        file.seek(HOLE // 2)
        file.write(b"middle")
        file.truncate(HOLE)
    delaylab("cp", str(there), "a:/tmp/new/hole")
    size, blocks = delaylab(
        "exec", "a", "--", "stat", "-c", "%s %b", "/tmp/new/hole"
    ).stdout.split()
    assert (int(size), int(blocks) < FEW_BLOCKS) == (HOLE, True)
    delaylab("cp", "a:/tmp/new/hole", str(back))
    assert (back.stat().st_size, back.stat().st_blocks < FEW_BLOCKS) == (HOLE, True)
    with back.open("rb") as file:
        assert file.read(6) == b"begin\0"
        file.seek(HOLE // 2)
        assert file.read(7) == b"middle\0"


def files_of_the_kernel_have_their_content(delaylab: Run, folder: Path) -> None:
    """By stat(2) those of /proc are empty, and those of /sys have 4096 bytes."""
    for number, path in enumerate(("/proc/version", "/proc/net/dev", "/sys/kernel/uevent_seqnum")):
        delaylab("cp", f"a:{path}", str(folder / f"kernel-{number}"))
        got = (folder / f"kernel-{number}").read_text()
        # Counters may go on meanwhile.
        expected = delaylab("exec", "a", "--", "cat", path).stdout
        assert DIGITS.sub("N", got) == DIGITS.sub("N", expected), path
    delaylab("cp", "/proc/version", "a:/tmp/new/version")
    assert delaylab("exec", "a", "--", "cat", "/tmp/new/version").stdout.startswith(
        "Linux version "
    )
    said = delaylab("cp", "a:/proc/sys/net/ipv4", str(folder / "settings"), code=1).stderr
    assert "delaylab: left out: route/flush: Permission denied (os error 13)\n" in said
    assert (folder / "settings" / "ip_forward").read_text() in ("0\n", "1\n")


def test_a_file_that_changes_is_copied_as_it_was_read(
    delaylab: Run, up: Up, tmp_path: Path
) -> None:
    up(own("netns"))
    script = "while :; do head -c 30000000 /dev/zero | tr '\\0' x > f; : > f; done"
    change = f"mkdir /tmp/new; cd /tmp/new; touch f; ({script}) > /dev/null 2>&1 &"
    delaylab("exec", "a", "--", "sh", "-c", change)
    for number in range(5):
        delaylab("cp", "a:/tmp/new/f", str(tmp_path / f"{number}"))
        assert {*(tmp_path / f"{number}").read_bytes()} <= {*b"x"}


def test_what_cannot_be_copied_is_one_line(delaylab: Run, shared_up: Up, tmp_path: Path) -> None:
    shared_up(own("netns"))
    target = tmp_path / "target"
    for path, why in (
        ("/proc/self/pagemap", "it has no size, and goes on after 256 MiB"),
        ("/proc/sys/net/ipv4/route/flush", "Permission denied"),
        ("/dev/zero", "neither a file nor a folder"),
    ):
        said = only_line(delaylab("cp", f"a:{path}", str(target), code=1).stderr)
        assert said.startswith(f"delaylab: node a: read {path}: "), said
        assert why in said
        assert not target.exists()
    flush = "/proc/sys/net/ipv4/route/flush"
    said = only_line(delaylab("cp", flush, "a:/tmp/x", code=1).stderr)
    assert said == f"delaylab: {flush}: cannot be read: Permission denied"
    assert {path.name for path in tmp_path.iterdir()} <= {"lab.yaml"}


@pytest.mark.parametrize("kind", ["netns", "native", "shared"])
def test_files_of_this_machine_are_not_written_by_way_of_a_node(
    delaylab: Run, up: Up, tmp_path: Path, kind: str
) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    up(lab(kind))
    said = only_line(delaylab("cp", str(file), "a:/tmp/delaylab-test", code=2).stderr)
    assert "shares this machine's file system" in said
    assert not Path("/tmp/delaylab-test").exists()


def test_no_path_and_no_link_leads_out_of_a_node(
    delaylab: Run, up: Up, tmp_path: Path, outside: Path
) -> None:
    file = tmp_path / "file"
    file.write_text("changed")
    (outside / "secret").write_text("secret")
    up(own("netns"))
    for link, to in (("out", outside), ("file", outside / "secret"), ("up", "../../..")):
        delaylab("exec", "a", "--", "ln", "-s", str(to), f"/tmp/delaylab-{link}")
    for path in (
        f"{outside}/new",
        "/tmp/delaylab-out/new",
        "/tmp/delaylab-out",
        "/tmp/delaylab-file",
        f"/tmp/delaylab-up{outside}/new",
        f"/tmp/..{outside}/new",
        f"/tmp/new/../..{outside}/new",
    ):
        delaylab("cp", str(file), f"a:{path}", code=1)
        assert tree(outside) == {"secret": (0o644, b"secret")}, path
    target = tmp_path / "fetched"
    for path in (
        "/tmp/delaylab-file",
        "/tmp/delaylab-out/secret",
        f"/tmp/delaylab-up{outside}/secret",
        f"/tmp/..{outside}/secret",
    ):
        said = only_line(delaylab("cp", f"a:{path}", str(target), code=1).stderr)
        assert path in said
        assert not target.exists(), path


def test_a_link_in_a_container_leads_to_its_own_files(
    delaylab: Run, up: Up, tmp_path: Path, outside: Path
) -> None:
    skip_unless_runnable("lxc")
    (outside / "secret").write_text("secret")
    file = tmp_path / "file"
    file.write_text("changed")
    up(lab("lxc"))
    delaylab("exec", "a", "--", "mkdir", "-p", str(outside))
    delaylab("exec", "a", "--", "ln", "-s", str(outside), "/tmp/out")
    delaylab("cp", str(file), "a:/tmp/out/secret")
    assert (outside / "secret").read_text() == "secret"
    assert delaylab("exec", "a", "--", "cat", f"{outside}/secret").stdout == "changed"


def test_links_of_a_node_that_lead_out_of_a_folder_are_left_out(
    delaylab: Run, up: Up, tmp_path: Path
) -> None:
    up(own("netns"))
    script = (
        "set -e; mkdir -p /tmp/delaylab-f/sub; cd /tmp/delaylab-f; "
        "ln -s sub in; ln -s ../in sub/up; ln -s /etc/shadow bad; ln -s ../../x sub/bad; "
        "ln -s sub/../../x bad2; mkfifo pipe; echo text > sub/file"
    )
    delaylab("exec", "a", "--", "sh", "-c", script)
    ran = delaylab("cp", "a:/tmp/delaylab-f", str(tmp_path / "got"), code=1)
    lines = ran.stderr.strip().splitlines()
    assert len(lines) == 4
    assert all(line.startswith("delaylab: left out: ") for line in lines)
    got = tree(tmp_path / "got")
    assert {name for name in got if "bad" in name or "pipe" in name} == set()
    assert (got["in"], got["sub/up"]) == ("sub", "../in")
    assert (tmp_path / "got" / "in" / "file").read_text() == "text\n"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["a:/tmp/x"], "words are given"),
        (["/tmp/x", "/tmp/y"], "neither"),
        (["a:/tmp/x", "b:/tmp/x"], "both"),
        (["c:/tmp/x", "here"], "no node 'c'"),
        (["a:tmp/x", "here"], "does not begin with /"),
        (["no-such-file", "a:/tmp/x"], "no such file"),
        (["a:/etc/hosts", "no/such/folder"], "is not a folder"),
        (["other", "a:/etc/hosts", "here"], "no lab 'other'"),
    ],
)
def test_words_that_make_no_copy_are_one_line(
    delaylab: Run, shared_up: Up, words: list[str], says: str
) -> None:
    shared_up(own("netns"))
    assert says in only_line(delaylab("cp", *words, code=2).stderr)


def test_what_is_not_there_is_said_by_the_node(
    delaylab: Run, shared_up: Up, tmp_path: Path
) -> None:
    shared_up(own("netns"))
    target = tmp_path / "target"
    said = only_line(delaylab("cp", "a:/etc/no-such-file", str(target), code=1).stderr)
    assert "node a" in said
    assert "No such file" in said
    assert [*tmp_path.glob(".delaylab-*")] == []
    assert not target.exists()


def test_a_folder_does_not_replace_a_file(delaylab: Run, shared_up: Up, tmp_path: Path) -> None:
    shared_up(own("netns"))
    target = tmp_path / "target"
    target.write_text("before")
    said = only_line(delaylab("cp", "a:/etc/apt", str(target), code=1).stderr)
    assert "target" in said
    assert target.read_text() == "before"
    assert [*tmp_path.glob(".delaylab-*")] == []


def test_a_command_runs_in_every_node(delaylab: Run, up: Up) -> None:
    nodes: dict[str, dict[str, str]] = {name: {} for name in ("a", "b", "c")}
    up(yaml.safe_dump({"lab": "many", "hosts": {"sut": {}}, "nodes": nodes}))
    script = "echo one; echo $0; printf rest; echo said >&2"
    ran = delaylab("exec", "--all", "--", "sh", "-c", script)
    lines: dict[str, list[str]] = {name: [] for name in nodes}
    for line in ran.stdout.splitlines():
        name, _, text = line.partition(": ")
        lines[name].append(text)
    assert lines == {name: ["one", "sh", "rest"] for name in nodes}
    assert sorted(ran.stderr.splitlines()) == [f"{name}: said" for name in nodes]
    for words in (("--all", "--lab", "many"), ("-l", "many", "--all")):
        said = delaylab("exec", *words, "--", "echo", "all").stdout.splitlines()
        assert sorted(said) == [f"{name}: all" for name in nodes]


def test_every_node_in_which_it_failed_is_named(delaylab: Run, up: Up) -> None:
    nodes = {name: {"env": {"ME": name}} for name in ("a", "b", "c")}
    up(yaml.safe_dump({"lab": "many", "hosts": {"sut": {}}, "nodes": nodes}))
    script = "case $ME in a) ;; b) exit 3;; c) kill -9 $$;; esac"
    ran = delaylab("exec", "--all", "--", "sh", "-c", script, code=1)
    assert ran.stderr.splitlines() == [
        "delaylab: failed in node b: exit code 3",
        "delaylab: failed in node c: signal 9",
    ]
    ran = delaylab("exec", "--all", "--", "no-such-program", code=1)
    assert len(ran.stderr.splitlines()) == len(nodes)
    said = delaylab("exec", "--all", "--lab", "few", "--", "true", code=2).stderr
    assert "no lab 'few' is up" in only_line(said)


def test_a_script_of_this_machine_runs_in_a_node(delaylab: Run, up: Up, tmp_path: Path) -> None:
    up(lab())
    script = tmp_path / "script"
    script.write_text("name=world\necho hello $name\nexit 3\n")
    with script.open() as file:
        ran = delaylab("exec", "a", "--", "sh", code=3, stdin=file)
    assert ran.stdout == "hello world\n"
