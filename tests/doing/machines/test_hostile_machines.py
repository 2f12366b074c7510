"""A machine that answers as it likes ends a command in one line, and what it said is not kept.

The machines and their agents are real; what they answer is changed by chance where it is received
(`tests/doing/security/hostile_run.py`).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.doing.machines.ssh_machines import LAB, NEEDED, Lan, machines, pings, two

__all__ = ["machines", "two"]
pytestmark = NEEDED
ROOT = Path(__file__).parents[3]
OF_MACHINES = "machine,stored,processes,labs,lab-files,end-lab,sweep"
"""The requests that an agent answers for a machine rather than for a node."""


def lied_to(two: Lan, *argv: str, seed: int) -> subprocess.CompletedProcess[str]:
    """Run a command that hears changed answers of machines; check that it ends in plain words."""
    program = [sys.executable, "-m", "tests.doing.security.hostile_run"]
    ran = subprocess.run(
        ["nsenter", f"--net={two.network}", *program, *argv],
        cwd=two.folder,
        env={
            **two.environment,
            "HOSTILE_AT": "*",
            "HOSTILE_OPS": OF_MACHINES,
            "HOSTILE_OFTEN": "0.5",
            "HOSTILE_SEED": str(seed),
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "src"))),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in ran.stdout + ran.stderr, ran.stderr
    assert ran.returncode in range(4), ran.stderr
    if ran.returncode:
        assert ran.stderr.strip().splitlines()[-1].startswith("delaylab: "), ran.stderr
    return ran


def tried(two: Lan, seeds: range) -> int:
    """Bring a lab up, look and take it down beside lying machines; return how often a verb failed.

    Whatever they said, an honest answer then takes down what is up and finds no trace.
    """
    failed = 0
    (two.folder / "lab.yaml").write_text(LAB)
    for seed in seeds:
        for argv in (("up", "lab.yaml"), ("ps",), ("down", "--all")):
            failed += lied_to(two, *argv, seed=seed).returncode != 0
        two.delaylab("down", "--all")
        two.wait_until_gone()
    return failed


def test_a_machine_that_lies_ends_commands_in_plain_words(two: Lan) -> None:
    tried(two, range(3))
    two.up(LAB)
    assert pings(two, "a", "b.wan") >= 20
    two.delaylab("down")


@pytest.mark.slow
def test_whatever_a_machine_says(two: Lan) -> None:
    assert tried(two, range(3, 40)), "else nothing was changed"
