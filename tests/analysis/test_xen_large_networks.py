"""xen-large-networks on trials whose shares are known."""

from __future__ import annotations

import numpy as np
import pytest

from delaylab.analysis.claims.imagined import Design
from delaylab.analysis.fairness import jain
from delaylab.analysis.group import Group
from delaylab.charts.tables import Table
from delaylab.papers.xen_large_networks import published
from delaylab.papers.xen_large_networks.claims import CLAIMS
from delaylab.papers.xen_large_networks.figures import tables
from delaylab.papers.xen_large_networks.world import Truth, drawn

RANDOM_SEED = 1
KINDS = ("linux", "lxc", "uml")


def groups(truth: Truth) -> list[Group]:
    random = np.random.default_rng(RANDOM_SEED)
    return [
        drawn(truth, Design({"kind": kind, "n": "5", "work": work}, kind, trials=3), random)
        for kind in KINDS
        for work in ("cpu", "network", "scp")
    ]


def measured(claim: str, found: list[Group]) -> dict[str, float]:
    (criterion,) = CLAIMS[claim].criteria
    return {each.scenario: each.effect.value for each in criterion.measure(found)}


def test_the_papers_own_shares_are_whole() -> None:
    for shares in (published.POVRAY_10, published.NETPERF_5, published.NETPERF_5_PROCESSES):
        assert shares.sum() == pytest.approx(100, abs=0.05)


def test_the_papers_own_fairness_is_found() -> None:
    exact = Truth(noise=0.0)
    found = measured("network-shared-as-by-processes", groups(exact))
    assert found["uml, 5 nodes"] == pytest.approx(published.NETWORK_JAIN_LESS["5"], abs=1e-6)


def test_equal_shares_are_fair() -> None:
    equal = Truth(cpu_spread=0.0, noise=0.0)
    assert measured("cpu-work-shared-equally", groups(equal))["uml, 5 nodes"] == pytest.approx(1)


def test_only_machines_decide_and_others_are_shown() -> None:
    (criterion,) = CLAIMS["cpu-work-shared-equally"].criteria
    aside = {each.scenario: each.aside for each in criterion.measure(groups(Truth()))}
    assert aside == {"linux, 5 nodes": True, "lxc, 5 nodes": True, "uml, 5 nodes": False}


def test_the_streams_of_all_nodes_are_added() -> None:
    found = measured("streams-fill-the-wire", groups(Truth(filled=0.9)))
    assert found == pytest.approx(dict.fromkeys((f"{kind}, 5 nodes" for kind in KINDS), 0.9))


def test_a_table_has_the_papers_numbers_beside_ours() -> None:
    (table,) = tables(groups(Truth(noise=0.0)))
    assert isinstance(table, Table)
    rows = {str(row[0]): row for row in table.rows}
    paper = f"{jain(published.NETPERF_5):.3f}"
    assert rows["uml"][4] == (paper, paper)
    assert rows["lxc"][4] == paper
    assert rows["uml"][5] == "95.0 Mbit/s"


def test_a_study_without_this_work_has_no_table() -> None:
    assert tables([]) == []


def test_of_scp_processes_decide_one_claim_and_machines_the_other() -> None:
    found = groups(Truth())
    (equal,) = CLAIMS["scp-shared-equally-by-processes"].criteria
    assert [each.scenario for each in equal.measure(found) if not each.aside] == ["linux, 5 nodes"]
    (less,) = CLAIMS["scp-shared-less-equally-by-machines"].criteria
    effects = {each.scenario: each for each in less.measure(found)}
    assert [name for name, each in effects.items() if not each.aside] == ["uml, 5 nodes"]
    # Machines are spread as in netperf, and processes equal: what is between is netperf's own.
    unfair = jain(published.NETPERF_5) - 1
    assert effects["uml, 5 nodes"].effect.value == pytest.approx(unfair, abs=0.01)
