"""Recordings of a stranger: what is replayed has no rights, and nothing of this machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from delaylab.replaying.record import ABOUT, FILES, LOG
from tests.doing.conftest import Run, only_line

pytestmark = pytest.mark.root
SOURCE = Path(__file__).parent / "attacker.c"
HAS_GDB = shutil.which("gdb") is not None
OVERWRITTEN = "has overwritten what its replay says"


@pytest.fixture(scope="module")
def attacker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that meets no library; it is setuid."""
    made = tmp_path_factory.mktemp("attacker") / "attacker"
    subprocess.run(["cc", "-static", "-w", "-o", made, SOURCE], check=True)
    for folder in [made, *made.parents]:
        if str(folder).startswith("/tmp/"):
            folder.chmod(0o755)
    made.chmod(0o4755)
    return made


def number(value: int) -> bytes:
    """Return a number as a log has it."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def text(content: bytes) -> bytes:
    return number(1) + number(len(content)) + content if content else number(0)


def started(program: str, argv: Sequence[str], env: Sequence[str], objects: str = "") -> bytes:
    """Return the log's entry of a process: thread 0, call 1, descriptor -1, a result."""
    words = "".join(f"{word}\0" for word in argv).encode()
    about = "".join(f"{word}\0" for word in [objects, program, *env]).encode()
    return number(2) + number(0) + number(1) + number(1) + number(2) + text(words) + text(about)


def forged(folder: Path, body: bytes, kept: Path | None = None) -> Path:
    """Write a recording, as a stranger may; `kept` is a program that it has among its files."""
    folder.mkdir()
    length = (24 + len(body)).to_bytes(8, "little")
    (folder / LOG).write_bytes(b"dlcalls\n\x01\0" + bytes(6) + length + body)
    about = {"version": 1, "lab": "x", "node": "r1", "kind": "netns", "program": "bird"}
    (folder / ABOUT).write_text(json.dumps({**about, "began_ns": 1, "seconds": 20.0}))
    if kept is not None:
        place = folder / FILES / "opt/bird"
        place.parent.mkdir(parents=True)
        shutil.copy(kept, place)
    return folder


@pytest.fixture(params=["this machine's", "a container's"])
def program(request: pytest.FixtureRequest, attacker: Path) -> tuple[str, Path | None]:
    """The program of a recording, and what is kept of it."""
    own = request.param == "this machine's"
    return (str(attacker), None) if own else ("/opt/bird", attacker)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    made = tmp_path / "secret"
    made.write_text("a word")
    return made


@pytest.mark.parametrize("user", ["root", "an ordinary user"])
def test_a_stranger_s_program_can_do_nothing(
    user: str,
    program: tuple[str, Path | None],
    secret: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    run: Run = request.getfixturevalue("delaylab" if user == "root" else "nobody")
    name, kept = program
    argv = [name, str(tmp_path / "written"), str(secret), "exec"]
    folder = forged(tmp_path / "recording", started(name, argv, ["PATH=/usr/bin:/bin"]), kept)
    tmp_path.chmod(0o777)
    said = run("replay", str(folder), code=1, timeout=60).stderr
    lines = said.splitlines()
    # As text: its control characters do not reach the terminal.
    assert lines[0] == r"ran \x1b]0;title\x07"
    assert [line for line in lines if line.startswith("could: ")] == []
    assert not (tmp_path / "written").exists()
    # Another program, which the machine's recordings have, has no more rights.
    assert ("could run sh" in lines) == (kept is None)
    assert "no shell" in lines or kept is None


@pytest.mark.skipif(not HAS_GDB, reason="gdb is not installed")
def test_neither_can_it_in_a_debugger(
    program: tuple[str, Path | None], secret: Path, tmp_path: Path, delaylab: Run
) -> None:
    name, kept = program
    argv = [name, str(tmp_path / "written"), str(secret), "until"]
    folder = forged(tmp_path / "recording", started(name, argv, []), kept)
    # It says of its first run that it came to the call before which it was to stop.
    done = delaylab("replay", str(folder), "--gdb", "--", "-batch")
    assert done.stderr.count("ran ") == 2
    assert "could" not in done.stderr
    assert "exited with code 07" in done.stdout
    assert not (tmp_path / "written").exists()


def test_what_it_prints_is_bounded(attacker: Path, tmp_path: Path, delaylab: Run) -> None:
    argv = [str(attacker), str(tmp_path / "x"), "/x", "flood"]
    folder = forged(tmp_path / "recording", started(str(attacker), argv, []))
    said = delaylab("replay", str(folder), code=1).stderr
    assert len(said) < 2 << 20
    assert "(only its first 1 MiB are printed)" in said
    assert OVERWRITTEN in said.splitlines()[-1]


def test_recorded_variables_lead_to_no_code(tmp_path: Path, delaylab: Run) -> None:
    """Neither the agent nor gdb takes them: they are those of the program alone."""
    source = tmp_path / "evil.c"
    mark = tmp_path / "mark"
    source.write_text(
        "#include <fcntl.h>\n__attribute__((constructor)) static void begin(void)"
        f'{{ open("{mark}", O_CREAT | O_WRONLY, 0644); }}\n'
        "unsigned la_version(unsigned v) { return v; }\n"
    )
    evil = tmp_path / "evil.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", evil, source], check=True)
    env = [f"LD_PRELOAD={evil}", f"LD_AUDIT={evil}", f"PYTHONPATH={tmp_path}", "DELAYLAB_AGENT=/x"]
    env += [f"A\nshell touch {mark}=1", f"B=1\nshell touch {mark}"]
    folder = forged(tmp_path / "recording", started("/bin/true", ["true"], env, f"{evil} 00\n"))
    for more in ([], ["--gdb", "--", "-batch"]):
        if not more or HAS_GDB:
            delaylab("replay", str(folder), *more, code=1)
            assert not mark.exists()


