"""Verbs import no more than they need: the user waits for it each time.

Times are compared by `python -m benches start`. Here is only what must not be imported, since each
of these was imported once by an oversight, or takes a tenth of a verb's time.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.imported import TABLES, below, imported

LAB = """\
lab: small
nodes: {a: {}, b: {}}
links:
  - {between: [a, b], name: wan, delay: 1ms}
"""
WITH_MODELS = (
    "pydantic",
    "delaylab.spec",
    "delaylab.plan",
    "delaylab.agent",
    "delaylab.machines",
)
OF_FEW_LABS = (
    *("delaylab.routing.frr", "delaylab.routing.bird", "delaylab.routing.writers"),
    *("delaylab.placement", "delaylab.topology.formats", "delaylab.topology.generators"),
    *("delaylab.machines.ssh", "delaylab.machines.clusters", "delaylab_study.study_file"),
    # 7 ms for one field of pydantic's own type of addresses.
    "pydantic.networks",
)
OF_TABLES_ON_TERMINALS = ("rich",)
"""Takes 10 ms to import, and plain lines need none of it."""
OF_SESSIONS = ("delaylab.agent.session", "delaylab.agent.replies")
"""Modules that ask an agent: a plan asks none, and their models take 7 ms to import."""


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_what_needs_no_file_imports_no_models(option: str) -> None:
    found = imported(option)
    assert "delaylab.cli.running" in found
    assert below((*TABLES, *WITH_MODELS), found) == []


def test_a_plan_imports_only_what_its_lab_has(tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(LAB)
    found = imported("plan", "lab.yaml", cwd=tmp_path)
    assert "delaylab.plan.build" in found
    unwanted = (*TABLES, *OF_FEW_LABS, *OF_SESSIONS, *OF_TABLES_ON_TERMINALS)
    assert below(unwanted, found) == []
