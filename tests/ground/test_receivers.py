"""Conditions at the receiver: `to` of a link and of a change, in files, plans and pictures."""

from __future__ import annotations

import pytest

from delaylab.drawing.layout import graph
from delaylab.errors import BadInput
from delaylab.kinds import KINDS
from delaylab.plan.build import build
from delaylab.plan.conditions.engine_links import EngineLinks
from delaylab.plan.kind import Rights
from delaylab.resolve.delays import round_trip_ns
from delaylab.resolve.load import lab_from
from delaylab.spec.conditions.directions import conditions_of, received_by
from delaylab.spec.source import parse
from delaylab_study.study_file.combine import combinations
from delaylab_study.study_file.load import study_from
from tests.ground.timelines import changes_of_links
from tests.plain import plain

LAB = """\
lab: radio
nodes: {a: {}, b: {}, c: {}}
links:
  - join: [a, b, c]
    name: air
    delay: 1ms
    from: {a: {delay: 2ms}}
    to: {b: {delay: 20ms, loss: 30%}}
"""


def engine_of(text: str) -> EngineLinks:
    """Return what the engine of a lab's only host carries."""
    plan = build(lab_from(parse(text, "lab.yaml")), KINDS, Rights(root=True))
    (found,) = (agent.links for agent in plan.agents if agent.links is not None)
    return found


def test_what_a_node_receives_has_conditions_of_its_own_and_none_of_the_link() -> None:
    (link,) = lab_from(parse(LAB, "lab.yaml")).written.links
    assert plain(conditions_of(link, "a").message()) == {"delay_ns": 2_000_000}
    assert plain(conditions_of(link, "b").message()) == {"delay_ns": 1_000_000}
    assert plain(received_by(link, "a").message()) == {}
    share = {"model": "independent", "share": 0.3}
    assert plain(received_by(link, "b").message()) == {"delay_ns": 20_000_000, "loss": share}


def test_only_receivers_with_conditions_are_in_the_plan_and_those_of_the_timeline() -> None:
    later = "timeline:\n  - {at: 1s, link: air, to: c, set: {loss: 1%}}\n"
    (link,) = engine_of(LAB).links
    assert ["received" in port.message() for port in link.members] == [False, True, False]
    engine = engine_of(LAB + later)
    (link,) = engine.links
    assert [port.message().get("received") for port in link.members][::2] == [None, {}]
    (moment,) = engine.timeline
    set_ = {"loss": {"model": "independent", "share": 0.01}}
    expected = {"link": "air", "node": "c", "receives": True, "set": set_}
    assert plain(moment.message())["changes"] == [expected]


def test_a_profile_in_the_words_of_a_receiver_is_that_of_the_other_end() -> None:
    text = "lab: p\nnodes: {home: {}, shop: {}}\nlinks:\n  - between: [home, shop]\n    to: {%s}\n"
    (link,) = lab_from(parse(text % "home: {profile: dsl}", "lab.yaml")).written.links
    assert plain(received_by(link, "home").message())["rate"] == {"bps": 1_500_000}
    (link,) = lab_from(parse(text % "shop: {profile: dsl}", "lab.yaml")).written.links
    assert plain(received_by(link, "shop").message())["rate"] == {"bps": 384_000}


def test_a_count_of_nodes_makes_receivers_of_each() -> None:
    text = """\
lab: many
nodes: {hub: {}, box: {count: 3}}
links:
  - between: [hub, box]
    name: spoke
    to: {box: {delay: 1ms}, box-2: {delay: 2ms}}
timeline:
  - {at: 1s, link: spoke, to: box, set: {delay: 3ms}}
"""
    lab = lab_from(parse(text, "lab.yaml"))
    delays = [plain(received_by(link, link.members[1]).message()) for link in lab.written.links]
    assert [each["delay_ns"] for each in delays] == [1_000_000, 2_000_000, 1_000_000]
    assert [(each.link, each.to) for each in changes_of_links(lab)] == [
        (f"spoke-{number}", f"box-{number}") for number in (1, 2, 3)
    ]


def test_a_round_trip_passes_the_senders_and_the_receivers_of_both() -> None:
    later = "timeline:\n  - {at: 1s, link: air, to: a, set: {delay: 100ms}}\n"
    assert round_trip_ns(lab_from(parse(LAB, "lab.yaml")), "a", "b") == 23_000_000
    assert round_trip_ns(lab_from(parse(LAB + later, "lab.yaml")), "b", "a") == 123_000_000


def test_a_picture_names_the_receivers_that_have_conditions() -> None:
    (link,) = graph(lab_from(parse(LAB, "lab.yaml"))).links
    assert link.conditions[-1] == "to b: delay=20ms loss=30%"


def test_a_factor_sets_what_a_node_receives() -> None:
    study = study_from(
        parse(
            "study: s\nlab:\n"
            + "".join(f"  {line}\n" for line in LAB.splitlines())
            + "probe: {from: a, to: b}\n"
            + "factors:\n  fading:\n    clear: {}\n    deep: {links.air.to.b.loss: 90%}\n",
            "study.yaml",
        )
    )
    losses = [
        plain(received_by(each.lab.written.links[0], "b").message())["loss"]["share"]
        for each in combinations(study, "quick")
    ]
    assert losses == [0.3, 0.9]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (("b: {delay: 20ms, loss: 30%}", "z: {delay: 1ms}"), "'z' is not on this link"),
        (("loss: 30%", "state: down"), "loses its carrier for both directions"),
        (("loss: 30%", "rate: 1Mbit, queue: sender"), "does not wait at its sender"),
        (("loss: 30%", "queue: 10"), "`queue` needs a `rate`"),
        (("loss: 30%", "profile: dsl"), "say dsl/up or dsl/down for what a member receives"),
        (("links:", "engine: kernel\nlinks:"), "kernel engine has no conditions at the receiver"),
        (
            ("links:", "timeline: [{at: 1s, link: air, to: z, set: {loss: 1%}}]\nlinks:"),
            "'z' is not on link 'air'",
        ),
        (
            ("links:", "timeline: [{at: 1s, link: air, node: a, to: b, set: {}}]\nlinks:"),
            "either `node` (what it sends) or `to`",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(change: tuple[str, str], what: str) -> None:
    with pytest.raises(BadInput) as raised:
        lab_from(parse(LAB.replace(*change), "lab.yaml"))
    message = str(raised.value)
    assert what in message
    assert "lab.yaml:" in message


def test_nodes_of_one_stack_receive_alike() -> None:
    hosts = "hosts: {h: {}, k: {}}\n"
    nodes = "{a: {host: h}, b: {kind: native, host: k}, c: {kind: native, host: k}}"
    text = (LAB.replace("{a: {}, b: {}, c: {}}", nodes)).replace("nodes:", hosts + "nodes:")
    with pytest.raises(BadInput, match="what one of them receives cannot be told apart"):
        engine_of(text)


def test_a_timeline_cannot_take_a_carrier_from_a_receiver() -> None:
    later = "timeline:\n  - {at: 1s, link: air, to: b, set: {state: down}}\n"
    with pytest.raises(BadInput, match="loses its carrier for both directions"):
        engine_of(LAB + later)
