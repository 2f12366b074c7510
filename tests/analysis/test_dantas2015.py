"""The claims of dantas2015 follow the data: they flip when the data flips."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from delaylab.analysis.claims.claim import Finding
from delaylab.analysis.group import groups
from delaylab.analysis.statistics.quantiles import Floats
from delaylab.dataset.store import read_study
from delaylab.papers.dantas2015.claims import CLAIMS
from delaylab.papers.findings import findings
from tests.analysis.papers import ABOVE, BEYOND, Delays, Levels, dataset, write
from tests.synthetic import Delay, lognormal


def as_in_the_paper(levels: Levels) -> Delays:
    base = 700.0 if levels["frequency"] == "1Hz" else 330.0
    count, above = int(levels["vms"]), 40.0
    if levels["load"] == "cpu" and levels["core"] == "shared":
        above += 300.0 * count
    if levels["load"] == "network":
        above += 60_000.0 * count
    return {BEYOND: lognormal(base, 0.05), ABOVE: lognormal(above, 0.05)}


def bursts(random: np.random.Generator, n: int) -> Floats:
    return np.where(random.random(n) < 0.1, 150_000.0, 40.0)


def otherwise(levels: Levels) -> Delays:
    base = 300.0 if levels["frequency"] == "1Hz" else 800.0
    above: Delay = lognormal(40, 0.05)
    if levels["core"] == "reserved":
        base *= 1.5
    if levels["load"] == "network":
        base *= 3
    if levels["load"] == "cpu":
        base += 300.0 * int(levels["vms"])
        above = bursts
    if levels["load"] == "io":
        base *= 2
    return {BEYOND: lognormal(base, 0.05), ABOVE: above}


@pytest.fixture(scope="module")
def yes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Finding]:
    return dataset(tmp_path_factory.mktemp("yes"), "dantas2015", as_in_the_paper)[0]


@pytest.fixture(scope="module")
def no(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Finding]:
    return dataset(tmp_path_factory.mktemp("no"), "dantas2015", otherwise)[0]


@pytest.mark.parametrize("claim", list(CLAIMS))
def test_a_claim_is_reproduced_where_it_holds(yes: dict[str, Finding], claim: str) -> None:
    assert yes[claim].verdict == "reproduced", yes[claim].why
    assert yes[claim].interval is not None


@pytest.mark.parametrize("claim", list(CLAIMS))
def test_a_claim_is_not_reproduced_where_it_does_not_hold(
    no: dict[str, Finding], claim: str
) -> None:
    assert no[claim].verdict == "not reproduced", no[claim].why


def test_effects_have_the_size_that_was_put_in(yes: dict[str, Finding]) -> None:
    faster = yes["faster-probing-lower-rtt"]
    assert faster.effect == pytest.approx(370, rel=0.1)
    assert yes["network-load-hundredfold"].unit == "times"
    assert yes["host-nic-unmoved"].effect == pytest.approx(1, abs=0.02)
    assert yes["cpu-load-grows-unless-reserved"].effect == pytest.approx(1, abs=0.1)


def test_skipped_levels_leave_a_claim_open_and_say_why(tmp_path: Path) -> None:
    def no_loads(levels: Levels) -> str | None:
        return None if levels["load"] == "none" else "4 guests need 768 MiB, 512 MiB are free"

    found, kept = dataset(tmp_path, "dantas2015", as_in_the_paper, no_loads)
    assert len(kept) == 8
    assert found["faster-probing-lower-rtt"].verdict == "reproduced"
    for claim in ("cpu-load-grows-unless-reserved", "io-load-does-little", "host-nic-unmoved"):
        assert found[claim].verdict == "not testable here"
        assert "needs " in found[claim].why
        assert "512 MiB are free" in found[claim].why


def test_a_verdict_on_emulated_machines_says_so(tmp_path: Path) -> None:
    warning = {"kind": "emulated", "message": "no KVM", "remedy": ""}
    place = write(tmp_path, "dantas2015", as_in_the_paper, warnings=(warning,))
    study = read_study(place)
    found = {each.id: each for each in findings(study, list(groups(study)))}
    assert "(TCG)" in found["faster-probing-lower-rtt"].why
