"""The tables of vem2006 on links, and its claims where links are missing or shaped otherwise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from delaylab.analysis.claims.judge import judge
from delaylab.papers.vem2006.links import tables as link_tables
from delaylab.papers.vem2006.links.claims import CLAIMS
from tests.controls.vem2006.links import PAPER, Truth, world


def verdict(claim: str, truth: Truth) -> str:
    return judge(CLAIMS[claim], world(truth)(np.random.default_rng(1))).verdict


@pytest.mark.parametrize("claim", list(CLAIMS))
def test_without_links_no_claim_is_testable(claim: str) -> None:
    assert judge(CLAIMS[claim], []).verdict == "not testable here"


def test_the_byte_budget_is_said_to_be_absent_from_the_engine() -> None:
    found = judge(
        CLAIMS["rate-less-true-for-slow-and-small"],
        world(replace(PAPER, bucket=False))(np.random.default_rng(1)),
    )
    assert found.verdict == "not testable here"
    assert "mechanism absent" in found.why


@pytest.mark.parametrize("lost", [0.0075, 0.0125])
def test_a_share_of_losses_that_is_off_contradicts(lost: float) -> None:
    assert verdict("loss-as-asked", replace(PAPER, lost=lost)) == "contradicted"


def test_frames_that_another_stream_loses_to_a_queue_contradict() -> None:
    """210 000 of its 300 000 frames."""
    assert verdict("loss-as-asked", replace(PAPER, beside=0.7)) == "contradicted"


def test_the_papers_figures_are_filled() -> None:
    groups = world(PAPER)(np.random.default_rng(1))
    tables = {table.title.split(":")[0]: table for table in link_tables.tables(groups)}
    assert list(tables) == ["Figure 16", "Figure 17", "Figure 18", "Figure 19"]
    assert [len(table.rows) for table in tables.values()] == [10, 10, 8, 12]
    row = next(row for row in tables["Figure 18"].rows if row[:2] == ["1450", "10Mbit"])
    assert row[2] == ("9.83", "9.83")
