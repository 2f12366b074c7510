"""Delays of virtual machines that were emulated in software say so wherever they are shown."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from delaylab_study.report.html import write_report
from delaylab_study.report.show import as_json
from delaylab_study.verbs.datasets import show
from tests import synthetic
from tests.plain import plain as as_script
from tests.synthetic import Condition, constant

CLAIM: dict[str, Any] = {
    "claim": "vm-adds",
    "of": "rtt.app",
    "group": {"kind": "vm"},
    "against": {"kind": "native"},
    "median": {"at-most": "+1ms"},
}
EMULATED = {"kind": "emulated", "message": "no KVM here", "remedy": "use another machine"}


def write(place: Path, *, emulated: bool) -> Path:
    """A native sender, and a virtual machine whose requests take 0.8 ms in its host."""
    conditions = [
        Condition("native", "rest", factors={"kind": "native"}, seed=1),
        Condition(
            "netns",
            "rest",
            kind="qemu",
            factors={"kind": "vm"},
            delays={("request", "sender.uplink"): constant(800)},
            warnings=[EMULATED] if emulated else [],
        ),
    ]
    return synthetic.write(place, conditions, own_claims=[CLAIM])


@pytest.mark.parametrize("emulated", [True, False])
def test_every_part_of_the_page_says_so(tmp_path: Path, emulated: bool) -> None:
    place = write(tmp_path, emulated=emulated)
    page = write_report(place).read_text(encoding="utf-8")
    heads = re.findall(r"<h3>(.*?)</h3>", page)
    of_vms = ["qemu, emulated: median, p90", "qemu, emulated"]
    assert [head for head in heads if "emulated" in head] == (of_vms if emulated else [])
    assert [head for head in heads if head.startswith("native")], "native is not called emulated"
    cards = re.findall(r"<div><b>.*?</small></div>", page)
    (largest,) = (card for card in cards if "largest median of a segment" in card)
    assert ("emulated (TCG)" in re.sub(r"\s", " ", largest)) is emulated
    (claim,) = re.findall(r'<span class="effect">.*?</span>', page)
    assert (">emulated<" in claim) is emulated
    drawings = {path.stem: path.read_text() for path in (place / "charts").glob("*.svg")}
    for name in ("way-2-qemu", "rtt-over-time"):
        assert ("emulated" in drawings[name]) is emulated, name
    assert "emulated" not in drawings["way-1-native"]
    assert ("Virtual machines were emulated in software (TCG)" in page) is emulated


@pytest.mark.parametrize("emulated", [True, False])
def test_the_terminal_and_the_json_say_so(tmp_path: Path, emulated: bool) -> None:
    place = write(tmp_path, emulated=emulated)
    out = io.StringIO()
    show(Console(file=out, width=120), place)
    text = out.getvalue()
    assert ("qemu, emulated: delay per layer" in text) is emulated
    (claim,) = as_script(as_json(place))["claims"]
    assert claim["verdict"] == "holds"
    assert ("emulated in software here (TCG): their delays are" in claim["why"]) is emulated
