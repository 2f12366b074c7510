"""Competing work: stress-ng's stressors and iperf3's bulk TCP, run in nodes through their agents.

The stressors follow Whiteaker et al. 2011, section 3.3: CPU loops over sqrt(), I/O over sync(),
disk alternates write() and unlink(), memory maps, touches and unmaps; network is two TCP
connections that send in opposite directions through the measured interface.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

from delaylab.errors import NotHere
from delaylab.lab import Lab
from delaylab.loads.frames import find_rate, frames
from delaylab.loads.network import network
from delaylab.loads.state import Achieved, Running
from delaylab.loads.stressors import stressor
from delaylab.spec import LoadSpec

__all__ = ["Achieved", "Running", "missing_tools", "require_tools", "running"]

KINDS = {"network": network, "frames": frames}
"""What runs a load that is not one of stress-ng's."""


def missing_tools(loads: list[LoadSpec]) -> list[str]:
    """The programs that loads need and this machine does not have."""
    tools = {"iperf3" if load.network else "stress-ng" for load in loads if not load.frames}
    return sorted(tool for tool in tools if shutil.which(tool) is None)


def require_tools(loads: list[LoadSpec]) -> None:
    """NotHere, with what to install, if a load's program is missing."""
    missing = missing_tools(loads)
    if missing:
        names = " ".join(missing)
        raise NotHere(f"the study's loads need {names}", fix=f"apt-get install {names}")


@contextmanager
def running(lab: Lab, loads: tuple[LoadSpec, ...], probed: str | None = None) -> Iterator[Running]:
    """Loads for the length of a block: all at work when it begins, all stopped when it ends.

    Rates that are to be searched for are found before, one by one, while nothing else is at work.
    `probed`: the link by which a probe's packets arrive, which are not counted as a load's.
    """
    rates = [(load, find_rate(lab, load)) for load in loads if load.frames == "held"]
    state = Running(rates, probed)
    with ExitStack() as stack:
        # Frames come last and end first: what is counted of them, others were at work all the time.
        for together in (
            [load for load in loads if load.frames is None],
            [load for load in loads if load.frames is not None],
        ):
            starts = [KINDS.get(load.what, stressor)(lab, load, state) for load in together]
            # Side by side: in an emulated machine each takes seconds.
            with ThreadPoolExecutor(max(len(starts), 1)) as pool:
                list(pool.map(stack.enter_context, starts))
        yield state
