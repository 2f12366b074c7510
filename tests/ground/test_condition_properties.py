"""Conditions of links, by properties: round trips, changes, any text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from delaylab.errors import BadInput
from delaylab.resolve.load import lab_from
from delaylab.resolve.resolve import lab_from_data
from delaylab.spec.conditions.directions import conditions_of
from delaylab.spec.conditions.engine import Conditions
from delaylab.spec.conditions.merge import merge, without
from delaylab.spec.conditions.model import ConditionsSpec
from delaylab.spec.conditions.words import as_words
from delaylab.spec.source import parse
from delaylab.units import Duration, Rate, Share, Size
from tests.ground.test_conditions import VALIDATOR
from tests.plain import plain

shares = st.integers(0, Share.WHOLE).map(Share).map(str)
positive = st.integers(1, 10**12)
durations = st.integers(0, 36 * 10**11).map(Duration).map(str)
correlations = st.integers(0, Share.WHOLE - 1).map(Share).map(str)
sizes = positive.map(Size).map(str)
jitters = durations | st.fixed_dictionaries(
    {"spread": durations},
    optional={
        "distribution": st.sampled_from(["uniform", "normal", "pareto", "paretonormal"])
        | st.fixed_dictionaries({"table": st.lists(st.floats(-9, 9), min_size=2, max_size=9)}),
        "correlation": correlations,
    },
)
losses = st.one_of(
    shares,
    st.fixed_dictionaries({"share": shares, "correlation": correlations}),
    st.fixed_dictionaries(
        {"gilbert-elliott": st.fixed_dictionaries({"to_bad": shares, "to_good": shares})}
    ),
    st.fixed_dictionaries(
        {
            "pattern": st.fixed_dictionaries(
                {"runs": st.lists(st.integers(1, 99), min_size=1, max_size=5).map(lambda x: x * 2)}
            )
        }
    ),
)
queues = st.one_of(
    st.integers(1, 10**6),
    sizes,
    st.just("sender"),
    st.fixed_dictionaries({"packets": st.integers(1, 99), "discipline": st.just("codel")}),
    st.fixed_dictionaries(
        {"discipline": st.just("red"), "min": st.just("3kB"), "max": st.just("9kB")},
        optional={"weight": st.sampled_from(["0.2%", "1%"]), "probability": st.just("50%")},
    ),
)
CONDITIONS: dict[str, st.SearchStrategy[Any]] = {
    "delay": durations,
    "jitter": jitters,
    "loss": losses,
    "duplicate": shares,
    "corrupt": shares,
    "reorder": shares | st.fixed_dictionaries({"share": shares, "gap": st.integers(1, 9)}),
    "rate": positive.map(Rate).map(str),
    "queue": queues,
    "state": st.sampled_from(["down", "silent"]),
}
conditions = st.fixed_dictionaries(
    {}, optional={name: st.just("none") | values for name, values in CONDITIONS.items()}
)


@given(conditions)
def test_conditions_round_trip(said: dict[str, Any]) -> None:
    """As YAML -> conditions -> the record that a running lab keeps -> the same conditions."""
    text = yaml.safe_dump(said)
    read = ConditionsSpec.model_validate(yaml.safe_load(text))
    again = ConditionsSpec.model_validate(json.loads(json.dumps(read.model_dump(mode="json"))))
    assert again == read
    assert again.named() == read.named()
    assert {key for key, value in read.named().named.items() if value is None} == {
        "delay_ns" if name == "delay" else name for name in said if said[name] == "none"
    }


@given(conditions, conditions)
def test_what_one_side_names_is_all_that_differs(
    link: dict[str, Any], side: dict[str, Any]
) -> None:
    lab = lab_from_data(
        {
            "lab": "x",
            "nodes": {"a": {}, "b": {}},
            "links": [{"between": ["a", "b"], **link, "from": {"b": side}}],
        }
    )
    named = lab.written.links[0].sent_from["b"].named().message()
    a, b = (plain(conditions_of(lab.written.links[0], node).message()) for node in "ab")
    for key, value in named.items():
        before = {key: a[key]} if key in a else {}
        assert b.get(key) == merged(before, {key: value}).get(key)
        parts = value if isinstance(value, dict) else {}
        assert {part: b[key][part] for part in parts} == parts
    assert {k: v for k, v in b.items() if k not in named} == {
        k: v for k, v in a.items() if k not in named
    }


@given(st.dictionaries(st.sampled_from([*CONDITIONS, "trace", "profile"]), st.text(max_size=12)))
def test_any_text_as_a_condition_is_one_or_one_line(said: dict[str, str]) -> None:
    text = yaml.safe_dump(
        {"lab": "x", "nodes": {"a": {}, "b": {}}, "links": [{"between": ["a", "b"], **said}]}
    )
    answer = "lab.yaml: it is one"
    try:
        lab_from(parse(text, "lab.yaml"))
    except BadInput as error:
        answer = str(error)
    # Of a file that there happens to be, such as /bin/sh, the error is in that file.
    where = said["trace"] if Path(said.get("trace", "")).is_file() else "lab.yaml"
    assert answer.startswith(("lab.yaml:", f"{where}:"))
    assert "\n" not in answer


@given(conditions)
def test_the_schema_for_editors_knows_every_form(said: dict[str, Any]) -> None:
    link = {"between": ["a", "b"], **said, "from": {"a": said}}
    lab = {"lab": "x", "nodes": {"a": {}, "b": {}}, "links": [link]}
    VALIDATOR.validate(json.loads(json.dumps(lab)))


def merged(before: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """Conditions after a change, all as JSON values."""
    found = merge(Conditions.model_validate(before), Conditions.model_validate(change))
    return dict(plain(found.message()))


@given(conditions)
def test_what_is_asked_is_told_in_the_words_that_ask_it(said: dict[str, Any]) -> None:
    named = ConditionsSpec.model_validate(said).named()
    from_files = ("pattern", "table")
    message = named.message()
    unreadable = {
        key
        for key, value in message.items()
        if value is None or any(word in json.dumps(value) for word in from_files)
    }
    plain = without(named, unreadable)
    words = {field: yaml.safe_load(text) for field, text in as_words(plain).items()}
    assert ConditionsSpec.model_validate(words).named() == plain
