"""Settings of all tests."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The workers of a run share the CPUs. Threads of their own would wait for each other, which took a
# twelfth of the CPU time of all pure tests.
os.environ.setdefault("POLARS_MAX_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# How long an example takes depends on what else the machine does, and is no property of the code.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")

# Tests send Ctrl-C to themselves and to programs that they start. A shell that runs them in the
# background has it ignored, and all of them would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


TESTS = Path(__file__).parent
LONGEST = (
    "hostile/test_hostile.py",
    "controls/test_controls.py",
    "report/test_papers.py",
    "analysis/clocks/test_ticks.py",
    "analysis/test_compared.py",
    "test_study_plans.py",
    "analysis/test_coverage.py",
    "test_wheel.py",
    "doing/written/test_tutorials.py",
    "doing/guests/test_packages.py",
    "doing/written/test_examples.py",
    "doing/trials/test_held_trial.py",
    "doing/work/test_fair.py",
    "doing/routing/test_routing.py",
    "doing/trials/test_treatments.py",
    "doing/work/test_scp.py",
    "doing/guests/test_kinds.py",
    "doing/work/test_mpi.py",
    "doing/security/test_nodes.py",
    "doing/links/test_link_states.py",
    "doing/work/test_work.py",
    "doing/labs/test_bad_input.py",
    "doing/work/test_without_probe.py",
    "doing/trials/test_study.py",
    "images/test_packages.py",
    "images/test_build.py",
    "images/test_trouble.py",
    "doing/guests/test_disks.py",
    "doing/labs/test_interrupt.py",
    "doing/links/test_link_truth.py",
    "doing/links/test_fates.py",
    "doing/links/test_links.py",
    "doing/security/test_two_users.py",
    "doing/security/test_flow.py",
    "doing/ping/test_ping.py",
    "doing/labs/test_api.py",
    "doing/trials/test_timeline.py",
    "doing/guests/test_clocks.py",
    "doing/guests/test_containers.py",
    "doing/security/test_dead_agents.py",
)
"""The files with the longest tests, which come first: one that began last would hold up the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have the longest files first, and all others in their order."""
    place = {TESTS / name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path, len(place)))


@pytest.fixture(scope="session", autouse=True)
def kept_drawers() -> Iterator[None]:
    """Have the reports of all tests in this process drawn by the same two processes."""
    from delaylab_study.report import html  # noqa: PLC0415  a second: not for a run that only lists tests
    from tests import drawers  # noqa: PLC0415  as above

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(html, "SecondProcess", drawers.kept_process)
        yield
    drawers.end_all()


class Failures:
    """Writes which tests failed, for `tools/test_beside.py`, which runs them once more."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._failed: dict[str, None] = {}
        self._uncollected = False

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember that there are tests that cannot even be found."""
        self._uncollected |= report.failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember a test of which a part failed."""
        if report.failed:
            self._failed[report.nodeid] = None

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Write the list, unless more went wrong than tests."""
        if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            if self._uncollected:
                return
            failed = [
                {"name": each, "again": [sys.executable, "-m", "pytest", each]}
                for each in self._failed
            ]
            (self._folder / f"pytest-{os.getpid()}.json").write_text(json.dumps(failed))


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give each run a folder of its own for its tests' files.

    All runs share pytest's usual one, and each that starts closes it to other users, as whom tests
    of the others run programs.
    """
    folder = os.environ.get("DELAYLAB_FAILED")
    if folder and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Failures(Path(folder)), "failures")
    if config.option.basetemp is None and not hasattr(config, "workerinput"):
        folder = tempfile.mkdtemp(prefix="dl-tests-")
        config.option.basetemp = str(Path(folder) / "t")
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
