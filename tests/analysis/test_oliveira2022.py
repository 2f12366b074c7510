"""The claims of oliveira2022 follow the data: they flip when the data flips."""

from __future__ import annotations

from pathlib import Path

import pytest

from delaylab.analysis.claims.claim import Finding
from delaylab.papers.oliveira2022.claims import CLAIMS
from tests.analysis.papers import ABOVE, BEYOND, Delays, Levels, dataset
from tests.synthetic import lognormal

CARDS = {"kvm-virtio": 90.0, "kvm-vmxnet3": 130.0, "kvm-e1000": 160.0, "kvm-rtl8139": 220.0}


def as_in_the_paper(levels: Levels) -> Delays:
    kind, count = levels["environment"], int(levels["vms"])
    above, beyond, spread = CARDS.get(kind, 8.0), 200.0, 0.05
    if levels["rate"] == "1pps":
        beyond, spread = 350.0, 0.2
    if (levels["load"], levels["place"]) == ("network", "responder"):
        beyond, spread = beyond * 4, 0.4
    if (kind, levels["load"], levels["rate"]) == ("lxc", "cpu", "1Mpps"):
        above += 4000.0 * count
    return {ABOVE: lognormal(above, 0.05), BEYOND: lognormal(beyond, spread)}


def otherwise(levels: Levels) -> Delays:
    kind, count = levels["environment"], int(levels["vms"])
    above = 310.0 - CARDS.get(kind, 100.0)
    beyond = 200.0 if levels["rate"] != "1pps" else 150.0
    if levels["affinity"] == "on":
        above *= 4
    if levels["load"] == "cpu" and levels["rate"] == "1kpps":
        beyond *= 3
    if levels["load"] == "io":
        beyond *= 2
    if kind == "docker" and levels["rate"] == "1Mpps":
        above += 4000.0 * count
    return {ABOVE: lognormal(above, 0.05), BEYOND: lognormal(beyond, 0.05)}


@pytest.fixture(scope="module")
def yes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Finding]:
    return dataset(tmp_path_factory.mktemp("yes"), "oliveira2022", as_in_the_paper)[0]


@pytest.fixture(scope="module")
def no(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Finding]:
    return dataset(tmp_path_factory.mktemp("no"), "oliveira2022", otherwise)[0]


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
    assert yes["virtio-lowest"].effect == pytest.approx(40, abs=12)
    assert yes["rtl8139-highest"].effect == pytest.approx(60, abs=15)
    assert yes["lxc-climbs-docker-does-not"].effect == pytest.approx(16_250 / 4250, rel=0.1)
    assert "p < 0.001" in yes["network-at-responder-highest"].why


def test_a_card_that_could_not_be_run_leaves_the_others_to_compare(tmp_path: Path) -> None:
    def without(levels: Levels) -> str | None:
        gone = levels["environment"] in ("kvm-vmxnet3", "kvm-rtl8139", "docker")
        return "the kernel has no driver for it" if gone else None

    found, _ = dataset(tmp_path, "oliveira2022", as_in_the_paper, without)
    assert found["virtio-lowest"].verdict == "reproduced"
    assert "vmxnet3" not in found["virtio-lowest"].why
    for claim in ("rtl8139-highest", "lxc-climbs-docker-does-not"):
        assert found[claim].verdict == "not testable here"
        assert "no driver" in found[claim].why
