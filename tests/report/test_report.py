"""Reports: the JSON's shape, a page that needs no network, a terminal of 100 columns."""

from __future__ import annotations

import io
import re
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console

from delaylab.errors import BadInput
from delaylab_study.analysis.group import in_words
from delaylab_study.charts import words
from delaylab_study.report.html import write_report
from delaylab_study.report.show import as_json
from delaylab_study.verbs.datasets import show
from tests import synthetic
from tests.pages import visible
from tests.plain import plain as as_script
from tests.synthetic import Clock, Condition, exponential, queue

CLAIMS = ["network-adds-most", "sending-not-receiving", "xen-bimodal"]
FAILED = Condition("netns", "io")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    conditions = [
        Condition(kind, load, at_rest=10, seed=index, delays=_delays(load))
        for index, (kind, load) in enumerate(
            (kind, load) for kind in ("native", "netns") for load in ("rest", "cpu", "network")
        )
    ]
    conditions[0].absent = {"responder.stack": "<no> socket"}
    directory = synthetic.write(tmp_path_factory.mktemp("run"), conditions, CLAIMS, "whiteaker2011")
    failed = synthetic.trial(FAILED, 9) | {"status": "failed", "reason": "stress-ng: not found"}
    stamps, probes = synthetic.tables(FAILED)
    synthetic.write_trial(directory, failed, stamps.clear(), probes.clear(), synthetic.hosts())
    return directory


def _delays(load: str) -> dict[tuple[str, str], synthetic.Delay]:
    return {("request", "sender.uplink"): queue(5000)} if load == "network" else {}


@pytest.fixture(scope="module")
def page(place: Path) -> str:
    return write_report(place).read_text(encoding="utf-8")


def test_json_has_the_shape_that_scripts_rely_on(place: Path) -> None:
    found = as_script(as_json(place))
    assert set(found) == {
        "study",
        "machine",
        "trials",
        "combinations",
        "levels",
        "work",
        "scaling",
        "instrument",
        "claims",
        "damaged",
        "tables",
    }
    trial = found["trials"][0]
    assert set(trial) >= {"id", "factors", "status", "warnings", "rtt", "segments"}
    assert [p["phase"] for p in trial["machine_state"]["phases"]] == ["before", "load", "after"]
    assert set(found["instrument"]) == {"native", "netns"}
    assert found["instrument"]["native"]["added_us"] is None
    assert found["instrument"]["native"]["why"]
    assert set(trial["rtt"]) == {"app", "stack", "uplink", "wire"}
    assert set(trial["rtt"]["app"]) >= {"n", "median_us", "p99_us"}
    for segment in trial["segments"]:
        assert set(segment) >= {"leg", "from", "to", "layer", "n", "median_us", "p99_us"}
    assert [claim["id"] for claim in found["claims"]] == CLAIMS
    for claim in found["claims"]:
        assert set(claim) >= {"id", "text", "verdict", "why", "effect", "interval"}
    assert found["claims"][0]["interval"][0] <= found["claims"][0]["effect"]


def test_json_tells_failed_trials_with_their_reason(place: Path) -> None:
    failed = as_script(as_json(place))["trials"][-1]
    assert (failed["id"], failed["status"]) == (FAILED.id, "failed")
    assert failed["reason"] == "stress-ng: not found"
    assert failed["rtt"] == {}


def test_json_means_the_packets_under_load_only(place: Path) -> None:
    assert as_script(as_json(place))["trials"][0]["rtt"]["app"]["n"] == 200


def test_repeats_are_pooled_in_groups_and_apart_in_json(tmp_path: Path) -> None:
    repeats = [Condition(repeat=1, packets=100), Condition(repeat=2, packets=150, seed=1)]
    directory = synthetic.write(tmp_path, repeats)
    assert [t["rtt"]["app"]["n"] for t in as_script(as_json(directory))["trials"]] == [100, 150]
    assert "n 250" in write_report(directory).read_text(encoding="utf-8")


def test_the_page_refers_to_nothing_outside_itself(page: str) -> None:
    without_namespaces = re.sub(r'xmlns(:\w+)?="[^"]*"', "", visible(page))
    assert not re.search(r"https?:|//[a-z]|<script|<link|<img|url\(", without_namespaces)


def test_the_page_has_every_section_and_escapes_what_it_shows(page: str) -> None:
    for section in (
        "way",
        "claims",
        "figures",
        "layers",
        "warnings",
        "machine",
        "cost",
        "accounting",
        "run",
    ):
        assert f'<section id="{section}">' in page
    assert "stress-ng: not found" in page
    assert "&lt;no&gt; socket" in page
    assert "VServer" not in page
    assert "Vanilla Linux" in page


