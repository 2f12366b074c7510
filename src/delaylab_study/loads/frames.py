"""UDP frames at a fixed rate one way, in an open loop: nobody answers them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from delaylab.api.running import LiveLab
from delaylab_study.dataset.records.rates import Burst, HeldRate
from delaylab_study.loads import held_rate
from delaylab_study.loads.bursts import Sending
from delaylab_study.loads.state import Achieved, RunningLoads
from delaylab_study.loads.streams import counted, judged
from delaylab_study.study_file.loads import FramesLoad, HeldFramesLoad

READINGS, IN_TIME_S = 3, held_rate.BEHIND_S / 2
"""A burst whose frames seem to have come late is sent again, so many times in all, if the sink was
read later than this after its end: on a busy machine the two cannot be told apart.
"""
FIRST_S = 0.5
"""The longest time in seconds that a load waits for its first frames, beyond its links' delays."""


def find_rate(lab: LiveLab, load: HeldFramesLoad) -> HeldRate:
    """Find the highest rate of a load of frames that is held, by bursts."""
    sending = Sending(lab, load)
    flows = sending.flows
    tolerance, counting = float(load.lost), judged(flows)

    def offer(per_s: float | None, seconds: float) -> Burst:
        for _ in range(READINGS):
            done = sending.burst(per_s, seconds)
            late = sending.behind_s(done, counting)
            if late <= held_rate.BEHIND_S or done.lag_s <= IN_TIME_S:
                break
        found = counted(flows, done.sent.frames, done.before, done.after, None, done.ordered)
        return held_rate.judge(per_s, done.sent.seconds, found, counting, tolerance, late)

    try:
        sending.warm()
        sending.measure_at_rest()
        found = held_rate.search(tolerance, counting, offer)
        return found.model_copy(update={"at_rest_s": sending.at_rest_s})
    finally:
        sending.close()


@contextmanager
def frames(lab: LiveLab, load: FramesLoad, state: RunningLoads) -> Iterator[None]:
    """Send frames for the length of a block, and record what arrived."""
    found, sending = state.rate_of(load), Sending(lab, load)
    sink, generator, flows = sending.sink, sending.generator, sending.flows
    sending.warm()
    before = sink.read()
    rate = _rate(load, found)
    generator.begin(rate)
    state.sessions.append(generator.session)
    steady = sink.arriving(before, FIRST_S + max(flow.delay_s for flow in flows))
    yield
    state.sessions.remove(generator.session)
    per_s = sink.read().per_s(steady)
    sent = generator.end()
    after = sink.settled(before, sent.frames)
    counts = counted(flows, sent.frames, before, after, state.probed, sink.ordered())
    arrived = [flow.model_copy(update={"received_per_s": per_s[flow.link]}) for flow in counts]
    sending.close()
    received = sum(flow.received for flow in arrived)
    achieved = {
        "sent": sent.frames,
        "refused": sent.refused,
        "sent_per_s": sent.frames / sent.seconds,
        "received": received,
        "received_per_s": received / sent.seconds,
        "slip_p99_us": sent.slip_p99_us,
    }
    late = [flow.reordered for flow in arrived if flow.reordered is not None]
    if len(late) == len(arrived):
        achieved["reordered"] = sum(late)
    if rate is not None:
        achieved["asked_per_s"] = rate
    state.achieved.append(Achieved(load, achieved, arrived, found))


def _rate(load: FramesLoad, rate: HeldRate | None) -> float | None:
    """Return the frames to send per second; None means as fast as possible."""
    if isinstance(load, HeldFramesLoad) and rate is not None:
        return rate.frames_per_s * float(load.at)
    return load.frames if isinstance(load.frames, float) else None
