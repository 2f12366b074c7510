"""Requests to a service at a rate, in an open loop: none waits for the answer to another."""

from __future__ import annotations

import math
import select
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from delaylab.api.agents import Probe, ProbeDone, Result, Session
from delaylab.api.plans import node_path
from delaylab.api.running import LiveLab
from delaylab_study.loads.asking import agent_protocol, ask
from delaylab_study.loads.generator import AS_A_PROBE
from delaylab_study.loads.meter import address_of
from delaylab_study.loads.programs import START_DEADLINE_S, STOP_DEADLINE_S
from delaylab_study.loads.state import Achieved, RunningLoads
from delaylab_study.study_file.loads import RequestsLoad

MOST = 500_000
"""The most requests of a load in a trial: the agent has memory for each from the beginning."""
UNKNOWN_S, TIMES, SPARE_S = 600.0, 2.0, 60.0
"""The time for which there are requests if nobody knows how long the load will last. Otherwise it
is so many times the foreseen one, and so much more."""
REPLIED, FAILED, REFUSED, UNDER_WAY = "replied", "failed", "refused", "under-way"
UNSENT = ("unsent", REFUSED)


class Requests:
    """Requests that are sent at a rate."""

    def __init__(self, session: Session, load: RequestsLoad, address: str, most_s: float) -> None:
        self._session = session
        self._ended = False
        count = min(MOST, math.ceil(load.requests * most_s))
        request = Probe(
            probe=AS_A_PROBE,
            protocol=agent_protocol(load),
            to=address,
            port=load.to_port,
            count=count,
            interval_ns=round(1e9 / load.requests),
            size=0,
            linger_ns=load.late.ns,
            late_ns=load.late.ns,
            stamps=(),
            ask=ask(load),
        )
        self._result: Result[ProbeDone] = session.start(request)
        session.event(START_DEADLINE_S)
        self._began_s = time.monotonic()

    def fileno(self) -> int:
        """Return the descriptor that is readable when there is something to check."""
        return self._session.fileno()

    def check(self) -> bool:
        """Read what has come; return False once all requests were sent, more than were foreseen."""
        self._ended = self._ended or self._session.poll_done()
        return not self._ended

    def end(self) -> dict[str, float]:
        """Stop sending; return what was sent, and what became of it."""
        while not self._ended and (self._session.has_frames or select.select([self], [], [], 0)[0]):
            self.check()
        seconds = time.monotonic() - self._began_s
        if not self._ended:
            self._session.stop()
            self._session.finish(STOP_DEADLINE_S)
        fates = Counter(_fates(self._result))
        sent = sum(count for fate, count in fates.items() if fate not in UNSENT)
        # Nobody knows what will become of those that were under way at the end.
        known = sent - fates[UNDER_WAY]
        return {
            "sent": sent,
            "refused": fates[REFUSED],
            "sent_per_s": sent / max(seconds, 1e-9),
            "answered": fates[REPLIED],
            "failed": fates[FAILED],
            "unanswered": known - fates[REPLIED] - fates[FAILED],
            "under_way": fates[UNDER_WAY],
            **({"answered_share": fates[REPLIED] / known} if known else {}),
        }


def _fates(result: Result[ProbeDone]) -> Iterator[str]:
    """Yield what became of each request; an answer of which more is to come is under way."""
    whole = {
        seq
        for part in result.rows("exchanges")
        for seq, ns in zip(part.numbers["seq"], part.some_numbers["whole_ns"], strict=True)
        if ns is not None
    }
    for part in result.rows("packets"):
        columns = part.numbers["seq"], part.texts["outcome"], part.some_texts["error"]
        for seq, fate, error in zip(*columns, strict=True):
            if fate == REPLIED and error is not None:
                yield FAILED
            else:
                yield UNDER_WAY if fate == REPLIED and seq not in whole else fate


@contextmanager
def requests(lab: LiveLab, load: RequestsLoad, state: RunningLoads) -> Iterator[None]:
    """Send requests for the length of a block, and record what became of them."""
    link = node_path(lab.plan, lab.spec, load.on, load.to).links[-1]
    session = lab.node_session(load.on)
    lasts_s = state.foreseen_s
    most_s = UNKNOWN_S if lasts_s is None else TIMES * lasts_s + SPARE_S
    running = Requests(session, load, address_of(lab, load.to, link), most_s)
    state.sessions.append(running)
    yield
    state.sessions.remove(running)
    achieved = running.end()
    session.close()
    asked = {"asked_per_s": load.requests, "least_answered": float(load.answered)}
    state.achieved.append(Achieved(load, {**achieved, **asked}))
