"""Every report tells the same of packets that were lost, late, copied, overtaken or not sent."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console

from delaylab_study.report.html import write_report
from delaylab_study.report.sections.accounting import NOTHING
from delaylab_study.report.show import as_json
from delaylab_study.verbs.datasets import show
from tests import synthetic
from tests.plain import plain
from tests.synthetic import Condition

LOST = {7: ("request", "sender.stack"), 8: ("request", "sender.vif"), 9: ("reply", "wire")}
"""Three lost packets under load: 5 packets before it are at rest."""


def dataset(place: Path) -> Path:
    """One trial in which something of everything happened under load, and nothing at rest."""
    condition = Condition(packets=100, at_rest=5, lost_after=LOST)
    stamps, probes = synthetic.tables(condition)
    row = pl.int_range(pl.len())
    probes = probes.with_columns(
        pl.when(row == 20).then(pl.lit("late")).otherwise("outcome").alias("outcome"),
        pl.when(row == 21).then(2).otherwise(0).cast(pl.UInt16).alias("duplicates"),
        (row == 22).alias("reordered"),
    )
    synthetic.write_study(place, synthetic.study([condition], []))
    repeats = [{"phase": "load", "leg": "reply", "point": "wire", "packets": 2}]
    taps = [{"point": "wire", "packets": 9, "dropped": 0}]
    record = synthetic.trial(condition, 0) | {"repeats": repeats, "taps": taps}
    synthetic.write_trial(place, record, stamps, probes, synthetic.hosts())
    return place


def printed(place: Path, width: int) -> str:
    """The report in the terminal, as one line."""
    out = StringIO()
    show(Console(file=out, width=width), place)
    return " ".join(out.getvalue().replace("│", " ").split())


@pytest.mark.parametrize("width", [80, 160])
def test_the_terminal_tells_what_happened_to_packets_by_phase_and_leg(
    tmp_path: Path, width: int
) -> None:
    text = printed(dataset(tmp_path), width)
    for said in ("lost 3 (→ 2, ← 1)", "duplicated 2 (← 2)", "reordered 1 (? 1)", "late 1"):
        assert said in text, said
    assert NOTHING not in text


def test_where_every_packet_was_answered_one_line_says_so(tmp_path: Path) -> None:
    synthetic.write(tmp_path, [Condition(packets=100, at_rest=5)])
    assert NOTHING in printed(tmp_path, 80)
    assert NOTHING in write_report(tmp_path).read_text(encoding="utf-8")


def test_the_page_and_json_tell_the_same(tmp_path: Path) -> None:
    page = write_report(dataset(tmp_path)).read_text(encoding="utf-8")
    assert "lost 3 (→ 2, ← 1), duplicated 2 (← 2), reordered 1 (? 1), late 1" in page
    phases: list[dict[str, Any]] = plain(as_json(tmp_path))["trials"][0]["phases"]
    before, load, after = phases
    assert (load["scheduled"], load["sent"], load["answered"], load["late"]) == (100, 100, 96, 1)
    assert load["lost"] == {"request": 2, "reply": 1, "unknown": 0}
    assert load["duplicated"] == {"request": 0, "reply": 2, "unknown": 0}
    assert load["reordered"] == {"request": 0, "reply": 0, "unknown": 1}
    for quiet in (before, after):
        assert (quiet["answered"], quiet["lost"]["request"], quiet["late"]) == (5, 0, 0)
