"""iperf3 as the program of a TCP stream."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from delaylab.api.agents import AgentError, ExecDone, Result, Session
from delaylab_study.loads.programs import start
from delaylab_study.work.jobs import JobResult, done_of, last_line

_OFTEN = ("--interval", "0.1")
"""The seconds between two reports of progress."""
_LISTENING = (re.compile(rb"Server listening"),)


def serve(session: Session, ports: tuple[int, int]) -> None:
    """Start a server for one stream; return when it listens."""
    argv = ["iperf3", "--server", "--one-off", "--port", str(ports[0]), "--forceflush"]
    start(session, argv, _LISTENING)


def client(to: str, ports: tuple[int, int], seconds: int) -> list[str]:
    """Return the command that sends to such a server."""
    where = ["--client", to, "--port", str(ports[0])]
    return ["iperf3", *where, "--time", str(seconds), *_OFTEN, "--json"]


def read(result: Result[ExecDone]) -> JobResult:
    """Return the rate in bit/s that arrived at the far side, as its server counted it.

    Progress is what the sender had handed to its kernel. Raises AgentError if the stream failed.
    """
    try:
        said = json.loads(result.stdout)
        rate = float(said["end"]["sum_received"]["bits_per_second"])
        progress = tuple(_progress(said["intervals"]))
    except (ValueError, KeyError, TypeError):
        raise AgentError(f"iperf3 said: {_error_line(result)}") from None
    return done_of(result.done, rate, progress=progress)


def _progress(intervals: Sequence[dict[str, dict[str, float]]]) -> Iterator[tuple[int, float]]:
    """Yield the bits that the sender had handed to its kernel at the end of each interval."""
    bits = 0.0
    for interval in intervals:
        total = interval["sum"]
        bits += 8 * float(total["bytes"])
        yield round(float(total["end"]) * 1e9), bits


def _error_line(result: Result[ExecDone]) -> str:
    try:
        return str(json.loads(result.stdout)["error"])
    except (ValueError, KeyError, TypeError):
        return last_line(result)
