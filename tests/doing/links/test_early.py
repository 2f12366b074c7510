"""No frame leaves a link before its delay is over, whichever way the engine sends it."""

from __future__ import annotations

import polars as pl
import pytest
from benches.engine_lab import link_names
from benches.frames import PORT, discarding, engine_report, generate, settled
from benches.pair import FAR, NEAR

from delaylab.agent.measuring_requests import Tap
from delaylab.agent.wire.tapping import TapFilter, TapInterface
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.resolve.lab import Lab
from delaylab.resolve.resolve import lab_from_data
from delaylab_study.trial.frames import frame

pytestmark = [pytest.mark.root]
DELAYS_NS = (1_000_000, 1_234_567)


def lab_of(delays_ns: tuple[int, ...]) -> Lab:
    """Return two nodes with a link of each delay."""
    links = [
        {"between": [NEAR, FAR], "name": name, "delay": f"{delay_ns}ns"}
        for name, delay_ns in zip(link_names(len(delays_ns)), delays_ns, strict=True)
    ]
    return lab_from_data({"lab": "early", "nodes": {NEAR: {}, FAR: {}}, "links": links})


def tapped(lab: LiveLab, count: int, interval_ns: int) -> pl.DataFrame:
    """Send frames over all links in turn; return for each frame what both ports' taps saw.

    `error_ns` is the time between both stamps less the link's delay.
    """
    names = link_names(len(DELAYS_NS))
    ports = {(way.link, way.node): way.port for way in engine_report(lab).directions}
    sides = ((NEAR, "in"), (FAR, "out"))
    tap = lab.session("host.here")
    result = tap.start(
        Tap(
            interfaces=[
                TapInterface(ports[link, node], f"{link}.{side}")
                for link in names
                for node, side in sides
            ],
            filter=TapFilter("udp", 4, probe=1, port=PORT),
        )
    )
    tap.event(10)
    generate(lab, names, count, interval_ns, 100)
    settled(lab)
    tap.stop()
    tap.finish(60)
    stamps = frame(result, "stamps")
    tap.close()
    parts = pl.col("point").cast(pl.String).str.split(".")
    delays = pl.DataFrame({"link": names, "delay_ns": DELAYS_NS})
    return (
        stamps.with_columns(link=parts.list.get(0), side=parts.list.get(1))
        .pivot(on="side", index=["link", "seq"], values="time_ns")
        .drop_nulls()
        .join(delays, on="link")
        .with_columns(error_ns=pl.col("out") - pl.col("in") - pl.col("delay_ns"))
    )


def assert_never_early(lab: LiveLab, count: int, interval_ns: int) -> pl.DataFrame:
    """Send frames, and assert that both taps saw all of them, and that none was early."""
    seen = tapped(lab, count, interval_ns)
    assert len(seen) == count
    early = seen.filter(pl.col("error_ns") < 0)
    assert early.is_empty(), early
    return seen


def test_no_frame_is_early_alone_or_in_a_burst() -> None:
    """Frames that come alone are handed to the kernel early, and it holds them until they are due.

    In the control the same stamps are compared with a delay that is longer by the mean error: then
    some frames are early.
    """
    with temporary(lab_of(DELAYS_NS), accounting=False) as lab, discarding(lab):
        assert_never_early(lab, 2_000, 2_000)
        alone = assert_never_early(lab, 3_000, 300_000)
        mean_ns = alone["error_ns"].mean()
        assert (alone["error_ns"] < mean_ns).any()
        (late,) = {engine_report(lab).late.count}
        assert late >= 5_000


@pytest.mark.slow
def test_no_frame_of_a_million_is_early() -> None:
    """Half a million frames one by one, as many as fast as the engine carries them."""
    with temporary(lab_of(DELAYS_NS), accounting=False) as lab, discarding(lab):
        for _ in range(10):
            assert_never_early(lab, 50_000, 130_000)
            assert_never_early(lab, 50_000, 10_000)
