"""Verbs that ask a running lab import its plan, and nothing that only other labs have."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.doing.conftest import own_run_directory
from tests.imported import TABLES, below, imported
from tests.test_start_up import LAB, OF_FEW_LABS

pytestmark = pytest.mark.root
OF_OTHERS = (
    *TABLES,
    *OF_FEW_LABS,
    # To check and plan a lab, or to start and watch programs, takes longer than to ask it.
    *("delaylab.spec.lab", "delaylab.plan.build", "delaylab.plan.model", "delaylab.kinds"),
    *("delaylab.routing", "delaylab.lab.programs.programs", "delaylab.agent.program_requests"),
    *("yaml", "concurrent.futures"),
)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Return the environment of verbs that know a lab that is up."""
    place = tmp_path_factory.mktemp("lab")
    (place / "lab.yaml").write_text(LAB)
    with own_run_directory() as directory:
        env = {"DELAYLAB_RUN": str(directory)}
        imported("up", "lab.yaml", cwd=place, env=env)
        try:
            yield env
        finally:
            imported("down", "--all", env=env)


@pytest.mark.parametrize(
    "argv",
    [["ps"], ["link", "show"], ["exec", "a", "--", "true"]],
    ids=["ps", "link show", "exec"],
)
def test_a_running_lab_is_asked_without_what_others_need(
    running: dict[str, str], argv: list[str]
) -> None:
    found = imported(*argv, env=running)
    assert "delaylab.lab.running" in found
    assert below(OF_OTHERS, found) == []
