"""Names of segments: the machines on which they begin and end."""

from __future__ import annotations

import pytest

from delaylab_study.analysis.packets.named import named
from delaylab_study.dataset.records.trial import TrialRecord
from tests import stamped, synthetic
from tests.synthetic import Condition

ON_ONE = {"sender.uplink": {"at": "host.sut"}, "wire": {"at": "wire"}}
ON_TWO = {"sender.uplink": {"at": "wire"}, "wire": {"at": "wire.m1"}}
"""The uplink stands for the point where packets leave this machine."""


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        (ON_ONE, {("sender.uplink", "wire"): ""}),
        (
            ON_TWO,
            {
                ("sender.vif", "sender.uplink"): "local",
                ("sender.uplink", "wire"): "local to m1",
                ("wire", "sender.uplink"): "m1 to local",
            },
        ),
    ],
)
def test_a_segment_between_machines_names_them(
    places: dict[str, dict[str, str]], expected: dict[tuple[str, str], str]
) -> None:
    condition = Condition(packets=20)
    record = {**synthetic.trial(condition, 0), "places": places}
    trial = TrialRecord.model_validate(record)
    table = stamped.packets(*synthetic.tables(condition), trial.way)
    found = {(part.start, part.end): part.at for part in named(stamped.narrow(table), trial)}
    assert expected.items() <= found.items(), found
    assert {at for ends, at in found.items() if ends not in expected} <= {"", "local", "m1"}
