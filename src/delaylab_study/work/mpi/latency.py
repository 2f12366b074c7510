"""The program `latency`: made of its source on this machine, and what it prints."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources

from delaylab.api.agents import AgentError
from delaylab.api.errors import DelaylabError, NotHere
from delaylab.api.names import host_agent
from delaylab.api.running import LiveLab
from delaylab_study.dataset.records.work import Figure, Latency
from delaylab_study.study_file.work import MpiWork
from delaylab_study.work.folders import WorkFolder, folders
from delaylab_study.work.mpi.settings import FOLDER

PROGRAM = "latency"
COMMAND: Sequence[str] = ("sh", "-c", f'exec "${FOLDER}/{PROGRAM}"')
_MOST = 1000
_COMPILER = "mpicc.openmpi"


def put(lab: LiveLab, nodes: Sequence[WorkFolder], _: MpiWork) -> None:
    """Compile the program on this machine, and put it into the folders of its nodes.

    Raises NotHere if it cannot be compiled.
    """
    source = resources.files("delaylab_study.work.mpi").joinpath("latency.c").read_bytes()
    host = host_agent(lab.plan.nodes[nodes[0].node].host)
    with folders(lab, [host], nodes[0].work) as made:
        path = made[host].file(PROGRAM)
        try:
            made[host].run(_COMPILER, "-O2", "-x", "c", "-o", path, "-", given=source)
        except DelaylabError as error:
            fix = "apt-get install libopenmpi-dev gcc"
            what = f"the program of `mpi: latency` cannot be made: {error.what}"
            raise NotHere(what, fix=fix) from error
        program = made[host].run("cat", path)
    for node in nodes:
        node.write(PROGRAM, program)
        node.run("chmod", "700", node.file(PROGRAM))


def read(output: bytes, _: WorkFolder) -> tuple[list[Latency], list[Figure]]:
    """Return the latencies that the program printed; raise AgentError if they are none."""
    try:
        said = [json.loads(line) for line in output.splitlines() if line.startswith(b"{")]
        found = [Latency.model_validate(each) for each in said]
    except ValueError as error:
        raise AgentError(f"latency printed no latencies: {error}") from None
    if not 0 < len(found) <= _MOST:
        raise AgentError(f"latency printed {len(found)} latencies")
    return found, []
