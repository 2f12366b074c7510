"""The program `hpcc`, the HPC Challenge benchmark: its input, and what it found.

Unless a work says otherwise the problem is small, so that a lab of a few nodes takes seconds. Its
rates then compare labs, not computers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isqrt

from delaylab.api.agents import AgentError
from delaylab.api.errors import DelaylabError
from delaylab.api.running import LiveLab
from delaylab_study.dataset.records.work import Figure, Latency
from delaylab_study.study_file.work import MpiWork
from delaylab_study.work.folders import WorkFolder

COMMAND: Sequence[str] = ("hpcc",)
_INPUT, _OUTPUT = "hpccinf.txt", "hpccoutf.txt"
_BLOCK = 40
"""The order of the blocks of equations that are sent."""
_LINES = (
    "HPLinpack benchmark input file",
    "delaylab",
    "HPL.out output file name",
    "8 device out",
    "1 number of problem sizes",
    "{order} Ns",
    "1 number of NBs",
    f"{_BLOCK} NBs",
    "0 PMAP",
    "1 number of process grids",
    "{rows} Ps",
    "{columns} Qs",
    "16.0 threshold",
    *("1 number of panel factorisations", "2 PFACTs"),
    *("1 number of recursive stopping criteria", "4 NBMINs"),
    *("1 number of panels in recursion", "2 NDIVs"),
    *("1 number of recursive panel factorisations", "1 RFACTs"),
    *("1 number of broadcasts", "1 BCASTs"),
    *("1 number of lookahead depths", "1 DEPTHs"),
    *("2 SWAP", "64 swapping threshold"),
    *("0 L1 transposed", "0 U transposed", "1 equilibration", "8 memory alignment"),
    "this line is ignored",
    *("0 additional problem sizes for PTRANS", "1200 values of N"),
    *("0 additional block sizes for PTRANS", "40 values of NB"),
)
_FIGURES = {
    "AvgPingPongLatency_usec": ("ping-pong-one-way", 1e3, "ns"),
    "NaturallyOrderedRingLatency_usec": ("ring-per-message", 1e3, "ns"),
    "RandomlyOrderedRingLatency_usec": ("random-ring-per-message", 1e3, "ns"),
    "AvgPingPongBandwidth_GBytes": ("ping-pong", 1e9, "B/s"),
    "NaturallyOrderedRingBandwidth_GBytes": ("ring", 1e9, "B/s"),
    "RandomlyOrderedRingBandwidth_GBytes": ("random-ring", 1e9, "B/s"),
    "PTRANS_GBs": ("transposition", 1e9, "B/s"),
    "HPL_N": ("linpack-order", 1, "equations"),
    "HPL_Tflops": ("linpack", 1e12, "flop/s"),
    "MPIFFT_Gflops": ("fft", 1e9, "flop/s"),
    "MPIRandomAccess_GUPs": ("random-access", 1e9, "updates/s"),
}
"""hpcc's names of its figures; ours, the factor to our unit, and that unit.

Latency is half of a round trip of 8 bytes, and the mean of all pairs. In a ring each rank sends to
both neighbours and receives from both at once; the time of that is divided by its two messages.
"""


def put(_: LiveLab, nodes: Sequence[WorkFolder], work: MpiWork) -> None:
    """Write the program's input where rank 0 reads it."""
    nodes[0].write(_INPUT, input_of((work.ranks or 1) * len(nodes), work.order))


def input_of(ranks: int, order: int) -> bytes:
    """Return the input for so many equations, by ranks in a grid as square as possible."""
    rows = next(each for each in range(isqrt(ranks), 0, -1) if ranks % each == 0)
    lines = "\n".join(_LINES).format(order=order, rows=rows, columns=ranks // rows)
    return f"{lines}\n".encode()


def read(_: bytes, first: WorkFolder) -> tuple[list[Latency], list[Figure]]:
    """Return what the program found, which is in a file of the first node.

    Raises AgentError if the file lacks a figure, or says that a result was wrong.
    """
    try:
        text = first.run("cat", first.file(_OUTPUT)).decode(errors="replace")
    except DelaylabError as error:
        raise AgentError(f"hpcc wrote no results: {error.what}") from None
    return [], figures_of(text)


def figures_of(text: str) -> list[Figure]:
    """Return the figures of the program's summary; raise AgentError if it is not whole."""
    said = dict(re.findall(r"^(\w+)=(\S+)$", text, re.MULTILINE))
    if "Success" not in said:
        raise AgentError("hpcc's summary is incomplete")
    if said["Success"] != "1":
        raise AgentError("hpcc found wrong results")
    return [
        Figure(name=name, value=_number(said, key) * factor, unit=unit)
        for key, (name, factor, unit) in _FIGURES.items()
    ]


def _number(said: dict[str, str], key: str) -> float:
    if key not in said:
        raise AgentError(f"hpcc's summary has no {key}")
    try:
        return float(said[key])
    except ValueError:
        raise AgentError(f"hpcc's {key} is no number: {said[key]!r}") from None
