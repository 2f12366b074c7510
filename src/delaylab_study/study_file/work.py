"""Models of the work in a study file: a job with an end, which several nodes begin together."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from delaylab.api.models import Jobs, Name, Names, Packages, Spec
from delaylab.api.units import Duration, Size

TcpProgram = Literal["iperf3", "nuttcp"]
TCP_PROGRAMS: tuple[TcpProgram, ...] = ("iperf3", "nuttcp")
LARGEST_FILE = Size.parse("100GB")
MOST_RANKS = 256
ORDER = 500
"""The number of equations that hpcc solves where a work says none."""
MOST_UNITS = 100_000_000
MOST_ARGUMENTS = 1000
MOST_FIGURES = 20
_SECOND = 1_000_000_000
_LONGEST_ARGUMENT = 4096


def _number_pattern(text: str) -> str:
    try:
        found = re.compile(text)
    except re.error as error:
        raise ValueError(f"no regular expression: {error}") from None
    if found.groups != 1:
        raise ValueError("the expression needs one group, around the number: 'rate: ([0-9.]+)'")
    return text


Argument = Annotated[str, StringConstraints(max_length=_LONGEST_ARGUMENT)]
Command = Annotated[list[Argument], Field(min_length=1, max_length=MOST_ARGUMENTS)]
NumberPattern = Annotated[
    str, StringConstraints(max_length=_LONGEST_ARGUMENT), AfterValidator(_number_pattern)
]


class WorkSpec(Jobs):
    """Work of several nodes: arithmetic, a TCP stream, a copy, a program of MPI, or a command."""

    rate_unit: ClassVar[str] = "runs/s"
    name: Name = Field(description="The name of the work.")
    on: Names = Field(
        description="The nodes that do it, all at once. The name of a counted node stands for all "
        "of them; an empty list for none."
    )
    deadline: Duration = Field(
        Duration(60 * _SECOND),
        description="The time after which the work of a node that has not ended counts as failed.",
    )

    @classmethod
    def variant_of(cls, said: Mapping[str, object]) -> type[WorkSpec]:
        """Return the class of the one job."""
        found = WorkSpec.named_in(said, "work")
        if issubclass(found, PairWork) != ("to" in said):
            raise ValueError("work of `tcp` or `scp` needs `to`, and no other has it")
        return found

    @classmethod
    def refusal(cls, name: str) -> str:
        """Return the sentence for a field of other work."""
        owner = next(each.what for each in WorkSpec.variants() if name in each.model_fields)
        return f"only work of `{'mpi: hpcc' if name == 'order' else owner}` has `{name}`"

    @model_validator(mode="after")
    def _some_time(self) -> Self:
        if self.deadline.ns == 0:
            raise ValueError("`deadline` is more than 0")
        return self

    @property
    def needs(self) -> tuple[str, ...]:
        """Return the Debian packages that its nodes need, beyond what every image has."""
        return ()

    @property
    def ends(self) -> dict[str, list[str]]:
        """Return the nodes that the work names, by the field that does."""
        return {"on": self.on}

    @property
    def nodes(self) -> list[str]:
        """Return all nodes that the work names."""
        return [node for nodes in self.ends.values() for node in nodes]


class CpuWork(WorkSpec):
    """Arithmetic."""

    what, rate_unit = "cpu", "units/s"
    cpu: Annotated[int, Field(gt=0, le=MOST_UNITS)] = Field(
        description="Arithmetic: the number of units that each node does. A unit is 100,000 steps "
        "in registers, some 0.2 ms of a CPU of today. Each node's progress is recorded.",
    )


class PairWork(WorkSpec):
    """Work of nodes that have a far node each."""

    to: Names = Field(
        description="For `tcp`: the node that the streams end in. For `scp`: the node that has the "
        "file. Or as many nodes as `on` has, one for each.",
    )

    @property
    def ends(self) -> dict[str, list[str]]:
        """Return the nodes that the work names, by the field that does."""
        return {"on": self.on, "to": self.to}

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Return each node that works, with the far node of its stream or file."""
        far = self.to * len(self.on) if len(self.to) == 1 else self.to
        return list(zip(self.on, far, strict=False))


