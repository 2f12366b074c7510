"""Benchmark of the rates and losses that links are configured to have, counted at both ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from benches.engine_lab import ENGINE_CPU, NODES_CPU
from benches.frames import FULL, PORT, SHORT, discarding, engine_report, flow, generate, settled
from benches.pair import FAR, NEAR
from benches.section import Section
from delaylab.agent.wire.loads import Generate, GenerateDone
from delaylab.agent.wire.measuring import Counters
from delaylab.lab.links import link_engines
from delaylab.lab.running import LiveLab
from delaylab.lab.start import temporary
from delaylab.records.links import Direction
from delaylab.resolve.resolve import lab_from_data
from delaylab.verdicts.shares import ShareCheck, expected_loss

LINK = "w"
SECONDS = 10
EXCESS = 1.5
"""Offered rate as a multiple of the configured rate."""
QUEUE_S = 0.1
"""Length of the queue as a time in s: a sender that pauses for less leaves no gap."""
OVERHEAD, MINIMUM = 24, 84
"""Ethernet's framing overhead and minimum frame with it in bytes, both counted in a rate."""
RATES = (
    (10_000_000, FULL),
    (10_000_000, SHORT),
    (100_000_000, FULL),
    (100_000_000, SHORT),
    (1_000_000_000, FULL),
)
LOSSES: dict[str, Any] = {
    "1 %, independent": "1%",
    "4.76 %, Gilbert-Elliott": {"gilbert-elliott": {"to_bad": "1%", "to_good": "20%"}},
}
FRAMES, APART_NS = 100_000, 50_000
"""Number of frames sent to measure a loss, and the interval between them in ns."""
FLOOD, QUIET, QUIET_NS = 4_000_000, 3_000, 1_000_000
"""Number of frames of the flood and of the link beside it, and the interval on the latter in ns."""


@dataclass(frozen=True)
class RateKept:
    """The rate of the frames that left a link, in bit/s with framing, and the configured rate."""

    configured: float
    offered: float
    achieved: float
    left: int
    arrived: int
    lost_otherwise: int

    @property
    def error(self) -> float:
        """Return the relative error of the achieved rate."""
        return self.achieved / self.configured - 1


@dataclass(frozen=True)
class LossKept:
    """The share of frames lost, as the engine counted it and as the receiver did."""

    check: ShareCheck
    missing: float
    lost_otherwise: int


def run() -> Section:
    """Measure links offered more than their rate, links with loss, and a link beside a flood."""
    section = Section(
        "conditions",
        "Rates and losses kept",
        f"Frames offered at {EXCESS} times a rate for {SECONDS} s to a link with a queue of "
        f"{QUEUE_S * 1e3:.0f} ms; achieved is with framing, from the first frame that left to the "
        f"last. Losses are of {FRAMES:,} frames. Arrived is what the receiving interface counted. "
        "One core for the engine, another for who sends.",
        ("what", "configured", "achieved", "error", "left the link", "arrived", "lost otherwise"),
    )
    for bps, size in RATES:
        rate = rate_kept(bps, size, cpus=True)
        section.rows.append(
            (
                f"rate, frames of {size} bytes",
                f"{bps / 1e6:g} Mbit/s (offered {rate.offered / 1e6:.1f})",
                f"{rate.achieved / 1e6:.3f} Mbit/s",
                f"{rate.error:+.4%}",
                f"{rate.left:,}",
                f"{rate.arrived:,}",
                str(rate.lost_otherwise),
            )
        )
    for name, loss in LOSSES.items():
        kept = loss_kept(loss, cpus=True)
        low, high = kept.check.interval
        section.rows.append(
            (
                "loss",
                name,
                f"{kept.check.achieved:.3%} [{low:.3%}, {high:.3%}]",
                f"{kept.check.achieved / kept.check.configured - 1:+.1%}",
                f"{FRAMES * (1 - kept.check.achieved):,.0f}",
                f"{FRAMES * (1 - kept.missing):,.0f}",
                str(kept.lost_otherwise),
            )
        )
    section.notes += [_beside_a_flood(delay) for delay in ("1ms", "20ms")]
    return section


