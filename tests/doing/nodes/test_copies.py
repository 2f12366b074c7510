"""`cp` copies files and folders to nodes and from them; nothing leads out of either side."""

from __future__ import annotations

import io
import json
import os
import socket
import stat
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest
import yaml

from delaylab.agent.frames import Decoder, Frame, FrameKind
from delaylab.lab.unpacking import ROOT
from tests.doing.conftest import Run, Up, left_to_slow, only_line, skip_unless_runnable
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.root
OWN = {"files": {"/etc/delaylab-test": "x"}}
"""Fields of a node that give it folders of its own."""
KINDS = ["netns", "native", "lxc", "uml", *left_to_slow("shared", "docker", "qemu")]
LARGE = os.urandom(3 << 20)
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


def archive(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as packed:
        for info, content in members:
            info.size = len(content)
            packed.addfile(info, io.BytesIO(content))
    return made.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, link, 0o6777
    return info


FOLDER = (member(ROOT, tarfile.DIRTYPE), b"")


def in_folder(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    return archive(FOLDER, *members)


ESCAPES = {
    "up": in_folder((member(f"{ROOT}/../../evil"), b"evil")),
    "up at once": archive((member("../evil"), b"evil")),
    "absolute": archive((member("/dev/shm/delaylab-evil"), b"evil")),
    "another name": archive((member("evil"), b"evil")),
    "through a link": in_folder(
        (member(f"{ROOT}/out", tarfile.SYMTYPE, "/dev/shm"), b""),
        (member(f"{ROOT}/out/delaylab-evil"), b"evil"),
    ),
    "over a link": in_folder(
        (member(f"{ROOT}/out", tarfile.SYMTYPE, "inside"), b""), (member(f"{ROOT}/out"), b"evil")
    ),
    "a link itself": archive((member(ROOT, tarfile.SYMTYPE, "/etc/passwd"), b"")),
    "a hard link": in_folder((member(f"{ROOT}/hard", tarfile.LNKTYPE, "/etc/passwd"), b"")),
    "a device": in_folder((member(f"{ROOT}/disk", tarfile.BLKTYPE), b"")),
    "twice": in_folder((member(f"{ROOT}/one"), b"1"), (member(f"{ROOT}/one"), b"2")),
    "a file as a folder": archive((member(ROOT), b"x"), (member(f"{ROOT}/evil"), b"evil")),
    "without its folder": archive((member(f"{ROOT}/a/evil"), b"evil")),
    "nothing": b"",
    "no archive": b"\x00" * 5 + b"evil" * 400,
    "cut short": in_folder((member(f"{ROOT}/large"), b"x" * 100_000))[:20_000],
    "endless": in_folder() + b"\x00" * (4 << 20),
}


@contextmanager
def hostile(run_directory: Path, content: bytes) -> Iterator[None]:
    """Have another agent than delaylab's answer for node `a`: it sends this as an archive."""
    place = run_directory / "copies" / "node.a.sock"
    place.rename(place.with_suffix(".kept"))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(place))
    listener.listen()

    def answer() -> None:
        client, _ = listener.accept()
        with client:
            decoder = Decoder()
            while not decoder.feed(client.recv(1 << 20)):
                pass
            frames = [
                Frame(FrameKind.STDOUT, content[at : at + 65536])
                for at in range(0, len(content), 65536)
            ]
            frames.append(Frame(FrameKind.MESSAGE, json.dumps({"done": {"exit": 0}}).encode()))
            try:
                for frame in frames:
                    client.sendall(frame.encode())
                while client.recv(1 << 20):
                    pass
            except OSError:
                pass

    thread = Thread(target=answer)
    thread.start()
    try:
        yield
    finally:
        thread.join(PATIENCE_S)
        listener.close()
        place.with_suffix(".kept").replace(place)


@pytest.mark.parametrize("content", ESCAPES.values(), ids=ESCAPES)
def test_an_archive_that_leads_out_is_refused_and_nothing_is_left(
    delaylab: Run, shared_up: Up, shared_run_directory: Path, tmp_path: Path, content: bytes
) -> None:
    shared_up(own("netns"))
    below = tmp_path / "one" / "two"
    below.mkdir(parents=True)
    with hostile(shared_run_directory, content):
        said = only_line(delaylab("cp", "a:/etc/x", str(below / "got"), code=1).stderr)
    assert "refused" in said
    assert [*(tmp_path / "one").rglob("*")] == [below]
    assert not Path("/dev/shm/delaylab-evil").exists()


def test_no_mode_of_an_archive_gives_rights_of_another_user(
    delaylab: Run, shared_up: Up, shared_run_directory: Path, tmp_path: Path
) -> None:
    shared_up(own("netns"))
    with hostile(shared_run_directory, in_folder((member(f"{ROOT}/program"), b"x"))):
        delaylab("cp", "a:/etc/x", str(tmp_path / "got"))
    assert tree(tmp_path / "got") == {"program": (0o777, b"x")}
    assert (tmp_path / "got").stat().st_mode & 0o7000 == 0


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
