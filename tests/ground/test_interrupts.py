"""Ctrl-C while a library works, which finishes first, between parsing and verb, and at the end."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import typer.core

from delaylab import cli
from delaylab.cli.options import INTERRUPTED, Verbs
from tests.waiting import PATIENCE_S

SWALLOWS = """\
import os, signal

def swallow():
    try:
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            pass
    except KeyboardInterrupt:  # pydantic's Rust code catches it, polars' panics
        print("swallowed", flush=True)
    print("prepared", flush=True)
"""
HUNGRY = "from swallows import swallow; swallow()"
MODEL = """\
from __future__ import annotations
import polars
import swallows
from pydantic import BaseModel

class Outer(BaseModel):
    inner: Inner

class Inner:
    @classmethod
    def __get_pydantic_core_schema__(cls, source, handler):
        swallows.swallow()
        return {"type": "any"}

def count(value):
    swallows.swallow()
    return value
"""
# signal.pause() would wait forever for a signal that comes just before the system call.
PROGRAM = """\
import signal, time
from delaylab.io import interrupts
import model

interrupts.put_off_in_libraries()
try:
    {}
    while True:
        time.sleep(0.01)
except KeyboardInterrupt:
    print("interrupted")
"""
FRAME = "model.polars.Series([1]).map_elements(model.count, return_dtype=model.polars.Int64)"
# Ctrl-C came in an import that ended just before a block that puts it off.
DEFERRED = """\
with interrupts.deferred():
        before = signal.getsignal(signal.SIGINT)
        signal.signal(signal.SIGINT, interrupts._interrupt)
        import hungry
        signal.signal(signal.SIGINT, before)
        time.sleep(0.01)
        print("done")"""


@pytest.mark.parametrize(
    ("does", "says"),
    [
        ("import hungry", ["prepared", "interrupted"]),
        ("model.Outer(inner=1)", ["prepared", "interrupted"]),
        (FRAME, ["prepared", "interrupted"]),
        (DEFERRED, ["prepared", "done", "interrupted"]),
    ],
)
def test_ctrl_c_waits_until_a_library_has_done_its_work(
    does: str, says: list[str], tmp_path: Path
) -> None:
    (tmp_path / "swallows.py").write_text(SWALLOWS)
    (tmp_path / "hungry.py").write_text(HUNGRY)
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "program.py").write_text(PROGRAM.format(does))
    command = [sys.executable, "program.py"]
    said = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=PATIENCE_S
    )
    assert said.stdout.splitlines() == says, said.stderr


def test_ctrl_c_ends_a_program_that_has_done_its_work_without_a_traceback(tmp_path: Path) -> None:
    ends = (
        "import signal\nfrom delaylab.io import interrupts\n\ninterrupts.put_off_in_libraries()\n"
    )
    ends += "interrupts.forget()\nsignal.raise_signal(signal.SIGINT)\n"
    done = subprocess.run(
        [sys.executable, "-c", ends], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


@contextmanager
def interrupted_at(number: int) -> Iterator[None]:
    """Raise KeyboardInterrupt when Typer's main and delaylab's group of verbs reach this line."""
    codes = {typer.core._main.__code__, Verbs.invoke.__code__, Verbs.main.__code__}
    left = number

    def at_line(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if frame.f_code not in codes:
            return None
        left -= event == "line"
        if left == 0:
            raise KeyboardInterrupt
        return at_line

    before = sys.gettrace()
    sys.settrace(at_line)
    try:
        yield
    finally:
        sys.settrace(before)


def test_ctrl_c_at_any_line_of_the_command_line_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Typer prints nothing for Ctrl-C between the parsing of a command line and its verb."""
    monkeypatch.setattr(sys, "argv", ["delaylab", "--version"])
    said: list[str] = []
    code: object = INTERRUPTED
    for number in count(1):
        try:
            with interrupted_at(number):
                cli.main()
        except KeyboardInterrupt:
            continue  # which the entry point says
        except SystemExit as end:
            code = end.code
        if code != INTERRUPTED:
            break
        said.append(capsys.readouterr().err)
    assert code == 0
    assert set(said) == {"delaylab: interrupted\n"}


def test_too_little_memory_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def runs_out(**_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(cli, "_with_verb", lambda _: runs_out)
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 1
    assert capsys.readouterr().err == f"delaylab: {cli.OUT_OF_MEMORY}\n"
