"""Real guests: their clocks are aligned, and clocks read at the same moment bear that out."""

from __future__ import annotations

import numpy as np
import pytest

from delaylab.analysis.clocks.check import checks
from delaylab.analysis.packets import segments
from delaylab.dataset.records.trial import TrialRecord
from delaylab.lab.start import temporary
from delaylab.spec.combine import Combination
from delaylab.spec.lab import LabSpec
from delaylab.spec.study import ProbeSpec
from delaylab.trial.measure import measure
from tests.doing.conftest import skip_unless_runnable

pytestmark = pytest.mark.root
# What a busy machine may leave open; at rest it is tens of µs.
BOUND_NS = 20_000_000


def guests(kind: str) -> LabSpec:
    """A guest, and beyond the wire another: three clocks with the machine's."""
    return LabSpec.model_validate(
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
    table, alignment = segments.aligned(found.stamps, found.probes, trial.path, machine)
    assert [hop.fit.why for hop in alignment.hops] == ["", ""]
    assert all(hop.fit.bound_ns < BOUND_NS for hop in alignment.hops)
    read = checks(alignment, trial.clock_readings)
    assert len(read) == 2
    for check in read:
        assert check.n >= 4
        assert check.agrees, f"{check.error_ns} ± {check.within_ns} ns"
    answered = segments.complete(table, trial.path)
    total = np.zeros(len(answered), dtype=np.int64)
    for part in segments.segments(answered, trial.path):
        np.add.at(total, part.rows, part.delay_ns)
    user = answered["reply sender.app"] - answered["request sender.app"]
    assert total.tolist() == user.to_list()
