"""Run the suites of tests side by side; run what failed once more, alone.

A test that failed beside others and passes alone is named, and does not fail the run. At most
MOST tests may do so. Needs nothing but Python.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
SUITES = ("test-real", "test-rust", "test-long")
"""Targets of the Makefile. Each writes one file of results into the folder FAILED names."""
FAILED = "DELAYLAB_FAILED"
MOST = 3


@dataclass(frozen=True)
class Failure:
    """A test that failed, and the command that runs it alone."""

    name: str
    again: list[str]


class NoResult(Exception):
    """A suite that ended without a list of its failures; the text says how many did."""


def failures(folder: Path) -> list[Failure]:
    """Return what failed, from the results of all suites. Raises NoResult."""
    results = sorted(folder.glob("*.json"))
    if len(results) != len(SUITES):
        raise NoResult(f"{len(results)} of {len(SUITES)} suites came to their end, see above")
    return [Failure(**each) for path in results for each in json.loads(path.read_text())]


def passes_alone(failure: Failure) -> bool:
    """Run a test alone, and return True if it passes."""
    say(f"once more, alone: {failure.name}")
    environment = {name: value for name, value in os.environ.items() if name != FAILED}
    return not subprocess.run(failure.again, check=False, cwd=ROOT, env=environment).returncode


def verdict(failed: list[Failure]) -> int:
    """Return the exit code for these failures, and say why."""
    if len(failed) > MOST:
        names = "\n".join(f"  {each.name}" for each in failed)
        say(f"{len(failed)} tests failed, more than the {MOST} that are run once more:\n{names}")
        return 1
    again = [(each, passes_alone(each)) for each in failed]
    for failure, passed in again:
        say(f"{'failed beside others, passed alone' if passed else 'failed'}: {failure.name}")
    return int(not all(passed for _, passed in again))


def say(line: str) -> None:
    """Print a line of this program's own between those of the tests."""
    print(f"==> {line}", file=sys.stderr, flush=True)


def main() -> int:
    """Run the suites and return the exit code."""
    with tempfile.TemporaryDirectory(prefix="dl-failed-") as name:
        make = ["make", "--no-print-directory", "--keep-going", "--output-sync"]
        suites = subprocess.run(
            [*make, f"--jobs={len(SUITES)}", *SUITES],
            check=False,
            cwd=ROOT,
            env={**os.environ, FAILED: name},
        )
        if not suites.returncode:
            return 0
        try:
            failed = failures(Path(name))
        except NoResult as error:
            say(str(error))
            return 1
        if not failed:
            return suites.returncode
        return verdict(failed)


if __name__ == "__main__":
    sys.exit(main())
