"""Real guests: their clocks are aligned, and clocks read at the same moment bear that out."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest

from delaylab.agent.wire.sessions import Exec
from delaylab.lab.start import temporary
from delaylab.resolve.lab import Lab
from delaylab.resolve.resolve import lab_from_data
from delaylab.units import Duration
from delaylab.verbs.ping import run as ping
from delaylab.verbs.ping.result import PingPacket
from delaylab_study.analysis.clocks.check import checks
from delaylab_study.analysis.clocks.stations import Station
from delaylab_study.analysis.packets import segments
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.study_file.combine import Combination
from delaylab_study.study_file.probe import ProbeSpec
from delaylab_study.trial.measure import measure
from tests.doing.conftest import skip_unless_runnable

pytestmark = pytest.mark.root
# What a busy machine may leave open; at rest it is tens of µs.
BOUND_NS = 20_000_000


def guests(kind: str) -> Lab:
    """A guest, and beyond the wire another: three clocks with the machine's."""
    return lab_from_data(
        {
            "lab": "clocks",
            "hosts": {"sut": {}, "target": {}},
            "nodes": {
                "probe": {"kind": kind, "host": "sut"},
                "echo": {"kind": kind, "host": "target"},
            },
            "links": [{"join": ["probe", "echo"], "name": "lan"}],
        }
    )


@pytest.mark.parametrize("kind", ["uml", "qemu"])
def test_the_clocks_of_guests_are_aligned(kind: str) -> None:
    skip_unless_runnable(kind)
    probe = {"from": "probe", "to": "echo", "protocol": "udp", "count": 300, "at_rest": 30}
    spec = ProbeSpec.model_validate({**probe, "interval": "10ms"})
    with temporary(guests(kind)) as lab:
        found = measure(lab, Combination({}, lab.spec, (), spec), probe_id=5)
    head = {"id": "x", "index": 0, "factors": {}, "repeat": 1, "status": "ok"}
    trial = TrialRecord.model_validate({**head, **dict(found.record)})
    machine = trial.clock_readings[0].reference
    packets, alignment = segments.aligned(found.stamps, found.probes, trial.way, machine)
    assert [hop.fit.why for hop in alignment.hops] == ["", ""]
    assert all(hop.fit.bound_ns < BOUND_NS for hop in alignment.hops)
    read = checks(alignment, trial.clock_readings)
    assert len(read) == 2
    for check in read:
        assert check.n >= 4
        assert check.agrees, f"{check.error_ns} ± {check.within_ns} ns"
    answered = packets.complete(trial.way)
    total = np.zeros(len(answered), dtype=np.int64)
    for part in segments.segments(answered, trial.way):
        np.add.at(total, part.rows, part.delay_ns)
    user = answered.between(Station("request", "sender.app"), Station("reply", "sender.app"))
    assert user is not None
    assert total.tolist() == user.to_list()


def test_a_clock_that_is_set_changes_no_schedule() -> None:
    """A guest's clock is its own, so it may be set: packets keep their times, and ping says so."""
    skip_unless_runnable("uml")
    step_s = 240  # more than twice what a busy machine takes for a dozen packets
    spec = lab_from_data(
        {
            "lab": "stepped",
            "nodes": {"a": {"kind": "uml"}, "b": {}},
            "links": [{"between": ["a", "b"], "name": "wire"}],
        }
    )
    with temporary(spec) as lab:
        to = lab.plan.nodes["b"].attachments[0].address
        options = ping.PingOptions(to, 100, Duration.parse("100ms"), 56, None, realtime=True)
        setter = lab.node_session("a")
        for by_s in (-step_s, step_s):
            since: list[int] = []

            def set_clock(packet: PingPacket, by_s: int = by_s, since: list[int] = since) -> None:
                if packet.seq == 3:
                    shell = f"date -s @$(($(date +%s) + {by_s}))"
                    assert setter.call(Exec(argv=("sh", "-c", shell))).done.exit == 0
                if packet.seq >= 3:
                    since.append(packet.seq)
                # On a busy machine the clock may be set when the tenth packet has long been sent.
                if len(since) == 10:
                    raise KeyboardInterrupt

            began_s = time.monotonic()
            result = ping.run(options, session=lab.node_session("a"), watch=set_clock)
            assert time.monotonic() - began_s < step_s / 2
            assert result.interrupted
            # The interrupt may come before the last reply.
            assert 12 <= result.sent <= result.replied + 1
            assert result.late == 0
            half_ns = step_s * 1e9 / 2
            for spread in (result.rtt_user_ns, result.slip_ns):
                assert spread is not None
                assert spread.min >= 0
                assert spread.max < half_ns
            (said,) = [each.message for each in result.doubts if each.kind == "clock-step"]
            found = re.fullmatch(r"the sender's clock was set by (\S+) s while it sent", said)
            assert found, said
            assert abs(float(found[1]) - by_s) < step_s / 2
        setter.close()
