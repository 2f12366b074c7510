"""What a link is asked is found in its own segment, in its own direction, and nowhere else."""

from __future__ import annotations

import threading

import polars as pl
import pytest

from delaylab.lab.links import link_changes, link_engines
from delaylab.lab.start import temporary
from delaylab.resolve.lab import Lab
from delaylab.resolve.resolve import lab_from_data
from delaylab.spec.conditions.engine import Conditions
from delaylab.spec.conditions.model import ConditionsSpec
from delaylab_study.analysis.links.fidelity import TrialLink, trial_links
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.dataset.records.ways import Way
from delaylab_study.study_file.combine import Combination
from delaylab_study.study_file.loads import LoadSpec
from delaylab_study.study_file.probe import ProbeSpec
from delaylab_study.trial.measure import measure
from delaylab_study.trial.recording import Recording
from tests.doing.conftest import skip_unless_runnable
from tests.stamped import complete, narrow, packets, segments
from tests.waiting import wait_until

pytestmark = pytest.mark.root
PART = 0.1
"""The share of a delay by which its segment may be longer; no other segment is as long."""
STAMP_NS = 1_000
"""By how much the engine's stamp of a frame may be earlier than a tap's."""
PROBE = {"from": "a", "to": "b", "count": 200, "interval": "2ms", "at_rest": 5, "late": "1s"}
REQUEST, REPLY = 5_000_000, 2_000_000
GIVEN_UP = 900_000_000
ASKED = {"delay": "5ms", "from": {"b": {"delay": "2ms"}}}


def lab(kind: str, hosts: int, **link: object) -> Lab:
    names = ["left", "right"][:hosts]
    return lab_from_data(
        {
            "lab": "truth",
            "hosts": {name: {} for name in names},
            "nodes": {"a": {"kind": kind, "host": "left"}, "b": {"kind": kind, "host": names[-1]}},
            "links": [{"between": ["a", "b"], "name": "wan", **link}],
        }
    )


def trial(spec: Lab, *loads: LoadSpec, **probe: object) -> Recording:
    probed = ProbeSpec.model_validate({**PROBE, **probe})
    with temporary(spec, accounting=False) as running:
        return measure(running, Combination({}, spec, loads, probed), probe_id=7)


def measured(recording: Recording) -> pl.DataFrame:
    path = recording.record.way
    table = packets(recording.stamps, recording.probes, path)
    return table.filter(pl.col("phase") == "load")


def least_ns(table: pl.DataFrame, path: Way) -> dict[tuple[str, str, str], int]:
    """The least delay of each segment, which is that of the packet that waited least for a CPU."""
    return {
        (each.leg, each.start, each.end): int(each.delay_ns.min())
        for each in segments(table, path)
        if not each.merged
    }


def nothing_but_a_busy_machine(link: TrialLink) -> bool:
    """Whether a link held, or was late for want of CPU alone, which tests share."""
    late = ("paused", " late", "missed")
    return all(any(word in why for word in late) for why in link.verdict.why)


def links(recording: Recording) -> dict[str, TrialLink]:
    """By who sends."""
    head = {"id": "x", "index": 0, "factors": {}, "repeat": 1, "status": "ok"}
    record = TrialRecord.model_validate({**head, **dict(recording.record)})
    found = trial_links(record, [(record.way, narrow(measured(recording)))])
    return {str(link.verdict.direction.node): link for link in found}


@pytest.mark.parametrize("hosts", [1, 2])
@pytest.mark.parametrize("kind", ["netns", "native"])
def test_a_delay_is_found_where_it_was_asked(kind: str, hosts: int) -> None:
    if hosts == 1 and kind == "native":
        pytest.skip("two native nodes of one host are one stack")
    recording = trial(lab(kind, hosts, **ASKED))
    path = recording.record.way
    whole = complete(measured(recording), path)
    found = least_ns(whole, path)
    near, far = ("uplink", "uplink") if hosts == 2 else ("vif", "vif")
    there = ("request", "sender.vif", f"{'sender' if hosts == 2 else 'responder'}.{near}")
    back = ("reply", "responder.vif", f"{'responder' if hosts == 2 else 'sender'}.{far}")
    assert REQUEST - STAMP_NS <= found.pop(there) < (1 + PART) * REQUEST
    assert REPLY - STAMP_NS <= found.pop(back) < (1 + PART) * REPLY
    assert max(found.values()) < PART * REPLY, found


