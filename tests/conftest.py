"""Settings of all tests."""

from __future__ import annotations

import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes depends on what else the machine does, and is no property of the code.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")

# Tests send Ctrl-C to themselves and to programs that they start. A shell that runs them in the
# background has it ignored, and all of them would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give each run a folder of its own for its tests' files.

    All runs share pytest's usual one, and each that starts closes it to other users, as whom tests
    of the others run programs.
    """
    if config.option.basetemp is None and not hasattr(config, "workerinput"):
        folder = tempfile.mkdtemp(prefix="dl-tests-")
        config.option.basetemp = str(Path(folder) / "t")
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
