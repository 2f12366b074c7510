"""The word of a lab for what its routers' tables become, of which the rule of `up` follows."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, WithJsonSchema

from delaylab.errors import Unexpected
from delaylab.units import Duration

SHORTEST, QUIET, NOTHING = "shortest", "quiet", "none"
LEAST_QUIET, MOST_QUIET = Duration.parse("100ms"), Duration.parse("1h")


def quiet_of(text: str) -> Duration | None:
    """Return the time of `quiet:5s`; None for `quiet` alone, whose time follows from the lab.

    Raises Unexpected for anything else.
    """
    word, given, length = text.partition(":")
    if word != QUIET:
        raise Unexpected(f"expected `quiet` or `quiet:5s`, got {text!r}")
    if not given:
        return None
    try:
        found = Duration.parse(length)
    except ValueError as error:
        raise Unexpected(f"expected `quiet` or `quiet:5s`, got {text!r}: {error}") from None
    if not LEAST_QUIET.ns <= found.ns <= MOST_QUIET.ns:
        raise Unexpected(f"a quiet time is {LEAST_QUIET} to {MOST_QUIET}, got {found}")
    return found


def _expect(text: str) -> str:
    if text in (SHORTEST, NOTHING):
        return text
    if text.partition(":")[0] != QUIET:
        raise Unexpected(f"expected `shortest`, `quiet`, `quiet:5s` or `none`, got {text!r}")
    quiet_of(text)
    return text


Expect = Annotated[
    str,
    AfterValidator(_expect),
    WithJsonSchema({"type": "string", "pattern": "^(shortest|none|quiet(:.+)?)$"}),
]
