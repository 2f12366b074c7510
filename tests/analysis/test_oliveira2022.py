"""The claims of oliveira2022 where trials are missing or emulated."""

from __future__ import annotations

from pathlib import Path

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
