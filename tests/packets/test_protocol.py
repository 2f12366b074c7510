"""The types of requests and answers are those of the agent: a field changed on one side fails here.

Each request is sent with all its fields to a real agent, which refuses what it does not know. Each
answer is compared, name by name, with its type.
"""

from __future__ import annotations

import os
import time
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from hypothesis import given, settings
from pydantic import BaseModel
from tools.agent_protocol import protocol

from delaylab.agent import (
    link_reports,
    machine_requests,
    measuring_requests,
    observing_requests,
)
from delaylab.agent.events import Event
from delaylab.agent.requests import Request
from delaylab.agent.wire import (
    links,
    loads,
    machines,
    measuring,
    observing,
    programs,
    sessions,
    tapping,
)
from delaylab.lab.links import link_engines
from delaylab.lab.start import temporary
from delaylab.plan.conditions.engine_links import Change
from delaylab.records.doubts import Doubt
from delaylab.records.links import EngineReport
from delaylab.resolve.resolve import lab_from_data
from delaylab.spec.conditions.engine import (
    Codel,
    Conditions,
    DelayTrace,
    EngineForm,
    GilbertElliott,
    Independent,
    Jitter,
    Opportunities,
    Pattern,
    Queue,
    Rate,
    RateTrace,
    Red,
    Reorder,
    Table,
)
from delaylab.spec.conditions.merge import merge
from delaylab.spec.conditions.model import ConditionsSpec
from tests.ground.test_condition_properties import conditions
from tests.packets.agents import Agent, Pair, mac
from tests.plain import plain

ADDED = {"host", "agent", "engine"}
HERE: dict[type[BaseModel], set[str]] = {EngineReport: ADDED, link_reports.SentReport: ADDED}
"""Fields that this side adds to an answer."""
ONLY_HERE = {"nodes", "underlay"}
OTHERWISE = {"tap": {"sockets"}}
"""Fields that exclude others: tests/packets/test_service_taps.py has them."""
FLOW = loads.Flow("left", mac(2), "10.9.0.1", "10.9.0.2")
FILTER = tapping.TapFilter("icmp", 4, probe=7, ident=0, port=0, packets=3)


