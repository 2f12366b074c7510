"""TCP streams between nodes: each sends to the next one, all at once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from delaylab.agent.replies import Exit
from delaylab.agent.requests import Exec
from delaylab.agent.result import AgentError, Result
from delaylab.lab.running import Lab
from delaylab.loads.programs import start
from delaylab.work.jobs import Done, Job, own_cpu_s

_FIRST_PORT = 21_000
"""The port of the first node's server; nodes of one stack need different ones."""
_LISTENING = (re.compile(rb"Server listening"),)


@contextmanager
def streams(lab: Lab, nodes: Sequence[str], seconds: int) -> Iterator[list[Job]]:
    """Start a server in each node; provide the jobs that send, from each node to the next.

    The last node sends to the first. Raises DelaylabError if a server does not start.
    """
    ports = {node: _FIRST_PORT + index for index, node in enumerate(nodes)}
    servers = {node: lab.node_session(node) for node in nodes}

    def serve(node: str) -> None:
        argv = ["iperf3", "--server", "--one-off", "--port", str(ports[node]), "--forceflush"]
        start(servers[node], argv, _LISTENING)

    try:
        with ThreadPoolExecutor(len(nodes)) as pool:
            list(pool.map(serve, nodes))
        yield [
            _client(node, to, ports[to], seconds)
            for node, to in zip(nodes, [*nodes[1:], nodes[0]], strict=True)
        ]
    finally:
        for server in servers.values():
            server.close()


def _client(node: str, to: str, port: int, seconds: int) -> Job:
    argv = ["iperf3", "--client", to, "--port", str(port), "--time", str(seconds), "--json"]
    return Job(node, Exec(argv=argv, hold=True), _sent, endless=False)


def _sent(result: Result[Any]) -> Done:
    """Return the rate in bit/s that arrived at the far side, as its server counted it."""
    done: Exit = result.done
    try:
        said = json.loads(result.stdout)
        rate = float(said["end"]["sum_received"]["bits_per_second"])
    except (ValueError, KeyError, TypeError):
        raise AgentError(f"iperf3 said: {_last_line(result)}") from None
    return Done(rate, own_cpu_s(done))


def _last_line(result: Result[Any]) -> str:
    try:
        return str(json.loads(result.stdout)["error"])
    except (ValueError, KeyError, TypeError):
        said = (result.stderr or result.stdout).decode(errors="replace").strip().splitlines()
        return said[-1] if said else "nothing"
