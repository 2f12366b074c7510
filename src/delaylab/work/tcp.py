"""TCP streams between pairs of nodes, by iperf3."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from delaylab.agent.requests import Exec
from delaylab.agent.result import AgentError, Result
from delaylab.agent.session import Session
from delaylab.lab.running import Lab
from delaylab.loads.programs import start
from delaylab.work.jobs import Done, Job, done_of, last_line

_FIRST_PORT, _LAST_PORT = 21_000, 30_000
_OFTEN = ("--interval", "0.1")
"""The seconds between two reports of progress."""
_LISTENING = (re.compile(rb"Server listening"),)


@contextmanager
def streams(
    lab: Lab,
    pairs: Sequence[tuple[str, str]],
    seconds: int,
    *,
    first: int = 0,
    work: str = "",
    deadline_s: float = 60.0,
) -> Iterator[list[Job]]:
    """Start a server for each pair of nodes; provide the jobs of the first nodes, which send.

    Servers of one stack need different ports, so each has its own, from the `first` on. Raises
    DelaylabError if a server does not start.
    """
    ports = [
        _FIRST_PORT + (first + index) % (_LAST_PORT - _FIRST_PORT) for index in range(len(pairs))
    ]
    servers = [lab.node_session(to) for _, to in pairs]

    def serve(server: Session, port: int) -> None:
        argv = ["iperf3", "--server", "--one-off", "--port", str(port), "--forceflush"]
        start(server, argv, _LISTENING)

    try:
        with ThreadPoolExecutor(max(len(pairs), 1)) as pool:
            list(pool.map(serve, servers, ports))
        yield [
            replace(_client(node, to, port, seconds), work=work, deadline_s=deadline_s)
            for (node, to), port in zip(pairs, ports, strict=True)
        ]
    finally:
        for server in servers:
            server.close()


def _client(node: str, to: str, port: int, seconds: int) -> Job:
    argv = [
        "iperf3",
        "--client",
        to,
        "--port",
        str(port),
        "--time",
        str(seconds),
        *_OFTEN,
        "--json",
    ]
    return Job(node, Exec(argv=argv, hold=True), _sent)


def _sent(result: Result[Any]) -> Done:
    """Return the rate in bit/s that arrived at the far side, as its server counted it."""
    try:
        said = json.loads(result.stdout)
        rate = float(said["end"]["sum_received"]["bits_per_second"])
        progress = tuple(_progress(said["intervals"]))
    except (ValueError, KeyError, TypeError):
        raise AgentError(f"iperf3 said: {_error_line(result)}") from None
    return done_of(result.done, rate, progress=progress)


def _progress(intervals: Sequence[Any]) -> Iterator[tuple[int, float]]:
    """Yield the bits that the sender had handed to its kernel at the end of each interval."""
    bits = 0.0
    for interval in intervals:
        total = interval["sum"]
        bits += 8 * float(total["bytes"])
        yield round(float(total["end"]) * 1e9), bits


def _error_line(result: Result[Any]) -> str:
    try:
        return str(json.loads(result.stdout)["error"])
    except (ValueError, KeyError, TypeError):
        return last_line(result)