def whole(pcap: Path) -> dict[str, Request[Any]]:
    """A request of each operation, with no field left out."""
    return {
        "hello": sessions.Hello(),
        "exec": sessions.Exec(
            argv=["true"],
            env={"A": "b"},
            cwd="/",
            tty=sessions.Terminal(25, 80, "dumb"),
            stdin=True,
            window=1 << 20,
            hold=False,
        ),
        "start": programs.Start(
            within=[str(pcap.parent)],
            files=[programs.NodeFile(f"{pcap}.text", "text", 0o644, "root:root")],
            programs=[],
            notify_later=True,
            folder=str(pcap.parent),
        ),
        "notify": programs.Notify(folder=str(pcap.parent)),
        "programs": programs.Programs(folder=str(pcap.parent)),
        "hiccups": measuring_requests.Hiccups(longest=3),
        "cpus": measuring_requests.Cpus(keep=1000),
        "compute": measuring_requests.Compute(units=3, every_ns=1, hold=False),
        "probe": measuring_requests.Probe(
            probe=7,
            protocol="http",
            to="10.9.0.2",
            source="10.9.0.1",
            port=80,
            ident=0,
            count=3,
            interval_ns=1_000_000,
            size=56,
            timeout_ns=0,
            first_seq=0,
            linger_ns=200_000_000,
            late_ns=200_000_000,
            stamps=["app", "qdisc", "stack"],
            realtime=False,
            batch=1,
            mode="socket",
            ttl=64,
            tos=8,
            interface="left",
            live=True,
            linger_rtt=True,
            resolve=True,
            hops=0,
            tcx=False,
            ask=measuring.Ask(path="/"),
            parts_ns=1,
        ),
        "reflect": measuring_requests.Reflect(
            port=0, ip=4, stamps=True, probe=7, protocol="udp", packets=3
        ),
        "tap": measuring_requests.Tap(
            interfaces=[tapping.TapInterface("left", "wire")],
            filter=FILTER,
            pcap=str(pcap),
            tcx=False,
            parts_ns=1,
            together=False,
            repeats=5,
        ),
        "watch": measuring_requests.Watch(
            interval_ns=10_000_000,
            places=[measuring.WatchPlace("here", os.getpid(), {})],
            without_process=os.getpid(),
            brief=True,
            parts_ns=1,
        ),
        "observe": observing_requests.Observe(
            places=[observing.ObservePlace("here", os.getpid())],
            room_bytes=1 << 20,
            parts_ns=1,
        ),
        "clock": measuring.Clock(),
        "addresses": sessions.Addresses(),
        "route": measuring.FindRoute(to="10.9.0.2"),
        "neighbours": links.Neighbours(on="lo", tries=3, versions=[4, 6]),
        "generate": loads.Generate(
            flows=[FLOW], probe=1, count=5, interval_ns=0, size=60, port=9, batch=2, realtime=False
        ),
        "discard": loads.Discard(port=0, interfaces=["left"]),
        "send-frames": loads.SendFrames(
            nonce=1,
            frames=[loads.CrossingFrame(1, "left", mac(1), mac(2), 46)],
            rounds=1,
        ),
        "await-frames": loads.AwaitFrames(
            nonce=1, frames=[loads.AwaitedFrame(1, "left")], timeout_ns=1_000_000
        ),
        "counters": measuring.Counters(),
        "queues": measuring.Queues(on=["left", "no-such-one"]),
        "machine": machines.DescribeMachine(programs=["no-such-program"]),
        "processes": machines.Processes(
            pids=[os.getpid()], children=[machines.Child(os.getpid(), 1)]
        ),
        "stored": machines.Stored(names=["own-1/file"]),
        "labs": machine_requests.Labs(),
    }


LISTENERS = ("reflect", "tap", "watch", "observe", "discard", "send-frames", "hiccups", "cpus")


def unknown(raw: Any, kind: Any) -> list[str]:
    """Names in an answer that its type lacks, and names of the type that the answer lacks."""
    if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
        inner = [part for part in get_args(kind) if part is not type(None)]
        if isinstance(raw, list):
            return [line for each in raw for part in inner for line in unknown(each, part)]
        if get_origin(kind) is dict:
            return [line for each in raw.values() for line in unknown(each, inner[-1])]
        if len(inner) == 1 and get_origin(inner[0]) is dict and raw is not None:
            return unknown(raw, inner[0])
        models = [part for part in inner if _is_model(part)]
        return unknown(raw, models[0]) if isinstance(raw, dict) and models else []
    if raw is None or issubclass(kind, EngineForm):
        return []
    names = {field.alias or name: field.annotation for name, field in kind.model_fields.items()}
    mine = HERE.get(kind, set()) | ONLY_HERE | ({"values"} if kind is Doubt else set())
    differ = [f"{kind.__name__}.{name}" for name in raw.keys() ^ (names.keys() - mine)]
    deeper = [line for name in raw.keys() & names for line in unknown(raw[name], names[name])]
    return [line for line in differ if line.rpartition(".")[2] not in mine] + deeper


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def ask(agent: Agent, request: Request[Any]) -> dict[str, Any]:
    """Run a request; return the answer as it was sent."""
    if request.op in LISTENERS:
        agent.start({**request.message()})
        answer = agent.stop()
    else:
        agent.send({**request.message()})
        answer = agent.answer()
    assert answer.error is None, answer.error
    assert answer.done is not None
    for event in answer.events:
        parsed = Event.model_validate(event)
        assert not unknown(event.get("packet"), sessions.LivePacket)
        assert parsed.model_fields_set
    return answer.done


