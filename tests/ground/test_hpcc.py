"""Input and output of hpcc, the program of MPI."""

from __future__ import annotations

import pytest

from delaylab.agent.result import AgentError
from delaylab_study.work.mpi.hpcc import figures_of, input_of

SUMMARY = """\
Begin of Summary section.
VersionMajor=1
Success=1
HPL_N=500
HPL_Tflops=0.00584871
PTRANS_GBs=0.629487
MPIRandomAccess_GUPs=0.000940121
MPIFFT_Gflops=0.752702
AvgPingPongLatency_usec=6.09812
RandomlyOrderedRingLatency_usec=6.61205
NaturallyOrderedRingLatency_usec=6.4927
AvgPingPongBandwidth_GBytes=6.63147
NaturallyOrderedRingBandwidth_GBytes=1.49114
RandomlyOrderedRingBandwidth_GBytes=2.29778
End of Summary section.
"""


def test_figures_are_in_units_without_prefix() -> None:
    found = {each.name: each.value for each in figures_of(SUMMARY)}
    units = {each.name: each.unit for each in figures_of(SUMMARY)}
    for name, value, unit in (
        ("ping-pong-one-way", 6098.12, "ns"),
        ("random-ring", 2.29778e9, "B/s"),
        ("linpack-order", 500, "equations"),
        ("linpack", 5.84871e9, "flop/s"),
        ("random-access", 940_121, "updates/s"),
    ):
        assert found[name] == pytest.approx(value)
        assert units[name] == unit
    assert len(found) == 11


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("Success=1", "Success=0", "wrong results"),
        ("HPL_Tflops=0.00584871\n", "", "HPL_Tflops"),
        ("HPL_Tflops=0.00584871", "HPL_Tflops=much", "no number: 'much'"),
        (SUMMARY, "", "incomplete"),
    ],
)
def test_results_that_are_none_are_refused(old: str, new: str, said: str) -> None:
    with pytest.raises(AgentError, match=said):
        figures_of(SUMMARY.replace(old, new))


@pytest.mark.parametrize(
    ("ranks", "grid"), [(2, (1, 2)), (4, (2, 2)), (7, (1, 7)), (12, (3, 4)), (256, (16, 16))]
)
def test_the_grid_holds_all_ranks(ranks: int, grid: tuple[int, int]) -> None:
    lines = input_of(ranks, 3000).decode().splitlines()
    rows, columns = (int(line.split()[0]) for line in lines[10:12])
    assert (rows, columns) == grid
    assert lines[5] == "3000 Ns"
    assert len(lines) == 36
