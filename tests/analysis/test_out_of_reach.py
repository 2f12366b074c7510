"""Claims that a study cannot test: its paper's own numbers do not show them at its levels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from delaylab_papers.whiteaker2011.paper import PAPER as WHITEAKER
from delaylab_study.analysis.analyse import groups
from delaylab_study.analysis.claims.finding import Finding
from delaylab_study.analysis.claims.imagined import Design, design_of
from delaylab_study.dataset.store import read_study
from delaylab_study.papers import calls
from delaylab_study.papers.expected import Imagined, out_of_reach, random_of
from delaylab_study.papers.findings import findings
from delaylab_study.papers.paper import Paper
from delaylab_study.papers.toolkit import (
    Claim,
    Criterion,
    Group,
    Measured,
    Random,
    Source,
    at_least,
    estimate,
    imagined,
    of_medians,
)
from delaylab_study.papers.toolkit import lognormal as lognormal_us
from tests import synthetic
from tests.grouped import of_packets
from tests.synthetic import Condition, lognormal

FEW, AS_THE_PAPER = ("1", "4"), ("8", "128")


def climb(found: list[Group]) -> list[Measured]:
    few, most = sorted(found, key=lambda group: int(group.factors["vms"]))
    series = [of_packets(group).series("app") for group in (most, few)]
    return [Measured("most against fewest", estimate(series, RATIO), (most, few))]


def as_published(design: Design, random: Random) -> Group:
    """Return trials whose RTT is five times as long with 128 guests, and else the same."""
    median_us = 500.0 if design.levels["vms"] == "128" else 100.0
    return imagined(design, {"app": lognormal_us(random, design.packets, median_us)})


RATIO = of_medians(lambda most, few: most / few)
CLIMBS = Claim(
    "climbs",
    "The RTT climbs with the guests.",
    Source("section 1"),
    (Criterion("median RTT: most guests ÷ fewest", "times", at_least(1.5), climb, "guests"),),
)
CLIMBERS = Paper("climbers", (CLIMBS,), world=as_published)


def levels(vms: str) -> dict[str, str]:
    return {"vms": vms, "load": "cpu"}


def measured(place: Path, counts: tuple[str, str], both_us: tuple[float, float]) -> Finding:
    """The finding on these numbers of guests, whose RTTs have these medians."""
    conditions = [
        Condition(
            "lxc",
            "cpu",
            kind="lxc",
            packets=400,
            seed=seed,
            delays={("request", "sender.vif"): lognormal(us, 0.05)},
            factors=levels(vms),
        )
        for seed, (vms, us) in enumerate(zip(counts, both_us, strict=True))
    ]
    study = read_study(synthetic.write(place, conditions, [CLIMBS.id], CLIMBERS.name))
    (found,) = findings(study, list(groups(study)), CLIMBERS)
    return found


def test_a_claim_is_not_contradicted_at_levels_where_the_papers_numbers_contradict_it(
    tmp_path: Path,
) -> None:
    flat = (200.0, 200.0)
    found = measured(tmp_path / "few", FEW, flat)
    assert found.verdict == "not testable here"
    assert found.why.startswith(
        "needs other levels: trials at these levels, drawn from the paper's"
    )
    assert "as measured here it would be contradicted" in found.why
    assert found.criteria, "what was measured is shown"
    assert "times as many trials" not in found.why
    assert found.out_of_reach
    at_the_papers = measured(tmp_path / "many", AS_THE_PAPER, flat)
    assert at_the_papers.verdict == "contradicted"
    assert at_the_papers.out_of_reach == ""


def test_at_levels_of_the_paper_a_claim_can_be_reproduced(tmp_path: Path) -> None:
    assert measured(tmp_path / "a", AS_THE_PAPER, (200.0, 2000.0)).verdict == "reproduced"
    # One that is seen where the paper's numbers do not show it is no reproduction either.
    assert measured(tmp_path / "b", FEW, (200.0, 2000.0)).verdict == "not testable here"


def test_too_few_packets_for_the_papers_own_numbers_are_too_few() -> None:
    """Receipts are rarely slow: of 40 packets, none shows how rarely."""
    claim = next(claim for claim in WHITEAKER.claims if claim.id == "receiving-small")
    levels = {"environment": "native", "load": "network"}

    def reason(packets: int) -> str:
        design = Design(levels, "native", "network", packets=packets)
        return out_of_reach(Imagined([design]).expected(WHITEAKER, claim))

    assert reason(4000) == ""
    assert reason(40).startswith("needs more packets or repeats: as many trials at these levels")
    assert "leave it open" in reason(40)


def test_what_is_drawn_for_some_levels_does_not_depend_on_others() -> None:
    eight, four = (Design(levels(vms), "lxc", "cpu", packets=50) for vms in ("8", "4"))
    [alone] = Imagined([eight]).drawn(CLIMBERS, 0)
    [other, among] = Imagined([four, eight]).drawn(CLIMBERS, 0)
    samples = [of_packets(each).samples for each in (alone, among, other)]
    assert samples[0].equals(samples[1])
    assert not samples[0].equals(samples[2])


def test_levels_without_published_numbers_are_left_out_of_what_is_drawn() -> None:
    known = Design({"environment": "native", "load": "rest"}, "native", packets=50)
    unknown = replace(known, kind="uml")
    assert calls.world(WHITEAKER, known, random_of(known, 0)) is not None
    assert calls.world(WHITEAKER, unknown, random_of(unknown, 0)) is None
    claim = WHITEAKER.claims[0]
    expected = Imagined([unknown]).expected(WHITEAKER, claim)
    assert expected is not None
    assert expected.verdict == "not testable here"
    assert out_of_reach(expected) == expected.why


@pytest.mark.parametrize("emulated", [True, False])
def test_the_design_of_trials_that_ran_is_theirs(tmp_path: Path, emulated: bool) -> None:
    warning = {"kind": "emulated", "message": "no KVM", "remedy": ""}
    conditions = [
        Condition(
            "lxc",
            "cpu",
            kind="lxc",
            packets=100,
            at_rest=10,
            repeat=repeat,
            lost_after={3: ("request", "wire")},
            factors={"kind": "lxc", "load": "cpu"},
            warnings=[warning] if emulated else [],
        )
        for repeat in (1, 2)
    ]
    study = read_study(synthetic.write(tmp_path, conditions))
    (group,) = groups(study)
    found = design_of(group)
    assert (found.levels, found.kind, found.load) == (conditions[0].factors, "lxc", "cpu")
    assert (found.packets, found.trials, found.emulated) == (100, 2, emulated)
    assert found.cpus == group.machine.state.cpus