@pytest.mark.parametrize("operation", whole(Path()))
def test_requests_and_answers_are_the_agent_s(joined: Pair, tmp_path: Path, operation: str) -> None:
    request = whole(tmp_path / "x.pcapng")[operation]
    message = request.message()
    said = {"op", *(field.name for field in fields(request))} - OTHERWISE.get(operation, set())
    assert set(message) == said, "a field is left out"
    with joined.agent(joined.left) as agent:
        done = ask(agent, request)
    request.read(done)
    assert unknown(done, request.reply) == []


def test_a_field_that_the_agent_does_not_know_is_refused(joined: Pair) -> None:
    """The control of the test above."""
    with joined.agent(joined.left) as agent:
        answer = agent.run({**loads.Discard(port=0).message(), "gravity": 1})
    assert answer.error is not None
    assert "gravity" in answer.error["why"]


def test_a_name_that_differs_is_seen() -> None:
    found = {"version": "1", "pid": 1, "clocks": "x"}
    assert sorted(unknown(found, sessions.HelloDone)) == [
        "HelloDone.clock",
        "HelloDone.clocks",
        "HelloDone.namespace",
    ]
    tap = {"point": "x", "packets": 1, "dropped": 0, "unparsed": 0, "by": "tcx"}
    tap |= {"queue": "noqueue", "queue_after": "noqueue", "queue_changed": False}
    tapped = {"interfaces": [tap], "uncaptured": 0}
    left_out = ["TapRecord.repeated", "TapRecord.unkept", "TapRecord.unsent"]
    assert sorted(unknown(tapped, tapping.TapDone)) == left_out


def test_no_operation_of_the_agent_is_left_out() -> None:
    """A monitor sends `setup`, a link engine `carrier`.

    `output`, `end`, `control` and `schedule` need a program, and what is about a machine's labs a
    machine of its own: tests of `doing` have both.
    """
    others = {"links", "link-set", "link-timeline", "link-pace", "link-passages", "link-restart"}
    others |= {"output", "end", "control", "schedule", "scheduled", "record", "lab-files"}
    others |= {"end-lab", "sweep"}
    assert protocol()["operations"].keys() - {"setup", "carrier"} == {*whole(Path()), *others}


ALL_CONDITIONS = [
    Conditions(
        delay_ns=5,
        jitter=Jitter(spread_ns=1, distribution="normal", correlation=0.5),
        loss=Independent(share=0.1, correlation=0.2),
        duplicate=0.1,
        corrupt=0.1,
        reorder=Reorder(share=0.1, correlation=0.2, gap=3),
        rate=Rate(bps=10**6, overhead_bytes=0, minimum_bytes=0),
        queue=Queue(packets=9, discipline=Codel(target_ns=1, interval_ns=2)),
    ),
    Conditions(
        jitter=Jitter(spread_ns=1, distribution=Table(table=[-1.0, 0.5])),
        loss=GilbertElliott(to_bad=0.1, to_good=0.2, lost_in_bad=0.3, lost_in_good=0.4),
        rate=Rate(bps=10**6),
        queue=Queue(
            bytes=99, discipline=Red(min_bytes=1, max_bytes=2, probability=0.1, weight=0.01)
        ),
    ),
    Conditions(loss=Pattern(runs=[3, 1]), rate=Rate(bps=10**6), queue=Queue(held="sender")),
    Conditions(trace=RateTrace(points=[(0, 5), (9, 6)], period_ns=20)),
    Conditions(trace=DelayTrace(points=[(0, 5)], period_ns=None), state="silent"),
    Conditions(trace=Opportunities(at_ns=[1, 2], bytes=100, period_ns=3)),
]
LAB = {
    "lab": "protocol",
    "nodes": {"a": {}, "b": {}},
    "links": [{"between": ["a", "b"], "name": "wan", "delay": "1ms", "to": {"b": {}}}],
}


