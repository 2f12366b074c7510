"""Run Rust's tests by a cargo command, and write which failed into the folder DELAYLAB_FAILED.

The arguments are the command, with `--workspace`. Needs nothing but Python.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

WRAPPER = "RUSTC_WORKSPACE_WRAPPER"
TARGET = re.compile(r"^error: test failed, to rerun pass `(?P<arguments>[^`]+)`")
NAME = re.compile(r"^    (?P<name>\S+)$")


def failed(lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Give each failed test with cargo's arguments for its target, as cargo's output names them.

    A target's output ends with `failures:` and the names. Then cargo names the target. A target
    that ended otherwise, such as by a signal, has a test without a name.
    """
    names: list[str] = []
    for line in lines:
        if line.strip() == "failures:":
            names = []
        elif found := NAME.match(line):
            names.append(found["name"])
        elif target := TARGET.match(line):
            for name in names or [""]:
                yield name, target["arguments"].split()
            names = []


def again(command: list[str], name: str, target: list[str]) -> dict[str, object]:
    """Return a failure in the form that `test_beside.py` reads."""
    cargo = [word for word in command if word not in ("--workspace", "--no-fail-fast")]
    wrapper = [f"{WRAPPER}={os.environ[WRAPPER]}"] if WRAPPER in os.environ else []
    alone = ["env", *wrapper, *cargo, *target, "--", "--exact", name]
    return {"name": f"{' '.join(target)} {name}", "again": alone}


def main(command: list[str]) -> int:
    """Run the tests and return cargo's exit code."""
    command = [*command, "--no-fail-fast"]
    output: list[str] = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as cargo:
        assert cargo.stdout is not None
        for line in cargo.stdout:
            print(line, end="", flush=True)
            output.append(line.rstrip("\n"))
    tests = list(failed(output))
    known = bool(tests) and all(name for name, _ in tests)
    folder = os.environ.get("DELAYLAB_FAILED")
    if folder and (known or not cargo.returncode):
        found = [again(command, name, target) for name, target in tests]
        (Path(folder) / "rust.json").write_text(json.dumps(found))
    return cargo.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
