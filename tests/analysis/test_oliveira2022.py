"""The claims of oliveira2022: missing trials, blocks that differ, levels that go together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from delaylab_papers.oliveira2022.balance import HELD, KVM, RATES, RTL8139, VIRTIO, alike
from delaylab_papers.oliveira2022.claims import CLAIMS
from delaylab_papers.oliveira2022.measures import median_shift, overhead_of_cards, slow_against_fast
from delaylab_papers.oliveira2022.published import WAY_US
from delaylab_papers.oliveira2022.rank_claims import PROBED_SLOWLY
from delaylab_papers.oliveira2022.rank_measures import outliers_at_responder, tau_of
from delaylab_study.analysis.claims.judge import judge
from delaylab_study.analysis.group import Group
from delaylab_study.analysis.statistics.factors import associations
from delaylab_study.analysis.statistics.runs import Floats
from tests.analysis.papers import ABOVE, BEYOND, Delays, Levels, dataset
from tests.controls.world import group
from tests.grouped import in_state, of_packets
from tests.synthetic import lognormal

PACKETS = 300
"""The number of packets of a block."""

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


def scenarios(
    delays: Callable[[Levels, int], float], random: np.random.Generator, **levels: Sequence[str]
) -> list[Group]:
    """A group of three blocks for each combination of levels; `delays` gives a block's median."""
    names = ("environment", "vms", "load", "place", "affinity", "rate")
    default = {"vms": ["0"], "load": ["none"], "place": ["sender"], "affinity": ["off"]}
    chosen = [{"environment": [VIRTIO], "rate": ["1kpps"], **default, **levels}[n] for n in names]
    found = []
    for combination in product(*chosen):
        factors = dict(zip(names, combination, strict=True))
        app = np.concatenate([delays(factors, block) * _around(random) for block in range(3)])
        found.append(group(factors, kind="qemu", delays={"app": app, "uplink": app / 2}, blocks=3))
    return found


def _around(random: np.random.Generator) -> Floats:
    return np.asarray(np.exp(0.05 * random.normal(size=PACKETS)))


def test_trials_that_differ_by_themselves_do_not_decide() -> None:
    """1 pps is 20 µs slower in each block, and blocks are 30 µs apart: that is no difference."""

    def apart(levels: Levels, block: int) -> float:
        return 100 + 30 * block + 20 * (levels["rate"] == "1pps")

    def together(levels: Levels, block: int) -> float:
        return 130 + 20 * (levels["rate"] == "1pps")

    for delays, decided in ((apart, False), (together, True)):
        groups = scenarios(delays, np.random.default_rng(1), rate=["1pps", "1kpps"])
        (found,) = slow_against_fast(median_shift)(groups)
        assert found.effect.value == pytest.approx(20, abs=8)
        assert (found.effect.interval[0] > 0) is decided


def test_tau_of_a_level_is_not_that_of_a_card_which_alone_has_it() -> None:
    """Only virtio, which is fast, is probed at 1 pps, which changes nothing."""

    def by_card(levels: Levels, block: int) -> float:
        return 100.0 if levels["environment"] == VIRTIO else 200.0

    random = np.random.default_rng(2)
    cards = scenarios(by_card, random, environment=KVM)
    slow = scenarios(by_card, random, rate=["1pps", "1Mpps"])
    confounded = associations(
        [(g.factors, v) for g in (*cards, *slow) for v in of_packets(g).series("app")]
    )
    (alone,) = [each for each in confounded if each.level == "1pps"]
    assert alone.tau < -0.3
    (found,) = tau_of(KVM, PROBED_SLOWLY, "app")([*cards, *slow])
    assert found.effect.value == pytest.approx(0, abs=0.1)
    assert found.effect.interval[0] < 0 < found.effect.interval[1]
    balanced = alike([*cards, *slow], "rate", RATES)
    assert {g.factors["environment"] for level in balanced.values() for g in level} == {VIRTIO}


def test_a_share_decides_only_over_a_way_like_the_papers() -> None:
    def delay(levels: Levels, block: int) -> float:
        return 2 * WAY_US if levels["environment"] == VIRTIO else 4 * WAY_US

    groups = scenarios(delay, np.random.default_rng(3), environment=[VIRTIO, RTL8139])
    found = {each.scenario: each for each in overhead_of_cards([VIRTIO, RTL8139])(groups)}
    # Half of each RTT is overhead, and the other half the way: the paper's, and twice as long.
    assert [each.effect.value for each in found.values()] == pytest.approx([0.5, 0.5], abs=0.01)
    assert {name: each.aside for name, each in found.items()} == {VIRTIO: False, RTL8139: True}


def test_the_level_of_our_own_is_shown_aside() -> None:
    def delay(levels: Levels, block: int) -> float:
        return {"1pps": 200.0, "1Mpps": 100.0, HELD: 300.0}[levels["rate"]]

    groups = scenarios(delay, np.random.default_rng(4), rate=["1pps", "1Mpps", HELD])
    found = list(slow_against_fast(median_shift)(groups))
    assert [(each.aside, each.effect.value > 0) for each in found] == [(False, True), (True, False)]
    claim = CLAIMS["slow-probing-higher-and-wider"]
    (higher, *_) = judge(claim, groups).criteria
    assert higher.stand is True


def test_affinity_needs_four_cpus() -> None:
    def same(levels: Levels, block: int) -> float:
        return 100.0

    groups = scenarios(same, np.random.default_rng(5), affinity=["off", "on"])
    few = [in_state(each, cpus=2) for each in groups]
    for claim in ("affinity-changes-nothing", "tau-affinity"):
        assert judge(CLAIMS[claim], groups).verdict in ("reproduced", "open")
        finding = judge(CLAIMS[claim], few)
        assert finding.verdict == "not testable here"
        assert "needs 4 CPUs" in finding.why


def test_outliers_are_counted_where_every_load_was() -> None:
    """Most of the outliers are at 1 Mpps under network load, where no other load was measured."""

    def delay(levels: Levels, block: int) -> float:
        fast = levels["rate"] == "1Mpps"
        at_responder = (levels["load"], levels["place"]) == ("network", "responder")
        return 1000.0 if fast else 500.0 if at_responder else 100.0

    random = np.random.default_rng(6)
    loaded = {"vms": ["4"], "place": ["sender", "responder"]}
    every = scenarios(delay, random, load=["cpu", "io", "network"], **loaded)
    partly = scenarios(delay, random, load=["network"], rate=["1Mpps"], **loaded)
    (found,) = outliers_at_responder(KVM, "kvm")([*every, *partly])
    assert found.effect.value == 1.0
    assert {g.factors["rate"] for g in found.groups} == {"1kpps"}
    assert found.published == pytest.approx(0.9541)
