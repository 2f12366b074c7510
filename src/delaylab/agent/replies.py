"""The base of the agent's answers, and the bounds of what is in them.

An answer may come from a hostile guest: everything in it is bounded. Unknown fields, as of later
versions, are ignored. The answers themselves are in `wire`, generated from the agent's schema.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from delaylab.records.base import LARGEST, MOST_LISTED

Text = Annotated[str, StringConstraints(max_length=20_000)]


def _address(text: str) -> str:
    """Return an IP address as it is, with its zone if it has one; raise ValueError for others."""
    ip_address(text.partition("%")[0])
    return text


Address = Annotated[str, StringConstraints(max_length=100), AfterValidator(_address)]
Name = Annotated[str, StringConstraints(max_length=300)]
"""Name of a program, an interface, a counter or a place."""
Count = Annotated[int, Field(ge=0, le=LARGEST)]
Time = Annotated[int, Field(ge=0, le=LARGEST)]
"""Time in ns since 1970, at most in the year 2116: the difference of two fits into 64 bits."""
Span = Annotated[int, Field(ge=-LARGEST, le=LARGEST)]
"""Difference of two times in ns."""
ExitCode = Annotated[int, Field(ge=0, le=1 << 31)]
"""Exit code, signal or process id."""
Port = Annotated[int, Field(ge=1, le=65535)]
Item = TypeVar("Item")
Listed = Annotated[list[Item], Field(max_length=MOST_LISTED)]
"""List from an agent. Each item that is wrong costs memory before the answer is refused."""
Named = Annotated[dict[Name, Item], Field(max_length=10 * MOST_LISTED)]


class Reply(BaseModel):
    """The base of all answers."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", populate_by_name=True, defer_build=True, allow_inf_nan=False
    )


class Nothing(Reply):
    """The answer of operations that return nothing."""
