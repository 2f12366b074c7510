"""Servers of TCP streams, and the jobs of the nodes that send to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Protocol

from delaylab.api.agents import Exec, ExecDone, Result, Session
from delaylab.api.running import LiveLab
from delaylab_study.study_file.work import TCP_PROGRAMS, TcpProgram
from delaylab_study.work.jobs import Job, JobResult
from delaylab_study.work.tcp import iperf3, nuttcp

_FIRST_PORT, _PORTS = 21_000, 4_500
"""The servers' ports. A server may need a second one, which is `_PORTS` higher."""


class StreamProgram(Protocol):
    """A program that sends a stream of TCP to a server of its own kind, which counts it."""

    def serve(self, session: Session, ports: tuple[int, int], /) -> None:
        """Start a server for one stream; return when it listens."""

    def client(self, to: str, ports: tuple[int, int], seconds: int, /) -> list[str]:
        """Return the command that sends to such a server."""

    def read(self, result: Result[ExecDone], /) -> JobResult:
        """Return the rate in bit/s that arrived; raise AgentError if the stream failed."""


PROGRAMS: dict[TcpProgram, StreamProgram] = dict(zip(TCP_PROGRAMS, (iperf3, nuttcp), strict=True))


@contextmanager
def streams(
    lab: LiveLab,
    pairs: Sequence[tuple[str, str]],
    seconds: int,
    *,
    by: TcpProgram = "iperf3",
    first: int = 0,
    work: str = "",
    deadline_s: float = 60.0,
) -> Iterator[list[Job]]:
    """Start a server for each pair of nodes; provide the jobs of the first nodes, which send.

    Servers of one stack need different ports, so each has its own, from the `first` on. Raises
    DelaylabError if a server does not start.
    """
    program = PROGRAMS[by]
    own = [_FIRST_PORT + (first + index) % _PORTS for index in range(len(pairs))]
    ports = [(port, port + _PORTS) for port in own]
    servers = [lab.node_session(to) for _, to in pairs]
    try:
        with ThreadPoolExecutor(max(len(pairs), 1)) as pool:
            list(pool.map(program.serve, servers, ports))
        yield [
            Job(
                node,
                Exec(argv=program.client(to, port, seconds), hold=True),
                program.read,
                work=work,
                deadline_s=deadline_s,
            )
            for (node, to), port in zip(pairs, ports, strict=True)
        ]
    finally:
        for server in servers:
            server.close()
