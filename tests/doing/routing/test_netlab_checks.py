"""Netlab's own checks of its integration tests, on labs that delaylab imports from its topologies.

They need a checkout of netlab, which `NETLAB` names. `tools/netlab_checks.py` runs them by netlab's
own code, of the package that is installed into a folder of this test.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.command import DELAYLAB

CHECKOUT = os.environ.get("NETLAB", "")
PACKAGE = "networklab==26.3"
ROOT = Path(__file__).parents[3]
WITHIN_S = 900
pytestmark = [
    pytest.mark.root,
    pytest.mark.slow,
    pytest.mark.timeout(WITHIN_S),
    pytest.mark.skipif(not CHECKOUT, reason="NETLAB names no checkout of netlab"),
]
OSPF2 = (
    *("01-network", "02-areas", "03-cost", "04-passive", "05-unnumbered", "10-import"),
    *("11-import-policy", "20-default", "30-timers", "31-priority", "32-password"),
    "40-area-parameters",
)
OSPF3 = (
    *("01-network", "02-areas", "04-passive", "05-unnumbered", "10-import", "11-import-policy"),
    *("20-default", "30-timers", "31-priority", "40-area-parameters"),
)
INITIAL = (
    "01-interfaces",
    "01a-scripts",
    "01b-startup-config",
    "02-loopback",
    "05-host",
    "06-bridge",
    "07-router",
)
HOLD = [
    *(f"ospf/ospfv2/{name}.yml" for name in OSPF2),
    *(f"ospf/ospfv3/{name}.yml" for name in OSPF3),
    *(f"initial/{name}.yml" for name in INITIAL),
    "routing/20-static.yml",
    "routing/23-static-indirect.yml",
    "routing/25-static-discard.yml",
]
"""The topologies of which every check holds. One of netlab's level `warning` may not."""
FALL = {
    "ospf/ospfv3/03-cost.yml": ["c_x1", "c_x2"],
    "ospf/ospfv3/06-lb-prefix.yml": ["lb_ia"],
}
"""The topologies with checks that do not hold, by the OSPF version 3 of FRR 8.4."""


@pytest.fixture(scope="module")
def with_netlab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a Python that has netlab's code."""
    folder = tmp_path_factory.mktemp("netlab")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin/python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", PACKAGE], check=True)
    return python


def checked(python: Path, topology: str) -> Any:
    """Return what netlab's checks of a topology say."""
    found = subprocess.run(
        [python, ROOT / "tools/netlab_checks.py", CHECKOUT, f"tests/integration/{topology}"],
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        env={**os.environ, "DELAYLAB": str(DELAYLAB)},
        check=True,
    )
    return json.loads(found.stdout)


def failed(said: Any) -> list[str]:
    assert said["why"] == "", said
    assert said["checks"], said
    return [check["name"] for check in said["checks"] if check["outcome"] == "failed"]


@pytest.mark.parametrize("topology", HOLD)
def test_all_checks_of_a_topology_hold(with_netlab: Path, topology: str) -> None:
    assert failed(checked(with_netlab, topology)) == []


@pytest.mark.parametrize("topology", FALL)
def test_no_other_check_of_these_topologies_falls(with_netlab: Path, topology: str) -> None:
    assert failed(checked(with_netlab, topology)) == FALL[topology]