def refused(delaylab: Run, folder: Path, code: int) -> str:
    return only_line(delaylab("replay", str(folder), code=code, timeout=60).stderr)


def test_odd_files_in_a_recording_are_refused(
    attacker: Path, tmp_path: Path, delaylab: Run
) -> None:
    body = started("/opt/bird", ["/opt/bird", str(tmp_path / "x"), "/x"], [])

    def with_files(name: str) -> Path:
        return forged(tmp_path / name, body)

    whole = with_files("whole")
    (whole / FILES).symlink_to("/")
    assert f"{whole / FILES}: is not a folder" in refused(delaylab, whole, 2)
    # A link to the program leads out: it is left out, as a pipe and a device are.
    linked = with_files("linked")
    place = linked / FILES / "opt"
    place.mkdir(parents=True)
    (place / "bird").symlink_to(attacker)
    assert "is not in it" in refused(delaylab, linked, 2)
    (place / "bird").unlink()
    os.mkfifo(place / "bird")
    assert "is not in it" in refused(delaylab, linked, 2)
    (place / "bird").unlink()
    place.rmdir()
    place.symlink_to(attacker.parent)
    shutil.copy(attacker, attacker.parent / "bird")
    assert "cannot be run with its files alone" in refused(delaylab, linked, 1)
    (attacker.parent / "bird").unlink()
    # A file that the log names is shown only if it is a program or a library.
    pipe = with_files("pipe")
    (pipe / LOG).unlink()
    os.mkfifo(pipe / LOG)
    assert "is no regular file" in refused(delaylab, pipe, 2)
    deep = with_files("deep")
    place = deep / FILES
    for _ in range(70):
        place /= "d"
    place.mkdir(parents=True)
    shutil.copytree(place, deep / FILES / "opt")
    shutil.copy(attacker, deep / FILES / "opt/bird")
    assert "folders in each other" in refused(delaylab, deep, 1)


def test_odd_processes_in_a_log_are_refused(tmp_path: Path, delaylab: Run) -> None:
    for number_of, (program, argv, why) in enumerate(
        [
            ("bird", ["bird"], "cannot be one"),
            ("/usr/../bin/sh", ["sh"], "cannot be one"),
            ("/bin/s\nh", ["sh"], "cannot be one"),
            ("/etc", ["sh"], "is not on this machine"),
            ("/dev/zero", ["sh"], "is not on this machine"),
        ]
    ):
        folder = forged(tmp_path / str(number_of), started(program, argv, []))
        assert why in refused(delaylab, folder, 2)
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\necho ran\n")
    script.chmod(0o755)
    folder = forged(tmp_path / "script-of", started(str(script), ["sh"], []))
    assert "cannot be run with its files alone" in refused(delaylab, folder, 1)
    large = started("/bin/sh", ["x" * 300_000], [])
    assert "does not begin with a process" in refused(delaylab, forged(tmp_path / "l", large), 1)
