"""A link with conditions delays packets as configured: that time is no layer of the machine."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from delaylab_study.analysis.analyse import groups
from delaylab_study.analysis.claims.judge import judge
from delaylab_study.analysis.claims.own import claim_of
from delaylab_study.charts.layer_table import layers
from delaylab_study.dataset.store import read_study
from delaylab_study.report.html import write_report
from delaylab_study.study_file.claims import ClaimSpec
from tests import synthetic
from tests.report.cases import LINKS
from tests.synthetic import Clock, Condition, constant

IN_LINK_US, IN_NODE_US = 1000.0, 7.0
HOPS = [{"link": "lan", "start": "probe", "end": "echo", "near": "sender.vif"}]


def write(place: Path, *, by_engine: bool, clocks: dict[str, Clock] | None = None) -> Path:
    """A trial whose requests take 1 ms from the virtual interface to the uplink."""
    condition = Condition(
        "netns",
        "rest",
        default=constant(IN_NODE_US),
        delays={("request", "sender.uplink"): constant(IN_LINK_US)},
        links=LINKS if by_engine else [],
        clocks=clocks or {},
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


FAR = dict.fromkeys(("sender.uplink", "wire", "responder"), Clock("realtime@far", 10**9, 30e-6))
"""The clock of all from the link's far end on; only the packets say how far it is ahead."""


def test_all_but_the_links_has_the_error_of_two_clocks(tmp_path: Path) -> None:
    """The truth is known: the link takes 1 ms one way alone, so an alignment is half of it off."""
    (group,) = groups(read_study(write(tmp_path, by_engine=True, clocks=FAR)))
    assert group.packets is not None
    off_us = group.packets.bounds["without links"]
    claim = {"claim": "small", "of": "rtt.without-links", "median": {"at-most": "300us"}}
    found = judge(claim_of(ClaimSpec.model_validate(claim)), [group])
    truth_us = 9 * IN_NODE_US
    assert found.effect is not None
    assert found.effect - truth_us > 300, "else the bound would not be needed"
    assert abs(found.effect - truth_us) <= off_us + 1
    assert off_us < 2 * IN_LINK_US
    # Without the bound it would not hold, which is wrong.
    assert found.verdict == "open"


def test_a_ratio_of_what_two_clocks_leave_open_is_refused(tmp_path: Path) -> None:
    (group,) = groups(read_study(write(tmp_path, by_engine=True, clocks=FAR)))
    claim = {"claim": "x", "of": "rtt.without-links", "median": {"at-most": "2x"}, "against": {}}
    found = judge(claim_of(ClaimSpec.model_validate(claim)), [group, replace(group)])
    assert found.verdict == "open"
    assert "state the limits in µs" in str(found)


@pytest.mark.parametrize("quantity", ["one-way.sending", "one-way.receiving"])
def test_a_claim_about_two_clocks_has_their_error_in_its_interval(
    tmp_path: Path, quantity: str
) -> None:
    (group,) = groups(read_study(write(tmp_path, by_engine=True, clocks=FAR)))
    assert group.packets is not None
    claim = claim_of(
        ClaimSpec.model_validate({"claim": "x", "of": quantity, "median": {"at-most": "1ms"}})
    )
    (measured,) = claim.criteria[0].measure([group])
    low, high = measured.effect.interval
    off_us = group.packets.bounds[quantity.removeprefix("one-way.")]
    assert off_us > 0
    assert high - low >= 2 * off_us
    assert f"± {off_us:.1f} µs" in measured.words
