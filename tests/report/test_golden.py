"""`show --json` prints what it printed before: scripts rely on it (golden/show.json).

The file was written by the version before the rooms of November 2026; write it anew only for a
change that the changelog names.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from delaylab.io.terminal import json_text
from delaylab_study.report.show import as_json
from tests import synthetic
from tests.report.cases import write

GOLDEN = Path(__file__).parent / "golden" / "show.json"


def near(found: Any, golden: Any, path: str = "") -> list[str]:
    """Return where two JSON values differ; numbers are equal to a relative 1e-9."""
    if isinstance(golden, dict) and isinstance(found, dict):
        if found.keys() != golden.keys():
            return [f"{path}: keys {sorted(found.keys() ^ golden.keys())}"]
        return [line for key in golden for line in near(found[key], golden[key], f"{path}.{key}")]
    if isinstance(golden, list) and isinstance(found, list) and len(golden) == len(found):
        pairs = enumerate(zip(found, golden, strict=True))
        return [line for index, (a, b) in pairs for line in near(a, b, f"{path}[{index}]")]
    if isinstance(golden, float) and isinstance(found, float):
        return [] if found == pytest.approx(golden, rel=1e-9) else [f"{path}: {found} {golden}"]
    return [] if found == golden else [f"{path}: {found!r} is not {golden!r}"]


def test_show_prints_the_same_json(tmp_path: Path) -> None:
    found = json.loads(json_text(as_json(write(tmp_path))))
    assert len(found.pop("tables")) > 10  # test_tables.py
    assert near(found, json.loads(GOLDEN.read_text())) == []


def test_a_difference_is_seen() -> None:
    golden = json.loads(GOLDEN.read_text())
    changed = json.loads(GOLDEN.read_text())
    changed["trials"][0]["links"][0]["asked"]["delay_ns"] += 1
    del changed["trials"][1]["rtt"]
    assert len(near(changed, golden)) == 2


def test_the_golden_dataset_has_every_part() -> None:
    golden = json.loads(GOLDEN.read_text())
    for part in ("links", "segments", "clocks", "warnings", "machine_state"):
        assert any(trial[part] for trial in golden["trials"]), part
    assert golden["claims"]
    assert {trial["status"] for trial in golden["trials"]} == {"ok", "failed"}
    assert golden["machine"]["clock"] == synthetic.CLOCK
