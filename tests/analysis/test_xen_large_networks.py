"""xen-large-networks on trials whose shares are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from delaylab_papers.xen_large_networks import published
from delaylab_papers.xen_large_networks.claims import CLAIMS
from delaylab_papers.xen_large_networks.figures import tables
from delaylab_papers.xen_large_networks.mpi_claims import CLAIMS as MPI_CLAIMS
from delaylab_papers.xen_large_networks.mpi_measures import REAL
from delaylab_papers.xen_large_networks.mpi_world import MpiTruth
from delaylab_papers.xen_large_networks.world import Truth, drawn
from delaylab_study.analysis.claims.imagined import Design
from delaylab_study.analysis.claims.judge import judge
from delaylab_study.analysis.fairness import jain
from delaylab_study.analysis.group import Group
from delaylab_study.charts.tables import Table
from delaylab_study.dataset.records.work import Figure, WorkDone

RANDOM_SEED = 1
KINDS = ("linux", "lxc", "uml")
OF_MPI = ("linux", "lxc", "qemu")


def groups(truth: Truth) -> list[Group]:
    random = np.random.default_rng(RANDOM_SEED)
    return [
        drawn(truth, Design({"kind": kind, "n": "5", "work": work}, kind, trials=3), random)
        for kind in KINDS
        for work in ("cpu", "network", "scp")
    ]


def measured(claim: str, found: list[Group]) -> dict[str, float]:
    criterion = CLAIMS[claim].criteria[0]
    return {each.scenario: each.effect.value for each in criterion.measure(found)}


def test_the_papers_own_shares_are_whole() -> None:
    for shares in (published.NETPERF_5, published.NETPERF_5_PROCESSES):
        assert shares.sum() == pytest.approx(100, abs=0.05)


def test_the_papers_own_fairness_is_found() -> None:
    exact = Truth(noise=0.0)
    found = measured("network-shared-as-by-processes", groups(exact))
    assert found["uml, 5 nodes"] == pytest.approx(published.NETWORK_JAIN_LESS["5"], abs=1e-6)


def test_the_share_that_is_furthest_from_the_equal_one_is_found() -> None:
    equal = Truth(cpu_spread=0.0, noise=0.0)
    found = measured("cpu-work-shared-equally", groups(equal))
    assert found["uml, 5 nodes"] == pytest.approx(0, abs=1e-6)
    apart = measured("cpu-work-shared-equally", groups(replace(equal, cpu_spread=1.0)))
    assert 0.01 < apart["uml, 5 nodes"] < max(published.CPU_DEVIATION.values())


def test_only_whole_systems_decide_on_shares_and_others_are_shown() -> None:
    found = judge(CLAIMS["cpu-work-shared-equally"], groups(Truth()))
    for criterion in found.criteria:
        aside = {each.name: each.aside for each in criterion.scenarios}
        assert aside == {"linux, 5 nodes": True, "lxc, 5 nodes": True, "uml, 5 nodes": False}


def test_a_table_has_the_papers_numbers_beside_ours() -> None:
    (table,) = tables(groups(Truth(noise=0.0)))
    assert isinstance(table, Table)
    rows = {str(row[0]): row for row in table.rows}
    paper = f"{jain(published.NETPERF_5):.3f}"
    assert rows["uml"][4] == (paper, paper)
    assert rows["lxc"][4] == paper
    assert rows["uml"][5] == "100 Mbit/s"


def test_a_study_without_this_work_has_no_table() -> None:
    assert tables([]) == []


def test_of_scp_processes_decide_one_claim_and_machines_the_other() -> None:
    found = groups(Truth())
    for name, deciding in (
        ("scp-shared-equally-by-processes", ["linux, 5 nodes"]),
        ("scp-shared-less-equally-by-machines", ["uml, 5 nodes"]),
    ):
        for criterion in judge(CLAIMS[name], found).criteria:
            assert [each.name for each in criterion.scenarios if not each.aside] == deciding
    # Machines are spread as in netperf, and processes equal: what is between is netperf's own.
    effects = measured("scp-shared-less-equally-by-machines", found)
    assert effects["uml, 5 nodes"] == pytest.approx(jain(published.NETPERF_5) - 1, abs=0.01)


def of_mpi(truth: MpiTruth, kinds: Sequence[str] = (*OF_MPI, REAL)) -> list[Group]:
    random = np.random.default_rng(RANDOM_SEED)
    exact = Truth(noise=0.0, mpi=replace(truth, noise=0.0))
    levels = [(kind, work) for kind in kinds for work in ("mpi", "messages")]
    return [
        drawn(exact, Design({"kind": kind, "n": "4", "work": work}, kind, trials=3), random)
        for kind, work in (*levels, ("linux", "messages-across"))
    ]


def of_criterion(claim: str, found: list[Group]) -> dict[str, tuple[float, bool]]:
    (criterion,) = judge(MPI_CLAIMS[claim], found).criteria
    return {each.name: (round(each.effect, 6), each.aside) for each in criterion.scenarios}


def test_run_times_of_mpi_are_told_over_those_of_processes() -> None:
    found = of_criterion("mpi-little-slower-on-machines", of_mpi(MpiTruth(slower=1.25)))
    assert found == {"lxc, 4 nodes": (1.0, True), "qemu, 4 nodes": (1.25, False)}


def test_n_times_the_time_on_real_computers_is_compared() -> None:
    found = of_criterion("mpi-real-times-n-as-on-machines", of_mpi(MpiTruth(times_n=0.8)))
    assert found["qemu, 4 nodes"] == (0.8, False)


def test_without_real_computers_nothing_is_said_of_them() -> None:
    claim = MPI_CLAIMS["mpi-real-times-n-as-on-machines"]
    assert judge(claim, of_mpi(MpiTruth(), OF_MPI)).verdict == "not testable here"


def test_a_solver_that_mostly_sends_messages_decides_nothing() -> None:
    """As hpcc does with 500 equations."""
    few = Figure(name="linpack-order", value=500, unit="equations")

    def smaller(done: WorkDone) -> WorkDone:
        figures = [few if each.name == few.name else each for each in done.figures]
        return done.model_copy(update={"figures": figures})

    found = [
        replace(
            group,
            trials=[
                trial.model_copy(update={"work": [smaller(each) for each in trial.work]})
                for trial in group.trials
            ],
        )
        for group in of_mpi(MpiTruth())
    ]
    assert judge(MPI_CLAIMS["mpi-little-slower-on-machines"], found).criteria == ()


def test_a_kernel_in_user_space_does_not_say_how_much_slower_machines_are() -> None:
    found = judge(MPI_CLAIMS["mpi-little-slower-on-machines"], of_mpi(MpiTruth(), ("linux", "uml")))
    assert found.verdict == "not testable here"
    assert "here are uml" in found.why


def test_messages_of_one_host_are_told_over_those_on_the_wire() -> None:
    found = of_criterion("mpi-messages-faster-on-one-host", of_mpi(MpiTruth(near=0.4)))
    assert found["qemu, round-trip"] == found["qemu, exchange"] == (0.4, False)
    assert found["linux, exchange"] == (0.4, True)


def test_a_table_has_run_times_and_round_trips_of_mpi() -> None:
    (table,) = tables(of_mpi(MpiTruth(slower=1.25, near=0.4)))
    rows = {str(row[0]): row for row in table.rows}
    assert rows["qemu"][2:] == ["1.25 s", "1.25 ×", "40.0 µs", "–"]
    assert rows["linux"][2:] == ["1.00 s", "1.00 ×", "40.0 µs", "100 µs"]
