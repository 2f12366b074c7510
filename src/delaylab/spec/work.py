"""Model of the work in a study file: a job with an end, which several nodes begin together."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from delaylab.spec.base import Name, Names, Packages, Spec
from delaylab.units import Duration, Size

TcpProgram = Literal["iperf3", "nuttcp"]
TCP_PROGRAMS: tuple[TcpProgram, ...] = ("iperf3", "nuttcp")
JOBS = ("cpu", "tcp", "scp", "mpi", "command")
LARGEST_FILE = Size.parse("100GB")
MOST_RANKS = 256
ORDER = 500
"""The number of equations that hpcc solves where a work says none."""
ORDERS = (100, 100_000)
PACKAGES = {
    "scp": ("openssh-client", "openssh-server"),
    "nuttcp": ("nuttcp",),
    "latency": ("openmpi-bin",),
    "hpcc": ("openmpi-bin", "hpcc"),
}
"""The Debian packages that nodes need for a work, beyond what every image has."""
MOST_UNITS = 100_000_000
MOST_ARGUMENTS = 1000
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


class WorkSpec(Spec):
    """Work of several nodes: arithmetic, a TCP stream, a copy, a program of MPI, or a command."""

    name: Name = Field(description="The name of the work.")
    on: Names = Field(
        description="The nodes that do it, all at once. The name of a counted node stands for all "
        "of them; an empty list for none."
    )
    cpu: Annotated[int, Field(gt=0, le=MOST_UNITS)] | None = Field(
        None,
        description="Arithmetic: the number of units that each node does. A unit is 100,000 steps "
        "in registers, some 0.2 ms of a CPU of today. Each node's progress is recorded.",
    )
    tcp: Duration | None = Field(
        None,
        description="A TCP stream from each node: how long it sends, in whole seconds.",
    )
    by: TcpProgram = Field(
        "iperf3",
        description="For `tcp`: the program. The rate is what arrived, by the account of its "
        "server.",
    )
    scp: Size | None = Field(
        None,
        description="A file of this size that each node fetches by scp, which encrypts it. The "
        "server of OpenSSH runs on the node `to`.",
    )
    to: Names | None = Field(
        None,
        description="For `tcp`: the node that the streams end in. For `scp`: the node that has the "
        "file. Or as many nodes as `on` has, one for each.",
    )
    mpi: Literal["latency", "hpcc"] | None = Field(
        None,
        description="A program of MPI that all nodes run together, by Open MPI over TCP. `latency` "
        "measures messages of growing size between the first two nodes, and barriers of all; "
        "`hpcc` is the HPC Challenge benchmark.",
    )
    order: Annotated[int, Field(ge=ORDERS[0], le=ORDERS[1])] | None = Field(
        None,
        description="For `mpi: hpcc`: the number of equations that it solves, 500 where left out. "
        "Memory and time of its other parts grow with the square of it: all nodes together need "
        "about 8 bytes times that square. From 3000 on it mostly computes.",
    )
    ranks: Annotated[int, Field(ge=2, le=MOST_RANKS)] | None = Field(
        None,
        description="For `mpi` on one node: the number of processes there. On several nodes each "
        "has one.",
    )
    command: Command | None = Field(
        None, description="A program with its arguments, which each node runs to its end."
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
    deadline: Duration = Field(
        Duration(60 * _SECOND),
        description="The time after which the work of a node that has not ended counts as failed.",
    )

    @model_validator(mode="after")
    def _one_job(self) -> WorkSpec:
        given = [name for name in JOBS if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"work is exactly one of {', '.join(JOBS)}")
        if (self.what in ("tcp", "scp")) != (self.to is not None):
            raise ValueError("work of `tcp` or `scp` needs `to`, and no other has it")
        if self.tcp is not None and (self.tcp.ns % _SECOND or not self.tcp.ns):
            raise ValueError("`tcp` is a whole number of seconds, 1s or more")
        if self.scp is not None and not 0 < self.scp.bytes <= LARGEST_FILE.bytes:
            raise ValueError(f"`scp` is more than 0 and at most {LARGEST_FILE}")
        if self.mpi is None and self.ranks is not None:
            raise ValueError("only work of `mpi` has `ranks`")
        if self.mpi != "hpcc" and self.order is not None:
            raise ValueError("only work of `mpi: hpcc` has `order`")
        if self.tcp is None and "by" in self.model_fields_set:
            raise ValueError("only work of `tcp` has `by`")
        said = self.model_fields_set & {"prepare", "packages", "progress", "result", "unit"}
        if self.command is None and said:
            raise ValueError(f"only work of `command` has `{sorted(said)[0]}`")
        if self.deadline.ns == 0:
            raise ValueError("`deadline` is more than 0")
        if self.tcp is not None and self.deadline <= self.tcp:
            raise ValueError(f"`deadline` is {self.deadline}, and the streams take {self.tcp}")
        return self

    @property
    def what(self) -> str:
        """Return the kind of the work, one of JOBS."""
        return next(name for name in JOBS if getattr(self, name) is not None)

    @property
    def needs(self) -> tuple[str, ...]:
        """Return the packages that its nodes and far nodes need, beyond what every image has."""
        program = self.mpi or (self.by if self.tcp is not None else self.what)
        return (*PACKAGES.get(program, ()), *(self.packages or ()))

    @property
    def equations(self) -> int | None:
        """Return the number of equations that hpcc solves; None for other work."""
        return (self.order or ORDER) if self.mpi == "hpcc" else None

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Return each node of `tcp` or `scp`, with the far node of its stream or file."""
        to = self.to or []
        far = to * len(self.on) if len(to) == 1 else to
        return list(zip(self.on, far, strict=False))
