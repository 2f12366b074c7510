"""A claim's verdict follows the data: it flips when the data flips."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from delaylab_study.analysis.analyse import groups
from delaylab_study.analysis.claims.finding import Finding
from delaylab_study.analysis.claims.groups import setups
from delaylab_study.charts.delays import load_rtt
from delaylab_study.dataset.store import read_study
from delaylab_study.papers.findings import findings
from delaylab_study.papers.loading import claims
from tests.synthetic import Condition, Delay, constant, lognormal, queue, write

SEND = ("request", "sender.uplink")
RECEIVE = ("reply", "sender.app")
DRIVER = ("request", "wire")
"""Behind the kernel's stamp."""
SLOW = lognormal(5000, 0.5)


def judge(place: Path, claim: str, conditions: list[Condition]) -> Finding:
    study = read_study(write(place, conditions, [claim]))
    return findings(study, list(groups(study)))[0]


def loaded(station: tuple[str, str], delay: Delay, load: str = "network") -> list[Condition]:
    return [
        Condition("native", "rest", seed=1),
        Condition("native", load, delays={station: delay}, seed=2),
        Condition("native", "cpu" if load == "network" else "network", seed=3),
    ]


def test_network_adds_most(tmp_path: Path) -> None:
    yes = judge(tmp_path / "yes", "network-adds-most", loaded(SEND, SLOW))
    assert yes.verdict == "reproduced"
    assert yes.effect is not None
    assert 4000 < yes.effect < 6000
    no = judge(tmp_path / "no", "network-adds-most", loaded(SEND, SLOW, "cpu"))
    assert no.verdict == "contradicted"
    assert no.effect is not None
    assert no.effect < -4000
    assert "TCP small queues" in no.why


def test_network_adds_most_must_hold_in_every_environment(tmp_path: Path) -> None:
    other = [Condition("netns", "rest", seed=4), Condition("netns", "network", seed=5)]
    found = judge(tmp_path, "network-adds-most", [*loaded(SEND, SLOW), *other])
    assert found.verdict == "open"
    assert "netns: " in found.why


def test_sending_not_receiving(tmp_path: Path) -> None:
    claim = "sending-not-receiving"
    assert judge(tmp_path / "yes", claim, loaded(SEND, SLOW)).verdict == "reproduced"
    assert judge(tmp_path / "no", claim, loaded(RECEIVE, SLOW)).verdict == "contradicted"


def test_kernel_closer_than_user(tmp_path: Path) -> None:
    claim = "kernel-closer-than-user"
    user = [Condition("native", "network", delays={RECEIVE: lognormal(60)})]
    kernel = [Condition("native", "network", delays={DRIVER: lognormal(60)})]
    assert judge(tmp_path / "yes", claim, user).verdict == "reproduced"
    assert judge(tmp_path / "no", claim, kernel).verdict == "contradicted"


def bimodal(share_slow: float) -> Delay:
    return lambda random, n: np.where(random.random(n) < share_slow, 20_000.0, 0.0)


@pytest.mark.parametrize(
    ("delay", "verdict"),
    [
        (bimodal(0.4), "reproduced"),
        (bimodal(0), "contradicted"),
        (lognormal(4000, 0.3), "contradicted"),
    ],
)
def test_xen_bimodal(tmp_path: Path, delay: Delay, verdict: str) -> None:
    xen = Condition("xen", "cpu", kind="xen", delays={SEND: delay}, packets=600)
    assert judge(tmp_path, "xen-bimodal", [xen]).verdict == verdict


def test_virtual_interface_not_hypervisor(tmp_path: Path) -> None:
    def conditions(container: Delay) -> list[Condition]:
        return [
            Condition("shared", "network", delays={SEND: constant(300)}, seed=1),
            Condition("openvz", "network", delays={SEND: container}, seed=2),
            Condition("xen", "network", kind="xen", delays={SEND: SLOW}, seed=3),
            Condition("shared", "rest", seed=4),
            Condition("openvz", "rest", seed=5),
            Condition("xen", "rest", kind="xen", seed=6),
        ]

    claim = "virtual-interface-not-hypervisor"
    like_xen = judge(tmp_path / "yes", claim, conditions(SLOW))
    assert like_xen.verdict == "reproduced"
    unlike = judge(tmp_path / "no", claim, conditions(lognormal(10)))
    assert unlike.verdict == "contradicted"


def test_minimum_helps(tmp_path: Path) -> None:
    claim = "minimum-helps"
    bursts = loaded(DRIVER, lognormal(2000, 2))
    assert judge(tmp_path / "yes", claim, bursts).verdict == "reproduced"
    standing = loaded(DRIVER, constant(2000))
    assert judge(tmp_path / "no", claim, standing).verdict == "contradicted"


@pytest.mark.parametrize("claim", list(claims()))
def test_without_its_levels_a_claim_is_not_testable_and_says_what_it_needs(
    tmp_path: Path, claim: str
) -> None:
    found = judge(tmp_path, claim, [Condition("netns", "rest", packets=20)])
    assert found.verdict == "not testable here"
    assert found.why.startswith("needs ")
    assert found.effect is None


def test_an_unknown_claim_is_not_testable(tmp_path: Path) -> None:
    found = judge(tmp_path, "moon-is-cheese", [Condition()])
    assert found.verdict == "not testable here"
    assert "network-adds-most" in found.why


def test_levels_are_told_by_kind_and_load_not_by_their_spelling(tmp_path: Path) -> None:
    conditions = [
        Condition("bare metal", "rest", kind="native", seed=1),
        Condition("bare metal", "network", kind="native", delays={SEND: queue(5000)}, seed=2),
    ]
    assert judge(tmp_path, "network-adds-most", conditions).verdict == "reproduced"


def test_loads_are_compared_within_a_setup(tmp_path: Path) -> None:
    """Network load adds 5 ms at every distance, which is less than the far link's delay."""
    far = {("request", "sender.uplink"): constant(60_000)}
    slow = {("request", "sender.uplink"): constant(65_000)}
    conditions = [
        Condition("netns", load, factors={"load": load, "distance": distance}, delays=delays)
        for load, distance, delays in (
            ("rest", "near", {}),
            ("rest", "far", far),
            ("network", "near", {SEND: constant(5000)}),
            ("network", "far", slow),
        )
    ]
    study = read_study(write(tmp_path, conditions, ["network-adds-most"]))
    found = list(groups(study))
    assert setups(found) == ["netns, near", "netns, far", "netns, near", "netns, far"]
    (finding,) = findings(study, found)
    assert finding.verdict == "reproduced"
    assert finding.effect == pytest.approx(5000, abs=10)
    assert "netns, near: 5.0" in finding.why
    assert "netns, far: 65.0" in finding.why
    chart = load_rtt(found)
    assert chart is not None
    assert ">netns, near<" in chart.svg
    assert ">netns, far<" in chart.svg
