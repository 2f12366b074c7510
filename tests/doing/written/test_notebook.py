"""The example notebook runs from its first cell to its last, in the folder that it is in."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.doing.conftest import our_processes
from tests.waiting import PATIENCE_S

NOTEBOOK = Path(__file__).parents[3] / "examples" / "notebook.ipynb"
RUN = """
import json, sys
names = {"__name__": "__main__"}
for number, source in enumerate(json.load(sys.stdin), 1):
    exec(compile(source, f"cell {number}", "exec"), names)
claims = [[claim.id, claim.verdict] for claim in names["data"].claims()]
print(json.dumps([bool((names["both"]["delay_ns"] == names["both"]["rtt_user_ns"]).all()), claims]))
"""


def code() -> list[str]:
    """The code of its cells."""
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def test_it_is_kept_without_outputs() -> None:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)


@pytest.mark.root
@pytest.mark.usefixtures("own_home")
def test_it_runs(tmp_path: Path, run_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    ran = subprocess.run(
        [sys.executable, "-c", RUN],
        input=json.dumps(code()),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
        cwd=NOTEBOOK.parent,
    )
    assert ran.returncode == 0, ran.stderr
    exact, claims = json.loads(ran.stdout.splitlines()[-1])
    assert exact
    verdicts = dict(claims)
    for claim in ("interface-adds-delay", "half-of-it-in-the-kernel"):
        assert verdicts[claim] in ("reproduced", "contradicted", "open")
    assert verdicts["load-adds-delay"] == "not testable here"
    assert [*run_directory.iterdir(), *our_processes(str(run_directory))] == []
