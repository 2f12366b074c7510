"""Loads in nodes, by their agents: stress-ng, iperf3's TCP, frames, requests, any command.

The stressors follow Whiteaker et al. 2011, section 3.3: CPU loops over sqrt(), I/O over sync(),
disk alternates write() and unlink(), memory maps, touches and unmaps; network is two TCP
connections that send in opposite directions through the measured interface.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager

from delaylab.api.errors import NotHere
from delaylab.api.running import LiveLab
from delaylab_study.loads.command import command
from delaylab_study.loads.frames import find_rate, frames
from delaylab_study.loads.network import network
from delaylab_study.loads.requests import requests
from delaylab_study.loads.state import Achieved, FoundRate, RunningLoads
from delaylab_study.loads.stressors import stressor
from delaylab_study.study_file.combine import Combination
from delaylab_study.study_file.loads import (
    CommandLoad,
    FramesLoad,
    HeldFramesLoad,
    LoadSpec,
    NetworkLoad,
    RequestsLoad,
    StressorLoad,
)
from delaylab_study.study_file.work import TcpWork

__all__ = [
    "Achieved",
    "FoundRate",
    "RunningLoads",
    "find_rate",
    "require_tools",
    "running",
]


def require_tools(trials: Iterable[Combination]) -> None:
    """Raise NotHere, with what to install, if this machine lacks a program of loads or of work.

    Containers and virtual machines have the programs in their images.
    """
    tools = {tool for trial in trials for tool in _tools(trial)}
    missing = sorted(tool for tool in tools if shutil.which(tool) is None)
    if missing:
        names = " ".join(missing)
        raise NotHere(f"the study's loads and work need {names}", fix=f"apt-get install {names}")


def _tools(trial: Combination) -> Iterator[str]:
    """Yield the programs that nodes with this machine's files run in a trial."""
    here = {name for name, node in trial.lab.nodes.items() if not node.own_root}
    for load in trial.loads:
        if isinstance(load, StressorLoad | NetworkLoad) and here & {*load.nodes}:
            yield "iperf3" if isinstance(load, NetworkLoad) else "stress-ng"
    for work in trial.work:
        if isinstance(work, TcpWork) and work.by == "iperf3" and here & {*work.nodes}:
            yield "iperf3"


@contextmanager
def running(
    lab: LiveLab,
    loads: tuple[LoadSpec, ...],
    probed: str | None = None,
    known: Sequence[FoundRate] = (),
    foreseen_s: float | None = None,
) -> Iterator[RunningLoads]:
    """Run loads for the length of a block: all are active when it begins, all stopped when it ends.

    Rates of `frames: held` that are not `known` are searched before, one by one, while no load is
    active. `probed` is the link by which a probe's packets arrive; these are not counted as a
    load's. `foreseen_s` is how long the block will last, if that is known.
    """
    searched = [load for load in loads if isinstance(load, HeldFramesLoad)]
    found = [load for load, _ in known]
    rates = [(load, find_rate(lab, load)) for load in searched if load not in found]
    state = RunningLoads([*known, *rates], probed, foreseen_s)
    with ExitStack() as stack:
        # What is counted starts last and ends first, so that the other loads are active meanwhile.
        counted = (FramesLoad, RequestsLoad)
        for together in (
            [load for load in loads if not isinstance(load, counted)],
            [load for load in loads if isinstance(load, counted)],
        ):
            starts = [_started(lab, load, state) for load in together]
            # Started in parallel, since each takes seconds in an emulated machine.
            with ThreadPoolExecutor(max(len(starts), 1)) as pool:
                list(pool.map(stack.enter_context, starts))
        yield state


def _started(lab: LiveLab, load: LoadSpec, state: RunningLoads) -> AbstractContextManager[None]:
    """Run one load for the length of a block."""
    match load:
        case StressorLoad():
            return stressor(lab, load, state)
        case CommandLoad():
            return command(lab, load, state)
        case NetworkLoad():
            return network(lab, load, state)
        case FramesLoad():
            return frames(lab, load, state)
        case RequestsLoad():
            return requests(lab, load, state)
        case _:
            raise NotImplementedError(load.what)
