"""Archives that another agent than delaylab's sends to `cp`: each is refused, nothing is left."""

from __future__ import annotations

import io
import json
import socket
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from delaylab.agent.frames import Decoder, Frame, FrameKind
from delaylab.lab.copies import Piece
from delaylab.lab.unpacking import MORE, ROOT
from tests.doing.conftest import Run, Up, only_line
from tests.doing.nodes.test_copies import own, tree
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.root


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


EIB = Piece(ROOT)
EIB.type, EIB.at = MORE, 8 << 60
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
    "a piece of no file": in_folder((member(f"{ROOT}/x", b"M"), b"evil")),
    "a file of 8 EiB": archive((member(ROOT), b"x"))[:1024] + EIB.tobuf() + bytes(1024),
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
