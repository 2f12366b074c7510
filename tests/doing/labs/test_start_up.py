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


OF_OTHERS_TO_BRING_UP = (
    *TABLES,
    *OF_FEW_LABS,
    # To change links, to follow a timeline, to start programs: together a tenth of an `up`.
    *("delaylab.lab.links.link_changes", "delaylab.lab.timeline", "delaylab.lab.programs.first"),
    *("delaylab.agent.program_requests", "delaylab.agent.measuring_requests"),
)


@pytest.fixture(scope="module")
def brought_up(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[dict[str, str], set[str]]]:
    """Return the environment of verbs that know a lab that is up, and what `up` imported."""
    place = tmp_path_factory.mktemp("lab")
    (place / "lab.yaml").write_text(LAB)
    with own_run_directory() as directory:
        env = {"DELAYLAB_RUN": str(directory)}
        found = imported("up", "lab.yaml", cwd=place, env=env)
        try:
            yield env, found
        finally:
            imported("down", "--all", env=env)


@pytest.mark.parametrize(
    "argv",
    [["ps"], ["link", "show"], ["exec", "a", "--", "true"]],
    ids=["ps", "link show", "exec"],
)
def test_a_running_lab_is_asked_without_what_others_need(
    brought_up: tuple[dict[str, str], set[str]], argv: list[str]
) -> None:
    env, _ = brought_up
    found = imported(*argv, env=env)
    assert "delaylab.lab.running" in found
    assert below(OF_OTHERS, found) == []


def test_a_lab_is_brought_up_without_what_others_need(
    brought_up: tuple[dict[str, str], set[str]],
) -> None:
    _, found = brought_up
    assert "delaylab.lab.start" in found
    assert below(OF_OTHERS_TO_BRING_UP, found) == []