@pytest.mark.parametrize(("node", "receives"), [("a", False), ("b", True)])
def test_conditions_go_to_the_link_engine_and_come_back(node: str, receives: bool) -> None:
    """Every field of every condition, set on a running link and read from its report."""
    with temporary(lab_from_data(LAB), accounting=False) as lab:
        (agent,) = link_engines.agents(lab)
        session = lab.session(agent)
        for conditions in ALL_CONDITIONS:
            if receives and conditions.queue is not None and conditions.queue.held:
                continue
            empty = Conditions(**dict.fromkeys(Conditions.model_fields))
            changes = [Change("wan", node, each, receives) for each in (empty, conditions)]
            done = [session.call(links.LinkSet(changes=[each])) for each in changes][-1]
            assert unknown(done.raw, links.LinkSetDone) == []
            report = session.call(links.Links(reset=True))
            assert unknown(report.raw, link_reports.SentReport) == []
            (there,) = (
                each.configured
                for each in report.done.directions
                if (each.node, each.receives) == (node, receives)
            )
            named = {name for name in there.named if getattr(there, name) is not None}
            assert {n: getattr(there, n) for n in named} == pytest.approx(conditions.named)
        eased = links.LinkPace(eased=True)
        for request in (links.LinkTimeline(), eased, links.LinkRestart()):
            assert session.call(request).raw == {}
        session.close()


def test_how_packets_passed_a_link_comes_back_from_its_engine() -> None:
    with temporary(lab_from_data(LAB), accounting=False) as lab:
        to, began_ns = lab.plan.attachment("b", "wan").address, time.time_ns()
        probe = measuring_requests.Probe(
            probe=77,
            protocol="icmp",
            to=to,
            count=3,
            interval_ns=1_000_000,
            size=64,
            linger_ns=1_000_000_000,
            late_ns=1_000_000_000,
        )
        sender, (agent,) = lab.node_session("a"), link_engines.agents(lab)
        sender.call(probe)
        engine = lab.session(agent)
        wanted = [links.WantedPacket(77, seq, began_ns, time.time_ns()) for seq in (2, 0, 99)]
        done = engine.call(links.LinkPassages(packets=wanted))
        assert unknown(done.raw, links.LinkPassagesDone) == []
        passed = [(each.seq, each.node, each.receives, each.fate) for each in done.done.passages]
        way = [("a", False, "sent"), ("b", True, "sent"), ("b", False, "sent")]
        assert passed == [(seq, *each) for seq in (2, 0) for each in way]
        for each in done.done.passages:
            assert began_ns <= each.came_ns <= each.began_ns <= each.left_ns
            assert each.left_ns + 1_000_000 * (not each.receives) == each.due_ns
        sender.close()
        engine.close()


def test_the_engine_merges_changes_as_a_plan_does() -> None:
    """Any changes, one after the other: `merge` of Python says what the engine reports."""
    with temporary(lab_from_data(LAB), accounting=False) as lab:
        (agent,) = link_engines.agents(lab)
        session = lab.session(agent)

        def asked() -> Conditions:
            directions = session.call(links.Links()).done.directions
            return next(each.configured for each in directions if each.node == "a")

        @settings(max_examples=60, deadline=None)
        @given(conditions)
        def changed(said: dict[str, Any]) -> None:
            before, change = asked(), ConditionsSpec.model_validate(said).named()
            session.call(links.LinkSet(changes=[Change("wan", "a", change)]))
            assert plain(asked().message()) == plain(merge(before, change).message())

        changed()
        session.close()


def test_each_kind_of_condition_is_tried() -> None:
    """The control of the test above: a new field or kind has to be added there."""
    seen = {type(each) for conditions in ALL_CONDITIONS for each in _parts(conditions)}
    kinds = {
        kind for kind in EngineForm.__subclasses__() if kind.__module__ == EngineForm.__module__
    }
    assert kinds - seen == {kind for kind in kinds if kind.__name__ == "DropTail"}
    names = {name for conditions in ALL_CONDITIONS for name in conditions.named}
    assert names == set(Conditions.model_fields)


def _parts(part: EngineForm) -> list[EngineForm]:
    inner = [value for _, value in part if isinstance(value, EngineForm)]
    return [part, *(deeper for each in inner for deeper in _parts(each))]
