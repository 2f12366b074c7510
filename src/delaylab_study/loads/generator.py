"""The agent's generator of frames, as loads use it."""

from __future__ import annotations

from dataclasses import dataclass

from delaylab.api.agents import Generate, GenerateDone, Session
from delaylab.api.running import LiveLab
from delaylab_study.loads.programs import START_DEADLINE_S, STOP_DEADLINE_S
from delaylab_study.loads.streams import ArrivingFlow
from delaylab_study.study_file.loads import CHECK_SEQUENCE, FramesLoad

WITHOUT_END = (1 << 32) - 1
AS_A_PROBE = 1 << 30
"""A probe number that no trial has, so that the taps of a trial do not stamp these frames."""


@dataclass(frozen=True)
class GeneratorResult:
    """The generator's result: frames sent, frames its kernel refused, seconds, p99 slip (µs).

    `began_ns` and `ended_ns` are when sending began and ended, by the clock of its agent.
    """

    frames: int
    refused: int
    seconds: float
    slip_p99_us: float
    began_ns: int
    ended_ns: int

    @classmethod
    def of(cls, done: GenerateDone) -> GeneratorResult:
        """Return the agent's answer as a result."""
        seconds = max((done.ended_ns - done.began_ns) / 1e9, 1e-9)
        slip_us = (done.slip.p99_ns or 0) / 1000
        return cls(done.sent, done.refused, seconds, slip_us, done.began_ns, done.ended_ns)


class Generator:
    """A generator that sends frames of several flows in turn."""

    def __init__(
        self, lab: LiveLab, load: FramesLoad, flows: list[ArrivingFlow], port: int
    ) -> None:
        self.session: Session = lab.node_session(load.on)
        self._load, self._flows, self._port = load, flows, port

    def begin(self, per_s: float | None, count: int = WITHOUT_END) -> None:
        """Start to send frames at a rate in frames/s; None means as fast as possible."""
        request = Generate(
            flows=[each.flow for each in self._flows],
            probe=AS_A_PROBE,
            count=count,
            interval_ns=0 if per_s is None else round(1e9 / per_s),
            size=self._load.size - CHECK_SEQUENCE,
            port=self._port,
            realtime=self._load.realtime,
        )
        self._result = self.session.start(request)
        self.session.event(START_DEADLINE_S)

    def send_one_each(self) -> GeneratorResult:
        """Send one frame of each flow at once, and return the result."""
        self.begin(None, len(self._flows))
        return self._finished()

    def end(self) -> GeneratorResult:
        """Stop sending and return the result."""
        self.session.stop()
        return self._finished()

    def _finished(self) -> GeneratorResult:
        self.session.finish(STOP_DEADLINE_S)
        return GeneratorResult.of(self._result.done)
