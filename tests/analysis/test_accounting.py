"""Every scheduled packet is accounted for at every point."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from delaylab.analysis.packets import segments
from delaylab.analysis.packets.accounting import NOWHERE, account
from delaylab.dataset.records.trial import TrialRecord
from tests import synthetic
from tests.synthetic import Condition

STATIONS = Condition().stations()


@settings(max_examples=40, deadline=None)
@given(
    lost=st.dictionaries(st.integers(0, 39), st.sampled_from(STATIONS[:-1]), max_size=15),
    unseen=st.lists(st.tuples(st.integers(0, 39), st.sampled_from(STATIONS)), max_size=20),
)
def test_every_packet_is_seen_passed_or_lost_at_every_point(
    lost: dict[int, tuple[str, str]], unseen: list[tuple[int, tuple[str, str]]]
) -> None:
    condition = Condition(
        packets=40, lost_after=lost, unseen=[(seq, *station) for seq, station in unseen]
    )
    trial = TrialRecord.model_validate(synthetic.trial(condition, 0))
    packets = segments.packets(*synthetic.tables(condition), trial.path)
    found = account(packets, [trial])
    assert found.scheduled == 40
    assert len(found.points) == len(STATIONS)
    assert all(p.seen + p.unseen + p.lost == 40 for p in found.points)
    assert sum(found.outcomes.values()) == 40
    assert sum(found.lost_after.values()) == found.points[-1].lost


def test_losses_are_named_by_the_last_point_that_saw_the_packet() -> None:
    condition = Condition(
        packets=40,
        lost_after={1: ("request", "wire"), 2: ("request", "wire"), 3: ("reply", "sender.vif")},
        unseen=[(5, *station) for station in STATIONS],
        absent={"responder.stack": "no socket"},
    )
    record = synthetic.trial(condition, 0) | {"responder_icmp": {"OutErrors": 2}}
    trial = TrialRecord.model_validate(record)
    found = account(segments.packets(*synthetic.tables(condition), trial.path), [trial])
    assert found.lost_after == {NOWHERE: 1, "request wire": 2, "reply sender.vif": 1}
    assert found.absent == {"responder.stack": "no socket"}
    assert found.responder_dropped == 2
