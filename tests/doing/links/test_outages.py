"""An outage on a real link: as long as its timeline says, drawn where it was."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from delaylab_study.analysis.over_time.changes import ChangeInWords
from delaylab_study.analysis.over_time.timelines import changes
from delaylab_study.dataset.store import read_study
from tests.doing.conftest import Run, as_json

pytestmark = pytest.mark.root
STUDY = """\
study: outage
lab:
  lab: outage
  nodes: {a: {}, b: {}}
  links: [{between: [a, b], name: wire, delay: 1ms}]
  timeline:
    - {at: 300ms, link: wire, node: a, set: {loss: 100%}}
    - {at: 700ms, link: wire, node: a, set: {loss: none}}
probe: {from: a, to: b, count: 200, interval: 5ms, at_rest: 2, late: 500ms}
"""


def test_an_outage_lasts_as_long_as_the_link_was_out(delaylab: Run, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)
    place = tmp_path / "data"
    told = delaylab("run", str(tmp_path / "study.yaml"), "--out", str(place)).stdout
    assert " ".join(told.split()).count("outage: repeat=1: out for ") == 1
    study = read_study(place)
    assert changes(study).of({}) == [
        ChangeInWords(0.3, "wire from a: loss 100%"),
        ChangeInWords(0.7, "wire from a: loss none"),
    ]
    (trial,) = as_json(delaylab("show", str(place), "--json"))["trials"]
    (outage,) = [each for each in trial["outages"] if each["packets"] > 20]
    # The witness is the record of the same trial's packets: which were lost, and when each left.
    probes = study.probes(trial["id"]).filter(phase="load").sort("seq")
    lost = probes.filter(outcome="lost")
    assert outage["packets"] == len(lost)
    sent_s = lost["sent_ns"].to_numpy() / 1e9
    assert outage["least_s"] == pytest.approx(sent_s[-1] - sent_s[0], abs=1e-6)
    replied_s = probes.filter(outcome="replied")["sent_ns"].to_numpy() / 1e9
    around_s = (
        replied_s[replied_s < sent_s[0]].max(),
        replied_s[replied_s > sent_s[-1]].min(),
    )
    assert outage["most_s"] == pytest.approx(around_s[1] - around_s[0], abs=1e-6)
    # The link was out for 80 packets; a busy machine may shift either end by many of them.
    assert 40 <= outage["packets"] <= 120
    svg = (place / "charts" / "rtt-over-time.svg").read_text()
    texts = [each.text for each in ElementTree.fromstring(svg).iter() if each.text]
    assert "no reply" in texts
    assert "wire from a: loss 100%" in texts
