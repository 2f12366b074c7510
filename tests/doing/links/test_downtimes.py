"""Links that are down in a trial: when they were, what that cost, and whose fault it is not."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import yaml

from delaylab.records.links import Downtime
from delaylab_study.analysis.analyse import groups
from delaylab_study.dataset.store import read_study
from tests.doing.conftest import Run, as_json

pytestmark = pytest.mark.root
WITNESS_S = 0.3
"""By how much a busy machine may shift a change of its timeline, or a packet."""

STUDY = """\
study: outage
lab:
  lab: outage
  nodes: {a: {}, b: {}}
  links: [{between: [a, b], name: wire, delay: 1ms}]
  timeline:
    - {at: 300ms, link: wire, set: {state: STATE}}
    - {at: 800ms, link: wire, set: {state: up}}
probe: {from: a, to: b, count: 300, interval: 5ms, late: 500ms}
"""


@pytest.mark.parametrize("state", ["down", "silent"])
def test_a_trial_says_when_its_link_was_down_and_what_that_cost(
    delaylab: Run, tmp_path: Path, state: str
) -> None:
    (tmp_path / "study.yaml").write_text(STUDY.replace("STATE", state))
    place = tmp_path / "data"
    delaylab("run", str(tmp_path / "study.yaml"), "--out", str(place))
    study = read_study(place)
    (trial,) = study.trials
    assert trial.status == "ok"
    # The witness of the downtime's length is the engine's own record in the trial.
    (report,) = trial.links
    for direction in report.of_nodes:
        (downtime,) = direction.downtimes
        assert (downtime.state, downtime.until_ns is None) == (state, False)
        length_s = ((downtime.until_ns or 0) - downtime.since_ns) / 1e9
        assert 0.5 - WITNESS_S < length_s < 0.5 + WITNESS_S
    # The witness of its effect is the record of the packets.
    (downtime,) = (each.downtimes[0] for each in report.of_nodes if each.node == "a")
    probes = study.probes(trial.id).filter(phase="load").sort("seq")
    begun = probes["sent_ns"] >= downtime.since_ns
    during = probes.filter(begun & (probes["sent_ns"] < (downtime.until_ns or 0)))
    assert len(during) > 40
    # A stack without a carrier has forgotten its neighbours: it keeps packets until it has found
    # them again, and then sends them, late.
    assert set(during["outcome"]) <= ({"lost"} if state == "silent" else {"lost", "late"})
    (group,) = groups(study)
    assert group.links is not None
    for link in group.directions:
        assert link.verdict.downtimes is not None
        assert (link.verdict.downtimes.packets or 0) >= len(during)
        assert link.verdict.downtimes.lost == len(
            probes.filter(begun_early(probes, downtime) & (probes["outcome"] == "lost"))
        )
        assert not [why for why in link.verdict.why if "down" in why]
    (shown,) = as_json(delaylab("show", str(place), "--json"))["trials"]
    for each in shown["links"]:
        assert each["downtimes"]["states"] == [state]
        assert each["downtimes"]["packets"] >= len(during)
    told = " ".join(delaylab("show", str(place)).stdout.split())
    assert f"{state} once, for" in told


def begun_early(probes: pl.DataFrame, downtime: Downtime) -> pl.Series:
    """Return which packets were sent from a round trip before a downtime on, up to its end."""
    sent, round_trip_ns = probes["sent_ns"], 2 * 10**6
    return (sent >= downtime.since_ns - round_trip_ns) & (sent < (downtime.until_ns or 0))


def test_a_state_is_a_level_of_a_study(delaylab: Run, tmp_path: Path) -> None:
    text = yaml.safe_load(STUDY.replace("STATE", "down"))
    del text["lab"]["timeline"]
    text |= {"factors": {"cut": {"whole": {}, "cut": {"links.wire.state": "silent"}}}}
    text["probe"] |= {"count": 20, "late": "100ms"}
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(text))
    place = tmp_path / "data"
    delaylab("run", str(tmp_path / "study.yaml"), "--out", str(place))
    study = read_study(place)
    fates = {trial.factors["cut"]: set(study.probes(trial.id)["outcome"]) for trial in study.trials}
    assert fates["cut"] == {"lost"}
    assert "replied" in fates["whole"]
