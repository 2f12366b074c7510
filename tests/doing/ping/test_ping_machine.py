"""`delaylab ping` says when this machine is not quiet, and who disturbs it."""

from __future__ import annotations

import os

from tests.doing.conftest import Run, as_json
from tests.hogging import hogging


def test_who_disturbs_the_machine_is_named_in_a_line_and_in_json(delaylab: Run) -> None:
    """Two programs that want the same CPU keep a task waiting, and the ping says so."""
    cpu, names = max(os.sched_getaffinity(0)), [f"hog{n}-{os.getpid()}" for n in range(2)]
    asked = ("ping", "-q", "-c", "30", "-i", "50ms", "127.0.0.1")
    with hogging(names[0], cpu), hogging(names[1], cpu):
        text = delaylab(*asked).stdout.splitlines()
        found = as_json(delaylab(*asked, "--json"))["machine"]
    assert text[-1].startswith("this machine: not quiet: tasks waited for a CPU")
    assert text[-1].endswith("`delaylab noise` measures what that costs")
    assert found["quiet"] is False
    assert found["verdict"].startswith("not quiet: ")
    assert 0 < found["disturbed_s"] <= found["seconds"]
    assert any(0 < found["while_disturbed"].get(name, 0) < 1 for name in names)
