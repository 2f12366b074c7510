"""Ctrl-C at any moment of a verb: one line, exit code 130, nothing left."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.command import without_progress
from tests.doing.conftest import DELAYLAB, Run, Up, our_processes
from tests.doing.trials.test_study import STUDY
from tests.images.conftest import NEEDS_APT
from tests.waiting import PATIENCE_S, wait_until, wait_until_gone

pytestmark = pytest.mark.root
FEW, MANY = 5, 40
INTERRUPTED = 130
GONE_WITHIN_S = 60
SETTING_UP = "Fatal Python error: init_"
"""The start of Python's error if Ctrl-C comes while Python itself starts."""
LAB = """\
lab: interrupted
hosts: {left: {}, right: {}}
nodes:
  a: {kind: netns, host: left}
  b: {kind: netns, host: right}
  c: {kind: lxc, host: left}
links:
  - {between: [a, b], name: wan, delay: 2ms, loss: 0.1%}
  - {between: [a, c], name: lan}
"""


@dataclass
class Sweep:
    """One verb, run again and again, with Ctrl-C at a later moment each time.

    All its processes carry the path `mark` in their environment, and nothing there that matches
    `pattern` may be left.
    """

    folder: Path
    mark: str
    argv: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    pattern: str = "*"
    undo: Callable[[], object] = lambda: None
    finished: int = 0
    interrupted: int = 0

    def run(self, moments: int, longest_s: float | None = None) -> None:
        """Interrupt at `moments` moments, from the start to beyond the time that the verb takes."""
        if longest_s is None:
            self.whole_s()  # the first may build an image, or compile Python's files
            longest_s = self.whole_s() * 1.1
        for number in range(moments):
            self.once(longest_s * number / moments, to_all=number % 2 == 0)
        assert self.interrupted > moments // 4, (self.interrupted, self.finished)

    def whole_s(self) -> float:
        """Let the verb come to its end; return how long that took, in seconds."""
        began = time.monotonic()
        process = self.start()
        _, said = process.communicate(timeout=PATIENCE_S)
        took_s = time.monotonic() - began
        assert process.returncode == 0, said
        self.undo()
        return took_s

    def once(self, after_s: float, *, to_all: bool) -> None:
        """Interrupt as a terminal does, which signals all of the group, or one process alone."""
        process = self.start()
        time.sleep(after_s)  # the moment is what the sweep varies
        if process.poll() is None:
            (os.killpg if to_all else os.kill)(process.pid, signal.SIGINT)
        out, said = process.communicate(timeout=PATIENCE_S)
        moment = f"{after_s:.3f} s, exit code {process.returncode}: {out}{said}"
        if process.returncode == 0:
            self.finished += 1
            self.undo()
        else:
            self.interrupted += 1
            self._check(process.returncode, said, moment)
        self._nothing_is_left(moment)

    def _check(self, code: int, said: str, moment: str) -> None:
        lines = [line for line in without_progress(said).splitlines() if line.strip()]
        if code == INTERRUPTED:
            assert len(lines) == 1, moment
            assert lines[0].startswith("delaylab: interrupted"), moment
        else:
            # Before delaylab's first line runs, Python answers Ctrl-C. It ends by the signal, or,
            # while it sets itself up, with an error of its own.
            assert code == -signal.SIGINT or (code == 1 and said.startswith(SETTING_UP)), moment
            assert "delaylab/" not in said, moment

    def _nothing_is_left(self, moment: str) -> None:
        def left() -> list[str]:
            return [*our_processes(self.mark), *self.leftovers()]

        wait_until(lambda: not left(), why=lambda: f"{moment}\nleft: {left()}")

    def leftovers(self) -> list[str]:
        """Return what is in the run directory, or the halves of images in the cache."""
        return [path.name for path in Path(self.mark).glob(self.pattern)]

    def start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(DELAYLAB), *self.argv],
            cwd=self.folder,
            env={**os.environ, **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )


moments = pytest.mark.parametrize(
    "moments",
    [FEW, pytest.param(MANY, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])],
)


@moments
def test_up_leaves_nothing_at_any_moment(
    delaylab: Run, tmp_path: Path, run_directory: Path, moments: int
) -> None:
    (tmp_path / "lab.yaml").write_text(LAB)
    sweep = Sweep(tmp_path, str(run_directory), ["up", "lab.yaml"])
    sweep.undo = lambda: delaylab("down", "interrupted")
    sweep.run(moments)


@moments
def test_run_leaves_nothing_at_any_moment(
    tmp_path: Path, run_directory: Path, moments: int
) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)
    argv = ["run", "study.yaml", "--only", "environment=netns", "--only", "load=rest"]
    Sweep(tmp_path, str(run_directory), argv).run(moments)
    assert not list((tmp_path / "results").glob("*/trials/.*")), "half a trial was kept"


@moments
def test_ping_leaves_nothing_at_any_moment(
    tmp_path: Path, run_directory: Path, moments: int
) -> None:
    argv = ["ping", "-c", "200", "-i", "5ms", "127.0.0.1"]
    Sweep(tmp_path, str(run_directory), argv).run(moments)


@moments
def test_exec_ends_its_command_at_any_moment(
    up: Up, tmp_path: Path, run_directory: Path, moments: int
) -> None:
    name = up("lab: held\nnodes: {a: {}, b: {}}\nlinks:\n  - {between: [a, b], name: wan}\n")
    before = {*our_processes(str(run_directory))}
    # Without Ctrl-C it would outlast every wait of this test.
    argv = ["exec", "--lab", name, "a", "--", "sleep", str(2 * PATIENCE_S)]
    interrupted = 0
    for number in range(moments):
        process = Sweep(tmp_path, "", argv).start()
        time.sleep(1.2 * number / moments)
        os.kill(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE_S)
        if SETTING_UP not in said:  # then Python had not come to delaylab yet
            assert process.returncode in {INTERRUPTED, -signal.SIGINT}, said
            interrupted += process.returncode == INTERRUPTED
        wait_until_gone(lambda: {*our_processes(str(run_directory))} - before)
    assert interrupted > moments // 4


@NEEDS_APT
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_build_of_an_image_leaves_nothing_at_any_moment(tmp_path: Path) -> None:
    """Images are made anew each time, and a build that was finished counts."""
    cache = tmp_path / "cache"
    cache.mkdir()
    sweep = Sweep(tmp_path, str(cache), ["image", "build", "container"], pattern=".partial-*")
    sweep.environment = {"DELAYLAB_CACHE": str(cache)}

    def clean() -> None:
        for layer in cache.glob("*/layer.json"):
            shutil.rmtree(layer.parent)

    sweep.undo = clean
    sweep.run(MANY, sweep.whole_s() * 1.1)  # the first takes as long as the others


def test_the_machines_of_a_lab_that_is_interrupted_are_gone(
    tmp_path: Path, run_directory: Path
) -> None:
    """A lab of guests takes seconds: Ctrl-C ends it at once."""
    (tmp_path / "lab.yaml").write_text(LAB.replace("kind: lxc", "kind: qemu"))
    sweep = Sweep(tmp_path, str(run_directory), ["up", "lab.yaml"])
    for after_s in (0.9, 1.8):
        began = time.monotonic()
        sweep.once(after_s, to_all=True)
        assert time.monotonic() - began < after_s + GONE_WITHIN_S
    assert sweep.interrupted
