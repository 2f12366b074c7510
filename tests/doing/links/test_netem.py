"""`engine: kernel` with netem, on real packets in a guest whose kernel has it.

Bounds are those of an emulated machine, whose CPUs stand still for milliseconds at a time; what an
idle machine reaches is in docs/benchmarks.md.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from benches.inside import Machine, lab_in, machine
from benches.netem import FULL, MODULES, frames_per_second, settled, tapped

from delaylab.agent.wire.links import LinkSet
from delaylab.plan.conditions.engine_links import Change
from delaylab.resolve.lab import Lab
from delaylab.resolve.resolve import lab_from_data
from delaylab.spec.conditions.engine import Conditions, Rate
from tests.doing.conftest import skip_unless_runnable

pytestmark = [pytest.mark.root, pytest.mark.slow]
MS = 1_000_000


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    skip_unless_runnable("qemu")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DELAYLAB_RUN", str(tmp_path_factory.mktemp("run")))
        with machine(MODULES) as inside:
            yield inside


def spec(**conditions: object) -> Lab:
    link = {"between": ["near", "far"], "name": "wan", **conditions}
    nodes: dict[str, object] = {"near": {}, "far": {}}
    lab = {"lab": "netem", "nodes": nodes, "links": [link], "engine": "kernel"}
    return lab_from_data(lab)


def test_no_frame_is_early_and_half_are_less_than_2_ms_late(guest: Machine) -> None:
    with lab_in(guest, spec(delay="10ms")) as lab:
        stamps = tapped(lab, 2000, 5 * MS, 100)
    delay = (stamps["out"] - stamps["in"]).drop_nulls().to_numpy()
    assert len(delay) == 2000
    # netem looks at the clock after the tap did.
    assert delay.min() > 10 * MS
    assert np.median(delay) < 12 * MS


def test_jitter_is_as_wide_as_asked_and_around_the_delay(guest: Machine) -> None:
    jitter = {"spread": "20ms", "distribution": "normal"}
    with lab_in(guest, spec(delay="100ms", jitter=jitter)) as lab:
        stamps = tapped(lab, 2000, 5 * MS, 100)
    delay = (stamps["out"] - stamps["in"]).drop_nulls().to_numpy() / MS
    assert len(delay) == 2000
    assert np.median(delay) == pytest.approx(100, abs=5)
    assert delay.std() == pytest.approx(20, abs=3)


def test_loss_is_within_what_chance_allows(guest: Machine) -> None:
    with lab_in(guest, spec(loss="5%")) as lab:
        stamps = tapped(lab, 20_000, MS // 2, 100)
        way = settled(lab)
    lost = stamps["out"].null_count()
    # Five standard deviations.
    assert lost == pytest.approx(1000, abs=155)
    assert way.dropped.loss == lost


def test_a_rate_is_held_and_a_change_of_it_loses_nothing(guest: Machine) -> None:
    with lab_in(guest, spec(rate="4Mbit", queue=20_000, delay="1ms")) as lab:
        held = (FULL + 24) * 8
        achieved = held * frames_per_second(lab, round(held / 4e6 * 1e9 / 1.1), FULL)
        assert achieved == pytest.approx(4e6, rel=0.02)
        session = lab.session("link.here")
        change = Change("wan", "near", Conditions(rate=Rate(bps=100_000_000)))
        session.call(LinkSet(changes=[change]))
        session.close()
        way = settled(lab)
    assert way.left.frames == way.entered.frames
    assert not any(count for _, count in way.dropped)
