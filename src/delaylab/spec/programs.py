"""Models of a node's files, and of the programs that run as long as the node."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Annotated, ClassVar, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    StringConstraints,
    model_validator,
)
from pydantic_core import CoreSchema

from delaylab.io.values import JsonObject
from delaylab.spec.base import Shorthand, spelled
from delaylab.spec.variants import Jobs
from delaylab.units import Duration

PROGRAM = r"^[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}$"
ProgramName = Annotated[
    str, spelled(PROGRAM, "a name of letters, digits, `_`, `.`, `+` and `-`, at most 64 characters")
]
VARIABLE = r"^[A-Za-z_][A-Za-z0-9_.]{0,99}$"
Environment = dict[
    Annotated[str, spelled(VARIABLE, "the name of a variable: letters, digits, `_` and `.`")], str
]
Port = Annotated[int, Field(ge=1, le=65535)]
_ONE_SIGN = (
    "`ready` has one of tcp, udp, prints, file, command, and `ends: true`; a program without "
    "`ready` is ready once it runs"
)
MOST_TEXT = 1 << 20
"""The most characters of one file of a node."""


def _absolute(path: str) -> str:
    if not path.startswith("/") or ".." in PurePosixPath(path).parts or path.endswith("/"):
        raise ValueError("a file of a node has a path from / on, without `..`, such as /etc/motd")
    return path


NodePath = Annotated[str, StringConstraints(max_length=4096), AfterValidator(_absolute)]


def _digits(mode: object) -> object:
    return str(mode) if isinstance(mode, int) else mode


Mode = Annotated[
    str,
    spelled(r"^0?[0-7]{3,4}$", "an octal mode such as 0644"),
    BeforeValidator(_digits, json_schema_input_type=str | int),
]


class FileSpec(Shorthand):
    """A file of a node: its text, its mode and its owner."""

    MAIN: ClassVar[str] = "content"
    content: str = Field(
        max_length=MOST_TEXT,
        description="The text of the file. `from: NAME` takes that of a file, whose name counts "
        "from the folder of the lab file.",
    )
    mode: Mode = Field("644", description="The mode in octal digits, as for chmod(1): `640`.")
    owner: Annotated[str, spelled(r"^[^:\s]+(:[^:\s]+)?$", "USER or USER:GROUP")] | None = Field(
        None, description="The owner in the node, `USER` or `USER:GROUP`; left out, root."
    )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, object]:
        """Return the schema of what a lab file may say; `from` is replaced when it is read."""
        whole = handler.resolve_ref_schema(handler(schema))
        others = {name: field for name, field in whole["properties"].items() if name != "content"}
        named = {"type": "string", "description": "The file of this machine that has the text."}
        of_file = {**whole, "properties": {"from": named, **others}, "required": ["from"]}
        return {"anyOf": [whole, of_file, {"type": ["string", "number"]}]}


class ReadySpec(Jobs):
    """A sign that a program is ready; one of the fields."""

    @classmethod
    def variant_of(cls, said: Mapping[str, object]) -> type[ReadySpec]:
        """Return the class of the one sign."""
        try:
            return ReadySpec.named_in(said, "`ready`")
        except ValueError:
            raise ValueError(_ONE_SIGN) from None

    def message(self) -> JsonObject:
        """Return the sign as the agent reads it, which is the form that it has in a file."""
        return self.model_dump(mode="json")


class ListensTcp(ReadySpec):
    """A socket listens at a TCP port."""

    what = "tcp"
    tcp: Port = Field(description="A socket of the node listens at this TCP port.")


class BoundUdp(ReadySpec):
    """A socket is bound to a UDP port."""

    what = "udp"
    udp: Port = Field(description="A socket of the node is bound to this UDP port.")


class Prints(ReadySpec):
    """The program printed a text."""

    what = "prints"
    prints: str = Field(min_length=1, description="The program printed this text.")


class Exists(ReadySpec):
    """A path that exists; if it is a socket, a program has it."""

    what = "file"
    file: NodePath = Field(
        description="This path exists in the node. If it is a socket, a program has it: what a "
        "killed program left does not count."
    )


class Succeeds(ReadySpec):
    """A command ends with exit code 0."""

    what = "command"
    command: list[str] = Field(
        min_length=1, description="This command in the node ends with exit code 0."
    )


class Ends(ReadySpec):
    """The program itself ends, with exit code 0."""

    what = "ends"
    ends: bool = Field(description="`true`: the program is to end by itself, with exit code 0.")

    @model_validator(mode="after")
    def _only_true(self) -> Self:
        if not self.ends:
            raise ValueError(_ONE_SIGN)
        return self


class ProgramSpec(Shorthand):
    """A program that runs as long as its node, in the foreground."""

    MAIN: ClassVar[str] = "run"
    run: str | list[str] = Field(
        min_length=1,
        description="The command: words, or a line for the node's shell (`sh -c`). A program that "
        "goes into the background has ended.",
    )
    name: ProgramName = Field(
        "",
        validate_default=False,
        description="The name in `ps` and `logs`; left out, the command's first word without its "
        "folder.",
    )
    env: Environment = Field(
        default_factory=dict, description="Variables in addition to those of the node."
    )
    ready: ReadySpec | None = Field(
        None,
        description="The sign that it is ready; left out, it is ready once it runs. The next "
        "program starts, and `up` returns, only then.",
    )
    timeout: Duration = Field(
        Duration.parse("30s"), description="The time that it has to become ready."
    )

    @property
    def argv(self) -> list[str]:
        """Return the words of the command."""
        return ["sh", "-c", self.run] if isinstance(self.run, str) else self.run

    @property
    def called(self) -> str:
        """Return the program's name."""
        if self.name:
            return self.name
        words = self.run.split() if isinstance(self.run, str) else self.run
        return re.sub(r"[^A-Za-z0-9_.+-]", "_", PurePosixPath(words[0] if words else "sh").name)


def check_programs(programs: list[ProgramSpec]) -> None:
    """Raise ValueError if two programs of a node have one name."""
    names = [program.called for program in programs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"two programs are called {twice!r}: give one of them a `name`")