def test_the_delay_of_a_handshake_is_found_where_it_was_asked() -> None:
    recording = trial(lab("netns", 2, **ASKED), protocol="tcp")
    path = recording.record.way
    assert path.request[:3] == ["sender.app", "sender.stack", "sender.vif"]
    assert path.request[-1] == "responder.stack"
    whole = complete(measured(recording), path)
    assert len(whole) == PROBE["count"]
    found = least_ns(whole, path)
    there = found.pop(("request", "sender.vif", "sender.uplink"))
    back = found.pop(("reply", "responder.vif", "responder.uplink"))
    assert (1 - PART) * REQUEST < there < (1 + PART) * REQUEST
    assert (1 - PART) * REPLY < back < (1 + PART) * REPLY
    # Taps at ports stamp TCP later than the engine does. From the sender's own stamp none is early.
    from_sender = whole["request sender.uplink"] - whole["request sender.stack"]
    assert (from_sender >= REQUEST).all()
    assert max(found.values()) < PART * REPLY, found


def test_a_handshake_that_the_link_loses_has_no_round_trip() -> None:
    """Neither that of the SYN that the kernel would send again, nor of a repeated answer."""
    spec = lab("netns", 1, delay="0s", **{"from": {"a": {"loss": "10%"}, "b": {"loss": "10%"}}})
    recording = trial(spec, protocol="tcp", count=300, interval="10ms", at_rest=0)
    table = measured(recording)
    lost = table.filter(pl.col("outcome") == "lost")
    assert 0 < lost.height < 300
    assert set(table["outcome"]) == {"replied", "lost"}
    user_ns = table["reply sender.app"] - table["request sender.app"]
    assert (user_ns.is_null() == (table["outcome"] == "lost")).all()
    assert (user_ns.drop_nulls() < GIVEN_UP).all()
    # An answer that is sent again comes a second after the first; no point has its stamp.
    last = pl.max_horizontal(pl.col(f"reply {point}") for point in recording.record.way.reply)
    first = pl.col("request sender.app")
    assert table.select((last - first).max()).item() < GIVEN_UP


def test_both_witnesses_agree_and_the_verdict_names_what_was_asked() -> None:
    found = links(trial(lab("netns", 2, **ASKED)))
    for node, delay in (("a", REQUEST), ("b", REPLY)):
        link = found[node]
        assert link.verdict.direction.configured.message() == {"delay_ns": delay}
        assert link.verdict.direction.entered.frames >= 200
        assert link.measured is not None
        assert link.measured.error is not None
        late = link.verdict.direction.late
        assert late.p50_ns is not None
        assert late.p99_ns is not None
        assert link.measured.error.median <= late.p99_ns / 1000
        assert late.p50_ns / 1000 <= link.measured.error.largest
        assert nothing_but_a_busy_machine(link)


def test_loss_and_duplicates_are_those_asked() -> None:
    spec = lab("netns", 1, delay="0s", **{"from": {"a": {"loss": "5%", "duplicate": "10%"}}})
    recording = trial(spec, count=4000, interval="500us", at_rest=0, late="2s")
    link = links(recording)["a"]
    assert link.verdict.shares.keys() == {"loss", "duplicate"}
    for name, check in link.verdict.shares.items():
        assert check.agrees, check.text(name)
    lost = measured(recording).filter(pl.col("outcome") == "lost").height
    # A neighbour that is looked up anew is a frame that the link may lose, too.
    assert link.verdict.direction.dropped.loss - 2 <= lost <= link.verdict.direction.dropped.loss
    assert links(recording)["b"].verdict.direction.dropped.loss == 0


