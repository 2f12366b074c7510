"""Programs that are run for their output, and end with their caller at the latest."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from delaylab.errors import DelaylabError
from delaylab.io.interrupts import deferred


class TooSlow(DelaylabError):
    """The error for a program that does not answer in time."""


@contextmanager
def started(
    argv: Sequence[str], env: dict[str, str], cwd: Path | None = None, *, errors: int
) -> Iterator[subprocess.Popen[str]]:
    """Run a program for the length of a block, with its output in a pipe, and no input.

    An exception in the block, such as Ctrl-C, kills the program and all that it started: they are
    a process group of their own, which a terminal's Ctrl-C does not reach. `errors` is what
    `subprocess.Popen` takes as `stderr`.
    """
    process: subprocess.Popen[str] | None = None
    try:
        with deferred():
            process = subprocess.Popen(
                argv,
                cwd=cwd,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                process_group=0,
            )
        yield process
        process.wait()
    except BaseException:
        if process is not None:
            with deferred():
                _kill(process)
        raise


def _kill(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def output(argv: Sequence[str], env: dict[str, str], limit_s: float) -> tuple[int, str, str]:
    """Run a program to its end; return its exit code, its output and its errors.

    Raises TooSlow if it has not ended, or its output is still open, after `limit_s`; it is killed.
    """
    try:
        with started(argv, env, errors=subprocess.PIPE) as process:
            out, err = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        what = f"{argv[0]} did not end within {limit_s:g} s, and was killed"
        raise TooSlow(what, fix=f"find out why it hangs: {' '.join(argv)}") from None
    return process.returncode, out, err