def rate_kept(
    bps: int,
    size: int,
    *,
    seconds: int = SECONDS,
    cpus: bool = False,
    refills: int | None = None,
) -> RateKept:
    """Offer a link more frames of one size than its rate carries.

    `refills` are budgets per second, in place of a steady rate.
    """
    bits = max(size + OVERHEAD, MINIMUM) * 8
    interval_ns = int(bits / (bps * EXCESS) * 1e9)
    rate = {"limit": f"{bps}bit"} | ({"refills": refills} if refills else {})
    # A budget that begins while no frame waits is lost, unlike the time of a steady rate.
    queue_s = QUEUE_S * (10 if refills else 1)
    link = {"rate": rate, "queue": int(bps * queue_s / bits)}
    with _lab([link], cpus=cpus) as lab:
        sent, way, arrived = _cross(lab, seconds * 1_000_000_000 // interval_ns, interval_ns, size)
    assert way.first_out_ns is not None
    assert way.last_out_ns is not None
    left = way.left.frames
    return RateKept(
        configured=bps,
        offered=sent.sent * bits * 1e9 / (sent.ended_ns - sent.began_ns),
        # The span is from the end of the first frame to the end of the last: all frames but the
        # first.
        achieved=(left - 1) * bits * 1e9 / (way.last_out_ns - way.first_out_ns),
        left=left,
        arrived=arrived,
        lost_otherwise=_lost_but_by(way, "queue"),
    )


def loss_kept(loss: Any, *, cpus: bool = False) -> LossKept:
    """Send frames over a link that loses some of them."""
    with _lab([{"loss": loss}], cpus=cpus) as lab:
        sent, way, arrived = _cross(lab, FRAMES, APART_NS, SHORT)
    configured = way.configured.loss
    assert configured is not None
    check = expected_loss(configured).check(way.dropped.loss, way.entered.frames)
    return LossKept(check, 1 - arrived / sent.sent, _lost_but_by(way, "loss"))


def _cross(
    lab: LiveLab, count: int, interval_ns: int, size: int
) -> tuple[GenerateDone, Direction, int]:
    """Send frames; return the sender's record, the engine's report, and the number that arrived."""
    before = _received(lab)
    link_engines.reports(lab, reset=True)
    sent = generate(lab, [f"{LINK}0"], count, interval_ns, size)
    (way,) = (each for each in settled(lab).directions if each.node == NEAR)
    return sent, way, _received(lab) - before


def _lost_but_by(way: Direction, reason: str) -> int:
    """Return the number of frames dropped for other reasons than `reason`."""
    others = [count for name, count in way.dropped if name != reason]
    return sum([*others, way.port_dropped])


def _received(lab: LiveLab) -> int:
    session = lab.node_session(FAR)
    interfaces = session.call(Counters()).done.interfaces
    session.close()
    return interfaces[lab.plan.nodes[FAR].attachments[0].device].rx_packets


def _beside_a_flood(delay: str) -> str:
    """Measure a link beside another one that is sent as many frames as the generator can."""
    with _lab([{"delay": delay}, {"delay": delay}], cpus=True) as lab:
        link_engines.reports(lab, reset=True)
        flood = lab.node_session(NEAR)
        request = Generate(
            flows=[flow(lab.plan, f"{LINK}0")],
            probe=1,
            count=FLOOD,
            interval_ns=0,
            size=SHORT,
            port=PORT,
        )
        flooding = flood.start(request)
        while not engine_report(lab).directions[0].entered.frames:
            pass
        sent = generate(lab, [f"{LINK}1"], QUIET, QUIET_NS, SHORT)
        way = next(each for each in engine_report(lab).directions if each.link == f"{LINK}1")
        flood.finish(120)
        assert flooding.done.ended_ns > sent.ended_ns, "a flood all the time"
        flood.close()
        flooded = settled(lab).directions[0]
    late, dropped = way.late, sum(count for _, count in way.dropped)
    return (
        f"Beside a flood of frames of 64 bytes ({flooded.dropped.ring:,} refused at the "
        f"ring), a link of {delay} with 1,000 frames/s lost {dropped} of "
        f"{sent.sent:,}; late {(late.p50_ns or 0) / 1e3:.0f} / {(late.p99_ns or 0) / 1e3:.0f} µs "
        "(p50 / p99)."
    )


@contextmanager
def _lab(links: list[dict[str, Any]], *, cpus: bool) -> Iterator[LiveLab]:
    nodes = {"cpus": [NODES_CPU]} if cpus else {}
    engine = {"cpus": [ENGINE_CPU]} if cpus else {}
    spec = lab_from_data(
        {
            "lab": "conditions",
            "nodes": {NEAR: nodes, FAR: nodes},
            "links": [
                {"between": [NEAR, FAR], "name": f"{LINK}{number}", **link}
                for number, link in enumerate(links)
            ],
            "engine": {"kind": "own", **engine},
        }
    )
    with temporary(spec, accounting=False) as lab, discarding(lab):
        yield lab