def test_every_chart_is_also_an_svg_and_a_png(place: Path, page: str) -> None:
    names = {path.stem for path in (place / "charts").glob("*.svg")}
    assert names == {path.stem for path in (place / "charts").glob("*.png")}
    assert names == {
        "way-1-native",
        "way-2-netns",
        "rtt-by-environment",
        "added-by-environment",
        "rtt-by-load",
        "added-by-load",
        "claim-network-adds-most",
        "claim-sending-not-receiving",
        "rtt-over-time",
        "rtt-under-network-load",
        "rtt-per-load",
        "sending-and-receiving",
    }
    for name in names:
        ElementTree.parse(place / "charts" / f"{name}.svg")
        assert (place / "charts" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    of_claims = page.count('<svg class="forest"')
    assert of_claims == page.count('class="forest"') > 0
    assert of_claims == sum(name.startswith("claim-") for name in names)
    assert page.count("<svg") == len(names)


def test_the_terminal_fits_in_100_columns(place: Path) -> None:
    out = io.StringIO()
    show(Console(file=out, width=100), place)
    text = out.getvalue()
    assert max(len(line) for line in text.splitlines()) <= 100
    assert "…" not in text.partition("Claims")[0]
    for word in ("bridge and uplink queue", "✓ reproduced", "not testable here", "stress-ng"):
        assert word in text


def guests(readings: bool = True) -> list[Condition]:
    clock = Clock("realtime@guest", 10**12, 80e-6)
    shown = int(clock.show(np.array([synthetic.START + 10_000]))[0])
    reading = {"clock": clock.name, "reference": synthetic.CLOCK, "before_ns": synthetic.START}
    reading |= {"other_ns": shown, "after_ns": synthetic.START + 20_000}
    delays = {
        ("request", "sender.vif"): exponential(900, 40),
        ("reply", "sender.stack"): exponential(5, 40),
    }
    common: dict[str, Any] = {"kind": "qemu", "at_rest": 20, "delays": delays}
    aligned = Condition(
        "qemu", clocks={"sender": clock}, readings=[reading] if readings else [], **common
    )
    broken = Clock("realtime@broken", drift=0.002)
    return [aligned, Condition("qemu", "cpu", clocks={"sender": broken}, **common)]


def test_the_page_tells_how_clocks_were_aligned(tmp_path: Path) -> None:
    text = write_report(synthetic.write(tmp_path, guests())).read_text(encoding="utf-8")
    section = text.partition('<section id="clocks">')[2].partition("</section>")[0]
    assert "1 of 2 pairs of clocks aligned" in section
    assert '<td class="text"><div>probe</div></td>' in section
    assert re.search(r"\+[78]\d\.\d\d ppm", section)
    assert "agrees: " in section
    assert "outside the bound" in section
    assert "not aligned: they drift apart by at least" in section
    assert "± clocks" in text


def test_the_page_says_nothing_of_clocks_where_there_is_one(page: str) -> None:
    assert 'id="clocks"' not in page
    assert "± clocks" not in page


def test_the_terminal_gives_a_delay_between_clocks_with_its_bound(tmp_path: Path) -> None:
    out = io.StringIO()
    show(Console(file=out, width=100), synthetic.write(tmp_path, guests(readings=False)))
    text = out.getvalue()
    assert max(len(line) for line in text.splitlines()) <= 100
    line = next(line for line in text.splitlines() if "→ virtual interface" in line)
    assert re.search(r"µs / [\d.]+ ms ±[\d.]+ µs", line)
    assert "clock-unaligned" in text


def test_levels_that_say_nothing_alone_have_their_factors_name() -> None:
    assert in_words({"kind": "netns", "load": "rest"}) == "netns, rest"
    assert in_words({"delay": "0", "load": "none"}) == "delay=0 load=none"
    assert in_words({"load": "none"}) == "load=none"
    assert in_words({"near": "cpu", "far": "cpu"}) == "near=cpu far=cpu"
    assert in_words({}) == ""


def test_a_study_without_trials_still_reports(tmp_path: Path) -> None:
    synthetic.write_study(tmp_path, synthetic.study([], []) | {"planned": ["a=1,repeat=1"]})
    assert as_script(as_json(tmp_path))["trials"] == []
    assert "a=1,repeat=1" in write_report(tmp_path).read_text(encoding="utf-8")


def test_the_terminal_says_which_trials_never_ran(tmp_path: Path) -> None:
    conditions = [Condition("netns", load, packets=20) for load in ("rest", "cpu")]
    directory = synthetic.write(tmp_path / "run", conditions)
    gone = next((directory / "trials").glob("*load=cpu*"))
    shutil.rmtree(gone)
    out = io.StringIO()
    show(Console(file=out, width=100), directory)
    assert "not run: 1 of 2 trials" in out.getvalue()
    assert f"delaylab run --resume {directory}" in out.getvalue().replace("\n", "")


def test_no_dataset_no_report(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="not a dataset"):
        write_report(tmp_path)


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (None, "–"),
        (0.5, "0.50 µs"),
        (9.996, "10.0 µs"),
        (99.96, "100 µs"),
        (999.6, "1.00 ms"),
        (14_124, "14.1 ms"),
        (-3.2, "−3.20 µs"),
    ],
)
def test_delays_are_written_with_three_figures(us: float | None, text: str) -> None:
    assert words.delay(us) == text