def test_a_queue_at_a_rate_fills_and_its_rate_is_not_exceeded() -> None:
    load = LoadSpec.model_validate({"network": "send", "on": "a", "to": "b"})
    spec = lab("netns", 1, delay="1ms", rate="10Mbit", queue=5)
    recording = trial(spec, load, count=300, interval="10ms", late="1s")
    link = links(recording)["a"]
    assert link.verdict.rate is not None
    assert not link.verdict.rate.exceeded
    # A busy machine may leave the link empty for a while, when its sender waits for a CPU.
    assert link.verdict.rate.achieved > 0.3 * link.verdict.rate.configured
    assert link.verdict.direction.dropped.queue > 0
    assert nothing_but_a_busy_machine(link)
    assert link.measured is not None
    assert link.measured.error is None, "behind a rate the delay varies by right"
    # 5 full frames at 10 Mbit/s are 6 ms. The engine tells how late it was in addition.
    late_us = (link.verdict.direction.late.max_ns or 0) / 1000
    assert 4_000 < link.measured.p99 < 30_000 + late_us


def test_a_timeline_begins_with_the_load_and_is_seen_in_the_record() -> None:
    spec = lab("netns", 1, delay="1ms").written.model_dump(mode="json", by_alias=True)
    change = {"at": "1s", "link": "wan", "node": "a", "set": {"delay": "9ms"}}
    spec = {**spec, "timeline": [change]}
    recording = trial(lab_from_data(spec), count=1000, interval="2ms")
    table = measured(recording)
    delay = (table["request responder.vif"] - table["request sender.vif"]).to_numpy() / 1e6
    assert 1 <= delay.min() < 1.5
    assert 9 <= delay[-50:].min() < 9.5
    direction = links(recording)["a"].verdict.direction
    assert direction.configured_first == Conditions(delay_ns=1_000_000)
    assert direction.configured == Conditions(delay_ns=9_000_000)
    assert links(recording)["b"].verdict.direction.steady


def test_a_link_set_during_a_trial_is_a_doubt_and_leaves_it_out_of_claims() -> None:
    spec = lab("netns", 1, delay="1ms")
    probed = ProbeSpec.model_validate({**PROBE, "count": 500, "interval": "4ms"})
    with temporary(spec, accounting=False) as running:
        began = link_engines.reports(running)[0].since_ns

        def meddle() -> None:
            """Change the link once the counts have begun anew, which is when the load begins."""
            wait_until(lambda: link_engines.reports(running)[0].since_ns != began)
            slower = ConditionsSpec.model_validate({"delay": "3ms"})
            link_changes.change(running, "wan", "a", slower)

        meddler = threading.Thread(target=meddle)
        meddler.start()
        meddled = measure(running, Combination({}, spec, (), probed), probe_id=7)
        meddler.join()
        alone = measure(running, Combination({}, spec, (), probed), probe_id=8)
    (found,) = [each for each in meddled.record.warnings if each.kind == "conditions-changed"]
    assert (found.values["link"], found.values["changes"]) == ("wan", 1)
    # The next trial has the file's conditions again.
    assert not [each for each in alone.record.warnings if each.kind == "conditions-changed"]
    assert least_ns(measured(alone), alone.record.way) != {}
    assert links(alone)["a"].verdict.direction.configured == Conditions(delay_ns=1_000_000)


def test_a_guest_that_leaves_checksums_to_its_card_is_heard() -> None:
    """User-Mode Linux cannot do otherwise; the engine completes them."""
    skip_unless_runnable("uml")
    spec = lab("netns", 1, delay="3ms").written.model_dump(mode="json", by_alias=True)
    spec["nodes"]["a"]["kind"] = "uml"
    recording = trial(lab_from_data(spec), protocol="udp", count=50, interval="20ms")
    assert set(measured(recording)["outcome"]) == {"replied"}
    assert links(recording)["a"].verdict.direction.dropped.oversize == 0
