"""UDP frames at a fixed rate, one way, in an open loop: nobody answers them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from delaylab.dataset.records.rates import Burst, HeldRate
from delaylab.lab.running import Lab
from delaylab.loads import held_rate
from delaylab.loads.generator import Generator
from delaylab.loads.state import Achieved, Running
from delaylab.loads.streams import Sink, Stream, behind_s, counted, judged, streams
from delaylab.plan.agent_names import node_agent
from delaylab.spec.study import LoadSpec

WARMING_PER_S, WARMING_S = 1000, 0.2
"""Rate (frames/s) and seconds of a first burst, which resolves neighbours and fills buffers."""

READINGS, IN_TIME_S = 3, held_rate.BEHIND_S / 2
"""The receiver's counters must be read this soon after a burst, or the burst is sent again, so many
times in all: a reading that a busy machine makes late cannot tell a queue that has drained since.
"""
FIRST_S = 0.5
"""The longest time in seconds that a load waits for its first frames, beyond its links' delays."""


def find_rate(lab: Lab, load: LoadSpec) -> HeldRate:
    """Find the highest rate of a load of frames that is held, by bursts."""
    flows = streams(lab, load)
    sink, generator = Sink(lab, str(load.to), flows), Generator(lab, load, flows)
    tolerance, counting = float(load.lost), judged(flows)
    one_clock = lab.clock(node_agent(load.on)) == lab.clock(node_agent(str(load.to)))

    def offer(per_s: float | None, seconds: float) -> Burst:
        for _ in range(READINGS):
            before = sink.read()
            sent = generator.burst(per_s, seconds)
            ended = sink.read()
            after = sink.settled(before, sent.frames)
            lag_s = max(0.0, (ended.time_ns - sent.ended_ns) / 1e9) if one_clock else 0.0
            if lag_s <= IN_TIME_S:
                break
        found = counted(flows, sent.frames, before, after, None)
        per_flow_s = sent.frames / len(flows) / sent.seconds
        late = behind_s([f for f in flows if f.link in counting], per_flow_s, ended, after, lag_s)
        return held_rate.judge(per_s, sent.seconds, found, counting, tolerance, late)

    try:
        before = sink.read()
        sink.settled(before, generator.burst(WARMING_PER_S, WARMING_S).frames)
        return held_rate.search(tolerance, counting, offer)
    finally:
        sink.close()
        generator.session.close()


@contextmanager
def frames(lab: Lab, load: LoadSpec, state: Running) -> Iterator[None]:
    """Send frames for the length of a block, and record what arrived."""
    flows: list[Stream] = streams(lab, load)
    found = state.rate_of(load)
    sink, generator = Sink(lab, str(load.to), flows), Generator(lab, load, flows)
    before = sink.read()
    rate = _rate(load, found)
    generator.begin(rate)
    state.sessions.append(generator.session)
    steady = sink.arriving(before, FIRST_S + max(flow.delay_s for flow in flows))
    yield
    state.sessions.remove(generator.session)
    per_s = sink.read().per_s(steady)
    sent = generator.end()
    generator.session.close()
    after = sink.settled(before, sent.frames)
    arrived = [
        flow.model_copy(update={"received_per_s": per_s[flow.link]})
        for flow in counted(flows, sent.frames, before, after, state.probed)
    ]
    sink.close()
    received = sum(flow.received for flow in arrived)
    achieved = {
        "sent": sent.frames,
        "refused": sent.refused,
        "sent_per_s": sent.frames / sent.seconds,
        "received": received,
        "received_per_s": received / sent.seconds,
        "slip_p99_us": sent.slip_p99_us,
    }
    if rate is not None:
        achieved["asked_per_s"] = rate
    state.achieved.append(Achieved(load, achieved, arrived, found))


def _rate(load: LoadSpec, found: HeldRate | None) -> float | None:
    """Return the frames to send per second; None means as fast as possible."""
    if found is not None:
        return found.frames_per_s * float(load.at)
    return load.frames if isinstance(load.frames, float) else None
