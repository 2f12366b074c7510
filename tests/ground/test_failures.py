"""Failures have a kind on the wire, and no text of one decides anything."""

from __future__ import annotations

import re
from io import BytesIO
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError, field_validator

from delaylab.agent.failures import FailureKind, failed_command, failure_of
from delaylab.agent.result import AgentError
from delaylab.agent.session import Session
from delaylab.agent.wire.sessions import Hello
from delaylab.errors import Unexpected
from delaylab.spec.sentences import reason, sentences
from delaylab_study.loads.programs import NotStarted, start
from tests.ground import hostile_agent as hostile

PLAIN = (FailureKind.FAILED, None)


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ({"kind": "not-started", "errno": 2}, (FailureKind.NOT_STARTED, 2)),
        ({"kind": "other-version"}, (FailureKind.OTHER_VERSION, None)),
        ({}, PLAIN),
        ({"kind": "newer"}, PLAIN),
        ({"kind": None, "errno": None}, PLAIN),
        ({"kind": ["not-started"], "errno": {}}, PLAIN),
        ({"kind": {"a": 1}, "errno": "2"}, PLAIN),
        ({"kind": 7, "errno": 2.5}, PLAIN),
    ],
)
def test_a_failure_of_any_agent_is_one_error(said: dict[str, Any], known: object) -> None:
    sent = hostile.message(error={"what": "run x", "why": "no", **said})
    with pytest.raises(AgentError, match=r"^node\.b: run x: no$") as caught:
        hostile.read_all(Hello(), sent)
    assert (caught.value.kind, caught.value.errno) == known


def test_parts_of_a_failure_are_bounded() -> None:
    error = failure_of({"what": "x" * 10**6, "why": ["y"] * 10**6, "fix": 7}, "node.b")
    assert len(str(error)) < 50_000
    assert error.fix == "7"


@pytest.mark.parametrize(
    ("stderr", "told"),
    [
        ('one\n{"error": {"what": "a", "why": "b", "fix": "c"}}\n', "node.b: a: b (c)"),
        ("killed\n", "node.b: killed"),
        ("delaylab-agent: a: b\n", "node.b: delaylab-agent: a: b"),
        ('{"error": 7}', 'node.b: {"error": 7}'),
        ("[" * 100_000, "node.b: [[["),
        ("", "node.b: "),
    ],
)
def test_a_command_s_last_line_is_its_error(stderr: str, told: str) -> None:
    assert str(failed_command(stderr, "node.b")).startswith(told)
    assert len(str(failed_command(stderr, "node.b"))) < 1000


def test_what_a_validator_said_is_told_apart_from_what_pydantic_says() -> None:
    class Model(BaseModel):
        number: int
        word: str = "a"

        @field_validator("word")
        @classmethod
        def _word(cls, word: str) -> str:
            raise ValueError(f"Value error, {word}")

    with pytest.raises(ValidationError) as caught:
        Model.model_validate({"number": "x", "word": "b"})
    ours = {problem["loc"]: reason(problem) for problem in caught.value.errors()}
    assert ours["word",] == "Value error, b"
    assert ours["number",].startswith("Input should be a valid integer")


@pytest.mark.parametrize(
    ("error", "told"),
    [(ValueError("expected it"), "expected it"), (Unexpected("told"), "part: told")],
)
def test_an_error_s_type_says_whether_it_is_of_the_whole(error: ValueError, told: str) -> None:
    class Model(BaseModel):
        part: object

        @field_validator("part")
        @classmethod
        def _part(cls, part: object) -> object:
            raise error

    with pytest.raises(ValidationError) as caught:
        Model.model_validate({"part": {"a": 1}})
    parts = {("part",): None}
    assert sentences(caught.value, Model, parts, ()) == [(("part",), told)]


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ({"done": {"exit": 127}}, 127),
        ({"done": {"killed": 9}}, None),
        ({"error": {"what": "run sshd", "why": "no"}}, None),
    ],
)
def test_a_program_that_does_not_start_has_its_exit_code(
    end: dict[str, Any], code: int | None
) -> None:
    said = hostile.message(event={"started": 7}) + hostile.message(**end)
    session = Session("node.b", hostile.Said(BytesIO(said)))
    with pytest.raises(NotStarted, match=r"^node\.b: sshd did not start: ") as caught:
        start(session, ["sh"], (re.compile(b"ready"),), name="sshd")
    assert caught.value.exit == code
    session.close()
