"""A link with conditions delays packets as configured: that time is no layer of the machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from delaylab.analysis.analyse import groups
from delaylab.analysis.claims.judge import judge
from delaylab.analysis.claims.own import claim_of
from delaylab.charts.layer_table import layers
from delaylab.dataset.store import read_study
from delaylab.report.html import write_report
from delaylab.spec.study.claims import ClaimSpec
from tests import synthetic
from tests.report.cases import LINKS
from tests.synthetic import Condition, constant

IN_LINK_US, IN_NODE_US = 1000.0, 7.0
HOPS = [{"link": "lan", "start": "probe", "end": "echo", "near": "sender.vif"}]


def write(place: Path, *, by_engine: bool) -> Path:
    """A trial whose requests take 1 ms from the virtual interface to the uplink."""
    condition = Condition(
        "netns",
        "rest",
        default=constant(IN_NODE_US),
        delays={("request", "sender.uplink"): constant(IN_LINK_US)},
        links=LINKS if by_engine else [],
    )
    synthetic.write_study(place, synthetic.study([condition], []))
    record = synthetic.trial(condition, 0) | {"hops": HOPS}
    synthetic.write_trial(place, record, *synthetic.tables(condition), synthetic.hosts())
    return place


@pytest.mark.parametrize("by_engine", [True, False])
def test_the_links_delay_is_not_the_hosts(tmp_path: Path, by_engine: bool) -> None:
    (group,) = groups(read_study(write(tmp_path, by_engine=by_engine)))
    host = group.deltas["Δhost"].median.value
    (part,) = layers([group])
    # On the way out the packet leaves the uplink; on the way back it passes uplink and bridge.
    own_us = 3 * IN_NODE_US
    if by_engine:
        assert group.deltas["Δlink"].median.value == pytest.approx(IN_LINK_US, abs=1)
        assert host == pytest.approx(own_us, abs=1)
        assert part.terms == ("Δlink", "Δhost", "Δnode", "ΔUser", "total")
    else:
        assert "Δlink" not in group.deltas
        assert host == pytest.approx(own_us + IN_LINK_US, abs=1)
        assert part.terms == ("Δhost", "Δnode", "ΔUser", "total")
    total = group.deltas["total"].median.value
    assert total is not None
    assert total > IN_LINK_US


@pytest.mark.parametrize("by_engine", [True, False])
def test_the_first_figure_does_not_count_the_link_as_the_senders_side(
    tmp_path: Path, by_engine: bool
) -> None:
    page = write_report(write(tmp_path, by_engine=by_engine)).read_text(encoding="utf-8")
    found = re.search(r"([\d.]+)\s%\sof it on the sender", page)
    assert found is not None
    share = float(found[1])
    assert (share < 10) is by_engine
    assert ("without the emulated link" in page) is by_engine
    assert ("Δlink = the time of a request in the emulated link" in page) is by_engine


@pytest.mark.parametrize("by_engine", [True, False])
def test_a_claim_can_be_about_all_but_the_links(tmp_path: Path, by_engine: bool) -> None:
    """`added.total` has the link's delay on the way out in it, as the field says."""
    (group,) = groups(read_study(write(tmp_path, by_engine=by_engine)))
    limits = {"of": "rtt.without-links", "median": {"at-most": "500us"}}
    found = judge(claim_of(ClaimSpec.model_validate({"claim": "small", **limits})), [group])
    assert found.effect == pytest.approx(9 * IN_NODE_US + (0 if by_engine else IN_LINK_US), abs=1)
    assert found.verdict == ("holds" if by_engine else "does not hold")
