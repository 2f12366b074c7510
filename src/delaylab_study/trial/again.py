"""Packets that are sent again, since the use of the sender's machine may have biased others.

They come after the packets on schedule, in rounds of a second, and each round waits until the
machine is clean: loads go on meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Literal

from delaylab.api.agents import Loop, Watched
from delaylab.api.lab import Lab
from delaylab.api.names import AgentName, host_agent, node_agent
from delaylab.api.running import LiveLab
from delaylab.api.units import Duration
from delaylab.api.verdicts import (
    BIAS_LOOK_S,
    BIAS_ROUND_S,
    BIAS_SAMPLES_S,
    EvidenceByUse,
    Meanwhile,
    is_clean_now,
    traffic_of,
)
from delaylab_study.dataset.bias import SENT_AGAIN, reasons_of, take, times_of
from delaylab_study.dataset.records.feedback import Feedback
from delaylab_study.study_file.probe import ProbeSpec
from delaylab_study.trial.frames import decode
from delaylab_study.trial.instruments import Instruments
from delaylab_study.trial.sender import Sender

Ended = Literal["enough", "budget", "deadline", "unknown"]


class SendersMachine:
    """The machine of a probe's sender: its use, as its recorder reports it during the trial."""

    def __init__(
        self,
        lab: LiveLab,
        probe: ProbeSpec,
        instruments: Instruments,
        acting: Sequence[Watched],
    ) -> None:
        host, agent = lab.spec.host_of(probe.sender), node_agent(probe.sender)
        self.name = lab.machine_of(agent).name
        self.cpus = cpus_of(lab.spec, host)
        self.places = [AgentName(name).place for name in (agent, host_agent(host))]
        self.own_bps = own_bps(probe)
        self.meanwhile = Meanwhile(self.cpus)
        self.evidence = EvidenceByUse(self.meanwhile, self.own_bps)
        self._session, self._result = instruments.machines.recorders[self.name]
        self._ahead_ns = instruments.machines.ahead_ns.get(self.name, 0)
        self._watched = [*instruments.all(), *acting]
        self._taken = 0

    @property
    def now_ns(self) -> int:
        """Return the time by the machine's clock."""
        return time.time_ns() + self._ahead_ns

    def wait(self, until_s: float) -> None:
        """Wait until a time of the monotonic clock; raise at once if an instrument fails."""
        loop = Loop()
        for each in self._watched:
            loop.add(each, each.check)
        loop.run(lambda: False, until_s)
        self.look()

    def look(self) -> None:
        """Take the samples that have come since the last look."""
        if "hosts" not in self._result.parts:
            return
        new = self._result.read(
            "hosts",
            lambda form, parts: [decode(form.schema, each) for each in parts[self._taken :]],
        )
        self._taken += len(new)
        for part in new:
            take(self.meanwhile, part, self.places)

    def is_clean(self) -> bool:
        """Return True if a packet that was sent at the last sample would be clean."""
        return is_clean_now(self.evidence, self.now_ns)


def cpus_of(lab: Lab, host: str) -> list[int]:
    """Return the CPUs of a host; none if it may use all of its machine's."""
    spec = lab.hosts.get(host)
    return [*spec.cpus] if spec is not None and spec.cpus else []


def own_bps(probe: ProbeSpec) -> float | None:
    """Return the most traffic of a probe itself; None if its answers may be of any size."""
    if probe.is_stream or not isinstance(probe.pace, Duration):
        return None
    return traffic_of(probe.size, probe.pace.seconds)


def send_again(
    lab: LiveLab,
    probe: ProbeSpec,
    sender: Sender,
    instruments: Instruments,
    acting: Sequence[Watched],
) -> Feedback:
    """Send as many packets again as were biased, while that may help; return what was done.

    The packets on schedule have just been sent. `acting` are the sessions of loads and work.
    """
    if probe.clean is None or not isinstance(probe.pace, Duration):
        raise ValueError("the probe has no `clean`, or no interval")
    machine = SendersMachine(lab, probe, instruments, acting)
    again = _Again(probe, probe.pace, sender, machine, acting)
    ended_by = again.to_the_end(probe.clean.lasts_s(probe.count, probe.pace))
    return Feedback(
        asked=probe.count,
        budget=again.budget,
        sent=again.sent,
        waited_ns=round(again.waited_s * 1e9),
        ended_by=ended_by,
        machine=machine.name,
        cpus=machine.cpus,
        places=machine.places,
        own_bps=machine.own_bps,
    )


class _Again:
    """The rounds so far, and the clean packets that are still missing."""

    def __init__(
        self,
        probe: ProbeSpec,
        interval: Duration,
        sender: Sender,
        machine: SendersMachine,
        acting: Sequence[Watched],
    ) -> None:
        self.budget = probe.clean.most(probe.count) if probe.clean else 0
        self.sent, self.waited_s = 0, 0.0
        self._interval, self._sender, self._machine = interval, sender, machine
        self._acting, self._missing = acting, probe.count

    def to_the_end(self, lasts_s: float) -> Ended:
        """Judge the last packets and send others; return why no more were sent."""
        until_s = time.monotonic() + lasts_s
        of_round = max(1, round(BIAS_ROUND_S / self._interval.seconds))
        while True:
            self._judge()
            left = self.budget - self.sent
            if not self._missing:
                return "enough"
            if not left:
                return "budget"
            if not self._becomes_clean(until_s):
                return "deadline" if self._machine.evidence.span_ns else "unknown"
            count = min(left, self._missing, of_round)
            self._sender.run(SENT_AGAIN, count, self._interval, self._acting)
            self.sent += count

    def _judge(self) -> None:
        """Judge the packets that were sent last, once the samples reach their replies."""
        probes, stamps = self._sender.packets[-1], self._sender.stamps[-1]
        until_ns = max((time.until_ns for _, time in times_of(probes, stamps)), default=0)
        until_s = time.monotonic() + BIAS_SAMPLES_S
        self._machine.look()
        while time.monotonic() < until_s and not self._reaches(until_ns):
            self._machine.wait(min(until_s, time.monotonic() + BIAS_LOOK_S))
        reasons = reasons_of(self._machine.evidence, probes, stamps).values()
        kept = sum(each is not None and not each for each in reasons)
        self._missing = max(0, self._missing - kept)

    def _reaches(self, time_ns: int) -> bool:
        span = self._machine.evidence.span_ns
        return span is not None and span[1] >= time_ns

    def _becomes_clean(self, until_s: float) -> bool:
        """Wait for the next packet's time, and until the machine is clean; return False if not."""
        last_ns = int(str(self._sender.packets[-1]["intended_ns"].max()))
        due_s = time.monotonic() + (last_ns - self._machine.now_ns) / 1e9 + self._interval.seconds
        self._machine.wait(min(until_s, due_s))
        began_s = time.monotonic()
        found = self._machine.is_clean()
        while not found and time.monotonic() < until_s:
            self._machine.wait(min(until_s, time.monotonic() + BIAS_LOOK_S))
            found = self._machine.is_clean()
        self.waited_s += time.monotonic() - began_s
        return found
