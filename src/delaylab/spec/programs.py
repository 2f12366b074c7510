"""Models of a node's files, and of the programs that run as long as the node."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, model_validator

from delaylab.spec.base import Shorthand, Spec, spelled
from delaylab.units import Duration

PROGRAM = r"^[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}$"
ProgramName = Annotated[
    str, spelled(PROGRAM, "a name of letters, digits, `_`, `.`, `+` and `-`, at most 64 characters")
]
VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]{0,99}$"
Environment = dict[
    Annotated[str, spelled(VARIABLE, "the name of a variable: letters, digits and `_`")], str
]
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


class ReadySpec(Spec):
    """A sign that a program is ready; one of the fields."""

    tcp: int | None = Field(
        None, ge=1, le=65535, description="A socket of the node listens at this TCP port."
    )
    udp: int | None = Field(
        None, ge=1, le=65535, description="A socket of the node is bound to this UDP port."
    )
    prints: str | None = Field(None, min_length=1, description="The program printed this text.")
    file: NodePath | None = Field(None, description="This path exists in the node.")
    command: list[str] | None = Field(
        None, min_length=1, description="This command in the node ends with exit code 0."
    )
    ends: bool | None = Field(
        None, description="`true`: the program is to end by itself, with exit code 0."
    )

    @model_validator(mode="after")
    def _one_sign(self) -> ReadySpec:
        given = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(given) != 1 or self.ends is False:
            raise ValueError(
                "`ready` has one of tcp, udp, prints, file, command, and `ends: true`; a program "
                "without `ready` is ready once it runs"
            )
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
