"""Packages that maps need: loaded by those that need them alone, and missed in one line."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.topology.maps import SAMPLES

WITHOUT = "import sys; sys.modules['topohub'] = None; "
RUN = (
    "import sys; sys.argv = ['delaylab', *{argv!r}]; from delaylab.__main__ import main\n"
    "try:\n    main()\nfinally:\n"
    "    sys.stderr.write(' '.join(n for n in {names!r} if n in sys.modules))"
)
HEAVY = ("networkx", "scipy", "numpy", "polars")


def ran(argv: list[str], before: str = "") -> subprocess.CompletedProcess[str]:
    script = before + RUN.format(argv=argv, names=HEAVY)
    return subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("argv", "heavy"),
    [
        (["import", str(SAMPLES / "zoo.graphml")], ""),
        (["import", str(SAMPLES / "zoo.gml")], ""),
        (["generate", "ring", "3"], ""),
        (["generate", "waxman", "5"], "networkx"),
    ],
)
def test_a_verb_loads_what_it_needs(argv: list[str], heavy: str) -> None:
    done = ran(argv)
    assert done.stdout.startswith("#")
    loaded = set(done.stderr.splitlines()[-1].split()) & set(HEAVY)
    assert loaded <= {heavy, "numpy", "scipy"} if heavy else loaded == set()
    assert (heavy in loaded) == bool(heavy)


def test_a_collection_that_is_missing_is_one_line() -> None:
    done = ran(["import", "topohub:backbone/europe"], WITHOUT)
    assert done.returncode == 3
    assert done.stderr.splitlines()[0] == (
        "delaylab: topohub:backbone/europe: the package topohub is not installed "
        "(pip install 'delaylab[topologies]')"
    )
