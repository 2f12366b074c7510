"""Conditions of links: what a file says is asked as meant; what cannot be is one line."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from delaylab.errors import BadInput
from delaylab.resolve.load import lab_from
from delaylab.spec.conditions.directions import conditions_of
from delaylab.spec.conditions.profiles import profiles
from delaylab.spec.source import parse
from delaylab.verbs.schema import schema
from tests.ground.timelines import changes_of_links
from tests.plain import plain

VALIDATOR = jsonschema.Draft202012Validator(schema("lab"))
LAB = """\
lab: wan
nodes: {a: {}, b: {}}
links:
  - between: [a, b]
    name: wan
"""


def direction(more: str, node: str = "a") -> dict[str, Any]:
    """What is asked of what a node sends on a link with these lines."""
    lab = lab_from(parse(LAB + "".join(f"    {line}\n" for line in more.splitlines()), "lab.yaml"))
    return dict(plain(conditions_of(lab.written.links[0], node).message()))


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("delay: 20ms", {"delay_ns": 20_000_000}),
        ("delay: 0", {"delay_ns": 0}),
        (
            "jitter: 2ms",
            {"jitter": {"spread_ns": 2_000_000}},
        ),
        (
            "jitter: {spread: 2ms, distribution: pareto, correlation: 25%}",
            {"jitter": {"spread_ns": 2_000_000, "distribution": "pareto", "correlation": 0.25}},
        ),
        ("loss: 1%", {"loss": {"model": "independent", "share": 0.01}}),
        ("loss: 0.01", {"loss": {"model": "independent", "share": 0.01}}),
        (
            "loss: {gilbert-elliott: {to_bad: 1%, to_good: 20%}}",
            {
                "loss": {
                    "model": "gilbert-elliott",
                    "to_bad": 0.01,
                    "to_good": 0.2,
                }
            },
        ),
        ("duplicate: 1%\ncorrupt: 0.1%", {"duplicate": 0.01, "corrupt": 0.001}),
        (
            "reorder: 10%\ndelay: 1ms",
            {"delay_ns": 1_000_000, "reorder": {"share": 0.1}},
        ),
        ("rate: 10Mbit", {"rate": {"bps": 10**7}}),
        (
            "rate: {limit: 10Mbit, overhead: 0, minimum: 0}",
            {"rate": {"bps": 10**7, "overhead_bytes": 0, "minimum_bytes": 0}},
        ),
    ],
)
def test_is_asked_as_meant(said: str, meant: dict[str, Any]) -> None:
    assert direction(said) == meant == direction(said, "b")


@pytest.mark.parametrize(
    ("queue", "meant"),
    [
        ("100", {"packets": 100}),
        ("150kB", {"bytes": 150_000}),
        ("sender", {"held": "sender"}),
        ("{held: sender}", {"held": "sender"}),
        (
            "{packets: 9, discipline: codel, target: 1ms}",
            {"packets": 9, "discipline": {"kind": "codel", "target_ns": 1_000_000}},
        ),
        (
            "{bytes: 90kB, discipline: red, min: 30kB, max: 60kB}",
            {
                "bytes": 90_000,
                "discipline": {
                    "kind": "red",
                    "min_bytes": 30_000,
                    "max_bytes": 60_000,
                    "probability": 0.1,
                },
            },
        ),
    ],
)
def test_a_queue_is_asked_as_meant(queue: str, meant: dict[str, Any]) -> None:
    assert direction(f"rate: 1Mbit\nqueue: {queue}")["queue"] == meant


@pytest.mark.parametrize(
    ("said", "line", "says"),
    [
        ("delay: -5ms", 6, "is not negative: '-5ms'"),
        ("loss: 140%", 6, "a share is at most 100%, not 140%"),
        ("loss: {share: 1%, pattern: {runs: [1, 1]}}", 6, "a loss is one of"),
        ("rate: 0", 6, "a rate of 0 lets nothing pass"),
        ("rate: 10MB", 6, "expected a rate such as 100Mbit, got '10MB'"),
        ("profile: ltte", 6, "no profile 'ltte'; did you mean 'lte'?"),
        ("profile: lte/sideways", 6, "/up or /down, not /sideways"),
        ("profile: transatlantic/up", 6, "is symmetric"),
        ("dealy: 5ms", 6, "unknown field 'dealy'; did you mean 'delay'?"),
        ("jitter: {spread: 1ms, distribution: gauss}", 6, "'normal', 'pareto' or"),
        ("jitter: {spred: 1ms}", 6, "unknown field 'spred'; did you mean 'spread'?"),
        ("from: {c: {delay: 1ms}}", 6, "'c' is not on this link (members: a, b)"),
        ("from:\n  a: {loss: 2}", 7, "2 is 200 %; write 2%"),
        ("loss: 1", 6, "1 is 100 %; write 1% or 100%"),
        ("queue: 100", 4, "needs a `rate`"),
        ("reorder: 1%", 4, "needs a `delay`"),
        ("rate: 1Mbit\nqueue: 0", 7, "packets"),
        ("rate: 1Mbit\nqueue: {packets: 1, bytes: 1kB}", 7, "`packets` or in `bytes`"),
        ("rate: 1Mbit\nqueue: {held: sender, packets: 1}", 7, "takes no other field"),
        ("queue: sender", 4, "needs a `rate`"),
        ("trace: {kind: rate, points: [[0, 5]]}\nqueue: sender", 4, "a trace of rates cannot"),
        ("rate: 1Mbit\nqueue: {packets: 1, target: 5ms}", 7, "means nothing to 'droptail'"),
        ("rate: 1Mbit\nqueue: {discipline: red, min: 3kB, max: 2kB}", 7, "not below"),
        ("trace: gone.csv", 6, "no such file: 'gone.csv'"),
        ("trace: {kind: rate, points: []}", 6, "the trace is empty"),
        ("trace: {kind: rate, points: [[0, 5], [1, 0]]}", 6, "ends at a rate of 0"),
        ("delay: 2h", 6, "2h is more than 1h"),
        ("rate: 2Tbit", 6, "2Tbit is more than 1Tbit"),
        ("loss: {share: 1%, correlation: 100%}", 6, "a correlation of 100%"),
        ("loss: {pattern: {runs: [1, 2, 3]}}", 6, "pairs of counts"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(said: str, line: int, says: str) -> None:
    with pytest.raises(BadInput) as caught:
        direction(said)
    assert str(caught.value).startswith(f"lab.yaml:{line}: ")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("rest", "line", "says"),
    [
        ("timeline: [{at: 1s, link: wam, set: {delay: 1ms}}]", 6, "no link 'wam' (links: wan)"),
        ("timeline: [{at: 1s, link: wan, node: c, set: {delay: 1ms}}]", 6, "'c' is not on link"),
        ("timeline: [{at: 1s, link: wan, set: {}}]", 6, "names no condition"),
        ("timeline: [{at: -1s, link: wan, set: {delay: 1ms}}]", 6, "is not negative"),
        ("engine: warp", 6, "'auto', 'own' or 'kernel'"),
        ("engine: {steer: true}", 6, "`steer` keeps nodes' stacks off the engine's CPUs (give its"),
        ("engine: {kind: kernel, cpus: [1], steer: true}", 6, "leave `steer` out"),
        ("hosts: {h: {engine: {steer: true}}}", 6, "give its `cpus`"),
        ("engine: {cpus: [1], steer: true}\nhosts: {h: {engine: kernel}}", 7, "leave `steer` out"),
        ("engine: {steer: true}\nhosts: {h: {}}", 6, "give its `cpus`"),
    ],
)
def test_what_a_lab_cannot_ask_is_refused_with_its_line(rest: str, line: int, says: str) -> None:
    with pytest.raises(BadInput) as caught:
        lab_from(parse(LAB + rest + "\n", "lab.yaml"))
    assert str(caught.value).startswith(f"lab.yaml:{line}: ")
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "engines",
    [
        "engine: {cpus: [1]}\nhosts: {h: {engine: {steer: true}}}",
        "engine: {steer: true}\nhosts: {h: {engine: {cpus: [1]}}}",
    ],
)
def test_a_host_s_engine_is_checked_together_with_what_the_lab_says(engines: str) -> None:
    engine = lab_from(parse(f"{LAB}{engines}\n", "lab.yaml")).engine_on("h")
    assert (engine.steer, engine.cpus) == (True, [1])


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ("jitter: {spread: 1ms, correlation: 25%}", "no correlation of `jitter`"),
        ("delay: 1ms\n    reorder: {share: 1%, correlation: 1%}", "no correlation of `reorder`"),
        ("rate: 1Mbit\n    queue: {discipline: red, min: 1kB, max: 9kB}", "no `red` queues"),
    ],
)
@pytest.mark.parametrize("engine", ["engine: kernel", "hosts: {h: {engine: kernel}}"])
def test_what_no_kernel_s_queues_do_is_refused_with_its_line(
    engine: str, said: str, says: str
) -> None:
    text = f"{LAB}    {said}\n"
    lab_from(parse(f"{text}engine: own\n", "lab.yaml"))
    with pytest.raises(BadInput) as caught:
        lab_from(parse(f"{text}{engine}\n", "lab.yaml"))
    assert str(caught.value).startswith("lab.yaml:4: ")
    assert says in str(caught.value)


def test_what_one_member_sends_counts_more_than_the_link() -> None:
    said = "delay: 20ms\nloss: 1%\nfrom: {b: {loss: none, delay: 5ms, corrupt: 1%}}"
    assert direction(said, "a").keys() == {"delay_ns", "loss"}
    assert direction(said, "b") == {"delay_ns": 5_000_000, "corrupt": 0.01}


def test_the_first_node_is_the_user_of_a_profile() -> None:
    assert direction("profile: dsl", "a")["rate"]["bps"] == 384_000
    assert direction("profile: dsl", "b")["rate"]["bps"] == 1_500_000
    assert direction("profile: dsl/down", "a")["rate"]["bps"] == 1_500_000
    both = direction("profile: dsl\nrate: 3Mbit\nfrom: {b: {rate: none}}", "b")
    assert both == {"delay_ns": 25_000_000}
    assert "rate" not in direction("profile: dsl\nfrom: {a: {profile: transatlantic}}")


def test_a_profile_on_a_broadcast_link_says_its_way() -> None:
    text = "lab: x\nnodes: {a: {}, b: {}, c: {}}\nlinks:\n  - join: [a, b, c]\n    "
    with pytest.raises(BadInput, match="say dsl/up or dsl/down"):
        lab_from(parse(text + "profile: dsl\n", "lab.yaml"))
    lab = lab_from(parse(text + "from: {a: {profile: dsl/up}}\n", "lab.yaml"))
    assert plain(conditions_of(lab.written.links[0], "a").message())["rate"]["bps"] == 384_000
    assert plain(conditions_of(lab.written.links[0], "b").message()) == {}


@pytest.mark.parametrize("name", profiles())
def test_every_profile_says_what_can_be_and_where_from(name: str) -> None:
    profile = profiles()[name]
    assert len(profile.source) > 20
    for node in "ab":
        assert direction(f"profile: {name}", node)["delay_ns"] > 0
    assert (profile.both is None) == (profile.up is not None) == (profile.down is not None)


def test_a_trace_is_in_place_of_what_it_is_of() -> None:
    trace = "trace: {kind: rate, points: [[0, 1000000]]}"
    assert "rate" not in direction(f"profile: dsl\n{trace}")
    assert "trace" not in direction(f"{trace}\nfrom: {{a: {{rate: 1Mbit}}}}")
    assert "trace" in direction(f"{trace}\nfrom: {{a: {{delay: 1ms}}}}")
    with pytest.raises(BadInput, match="`rate` and a trace of it"):
        direction(f"rate: 1Mbit\n{trace}")


def test_a_node_that_stands_for_many_is_written_out() -> None:
    lab = lab_from(
        parse(
            "lab: x\nnodes: {box: {count: 2}, hub: {}}\n"
            "links: [{join: [box, hub], name: lan, from: {box: {delay: 1ms}}}]\n"
            "timeline: [{at: 1s, link: lan, node: box, set: {delay: 2ms}}]\n",
            "lab.yaml",
        )
    )
    assert plain(conditions_of(lab.written.links[0], "box-2").message()) == {"delay_ns": 1_000_000}
    assert [change.node for change in changes_of_links(lab)] == ["box-1", "box-2"]