class TcpWork(PairWork):
    """A TCP stream from each node."""

    what, rate_unit = "tcp", "bit/s"
    tcp: Duration = Field(
        description="A TCP stream from each node: how long it sends, in whole seconds.",
    )
    by: TcpProgram = Field(
        "iperf3",
        description="For `tcp`: the program. The rate is what arrived, by the account of its "
        "server.",
    )

    @model_validator(mode="after")
    def _whole_seconds(self) -> Self:
        if self.tcp.ns % _SECOND or not self.tcp.ns:
            raise ValueError("`tcp` is a whole number of seconds, 1s or more")
        if self.deadline <= self.tcp:
            raise ValueError(f"`deadline` is {self.deadline}, and the streams take {self.tcp}")
        return self

    @property
    def needs(self) -> tuple[str, ...]:
        """Return the package of the program; every image has iperf3."""
        return ("nuttcp",) if self.by == "nuttcp" else ()


class ScpWork(PairWork):
    """A file that each node fetches."""

    what, rate_unit = "scp", "B/s"
    scp: Size = Field(
        description="A file of this size that each node fetches by scp, which encrypts it. The "
        "server of OpenSSH runs on the node `to`.",
    )

    @model_validator(mode="after")
    def _size(self) -> Self:
        if not 0 < self.scp.bytes <= LARGEST_FILE.bytes:
            raise ValueError(f"`scp` is more than 0 and at most {LARGEST_FILE}")
        return self

    @property
    def needs(self) -> tuple[str, ...]:
        """Return the packages of OpenSSH."""
        return ("openssh-client", "openssh-server")


class MpiWork(WorkSpec):
    """A program of MPI that all nodes run together."""

    what = "mpi"
    mpi: Literal["latency", "hpcc"] = Field(
        description="A program of MPI that all nodes run together, by Open MPI over TCP. `latency` "
        "measures messages of growing size between the first two nodes, and barriers of all; "
        "`hpcc` is the HPC Challenge benchmark.",
    )
    order: Annotated[int, Field(ge=100, le=100_000)] = Field(
        ORDER,
        description="For `mpi: hpcc`: the number of equations that it solves. "
        "Memory and time of its other parts grow with the square of it: all nodes together need "
        "about 8 bytes times that square. From 3000 on it mostly computes.",
    )
    ranks: Annotated[int, Field(ge=2, le=MOST_RANKS)] | None = Field(
        None,
        description="For `mpi` on one node: the number of processes there. On several nodes each "
        "has one.",
    )

    @model_validator(mode="after")
    def _order_of_hpcc(self) -> Self:
        if self.mpi != "hpcc" and "order" in self.model_fields_set:
            raise ValueError(self.refusal("order"))
        return self

    @property
    def needs(self) -> tuple[str, ...]:
        """Return the packages of Open MPI and of the program."""
        return ("openmpi-bin", "hpcc") if self.mpi == "hpcc" else ("openmpi-bin",)

    @property
    def equations(self) -> int | None:
        """Return the number of equations that hpcc solves; None for another program."""
        return self.order if self.mpi == "hpcc" else None


class FigureSpec(Spec):
    """A number that a command prints."""

    find: NumberPattern = Field(
        description="A regular expression that finds the number in the last line of output or "
        "errors that has it. Its one group is the number."
    )
    unit: Annotated[str, StringConstraints(max_length=20)] = Field(
        "", description="The unit of the number, such as `ns`."
    )


class CommandWork(WorkSpec):
    """A command of the user's."""

    what = "command"
    command: Command = Field(
        description="A program with its arguments, which each node runs to its end."
    )
    prepare: Command | None = Field(
        None,
        description="For `command`: a program that each node runs to its end before any node "
        "begins to work.",
    )
    packages: Packages | None = Field(
        None,
        description="For `command`: packages of the distribution that the programs are in. They "
        "are added to the `packages` of its nodes. A node with an `image` of its own must have the "
        "programs in it.",
    )
    progress: NumberPattern | None = Field(
        None,
        description="For `command`: a regular expression that finds in a line of output or errors "
        "how much is done. Its one group is the number.",
    )
    result: NumberPattern | None = Field(
        None,
        description="For `command`: a regular expression that finds the rate of work in the last "
        "line of output or errors that has it. Its one group is the number. Left out, the rate is "
        "one run over its time.",
    )
    unit: Annotated[str, StringConstraints(max_length=20)] = Field(
        "", description="For `command`: the unit of `result`, such as `MB/s`."
    )
    figures: Annotated[dict[Name, FigureSpec], Field(max_length=MOST_FIGURES)] | None = Field(
        None,
        description="For `command`: further numbers that each node's command prints, by name: "
        "`{slowest: {find: 'slowest ([0-9]+)', unit: ns}}`. If a node's command does not print "
        "one of them, its work has failed.",
    )

    @property
    def needs(self) -> tuple[str, ...]:
        """Return the packages that the user names."""
        return tuple(self.packages or ())


JOBS = tuple(each.what for each in WorkSpec.variants())
"""The names of all work."""
