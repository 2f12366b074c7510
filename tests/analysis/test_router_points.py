"""Points of routers: recorded by location, read by role, and the layers between them."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from delaylab_study.analysis.packets.trial import trial_packets
from delaylab_study.dataset import store
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.report.show import as_json
from tests import synthetic
from tests.plain import plain
from tests.synthetic import Condition, hops

HOPS = hops("probe", "r1", "r2", "echo")
ROLES = {
    "hop1.near": "r1@probe-r1",
    "hop1.far": "r1@r1-r2",
    "hop2.near": "r2@r1-r2",
    "hop2.far": "r2@r2-echo",
}
ACROSS = {
    "sender.app": "",
    "sender.stack": "user space to kernel + queue",
    "sender.vif": "virtual interface",
    "r1@probe-r1": "bridge | probe-r1",
    "r1@r1-r2": "router | r1",
    "r1@r1-r2.uplink": "bridge and uplink queue | r1-r2",
    "r2@r1-r2.wire": "wire | r1-r2",
    "r2@r1-r2.uplink": "wire | r1-r2",
    "r2@r1-r2": "bridge | r1-r2",
    "r2@r2-echo": "router | r2",
    "r2@r2-echo.uplink": "bridge and uplink queue | r2-echo",
    "wire": "wire | r2-echo",
    "responder.uplink": "wire | r2-echo",
    "responder.vif": "bridge | r2-echo",
    "responder.stack": "virtual interface",
}
"""The points of a request over two routers, of which the second link and the last cross hosts; each
with the layer before it, and the link or router that the layer is of."""


def by_location(text: str) -> str:
    for role, place in ROLES.items():
        text = text.replace(f'"{role}"', f'"{place}"')
    return text


def test_a_dataset_with_locations_reads_as_one_with_roles(tmp_path: Path) -> None:
    condition = Condition(hops=HOPS, packets=40)
    before = synthetic.write(tmp_path / "roles", [condition])
    raw = json.loads(by_location(json.dumps(synthetic.trial(condition, 0))))
    stamps, probes = synthetic.tables(condition)
    stamps = stamps.with_columns(pl.col("point").cast(pl.String).replace(ROLES))
    after = tmp_path / "locations"
    synthetic.write_study(after, synthetic.study([condition], []))
    synthetic.write_trial(after, raw, stamps, probes, synthetic.hosts())
    assert set(store.read_study(after).stamps(condition.id)["point"]) >= {*ROLES.values()}
    shown, expected = plain(as_json(after)), plain(as_json(before))
    assert shown["trials"] == expected["trials"]
    assert {part["from"] for part in shown["trials"][0]["segments"]} >= {*ROLES}


@pytest.fixture
def across(tmp_path: Path) -> tuple[store.Study, TrialRecord]:
    """A trial over two routers on several hosts; each segment takes 1 µs more than the last."""
    condition = Condition(hops=HOPS, packets=1, at_rest=0)
    way = [("request", point) for point in ACROSS] + [("reply", point) for point in [*ACROSS][::-1]]
    _, probes = synthetic.tables(condition)
    sent = int(probes["sent_ns"][0])
    stamps = pl.DataFrame(
        [
            {"probe": 1, "seq": 0, "leg": leg, "point": point, "clock": synthetic.CLOCK}
            | {"time_ns": sent + 1000 * step * (step + 1) // 2}
            for step, (leg, point) in enumerate(way)
        ]
    ).with_columns(probe=pl.lit(probes["probe"][0]), seq=pl.lit(probes["seq"][0]))
    raw = synthetic.trial(condition, 0) | {
        "ways": [
            {
                "request": [*ACROSS],
                "reply": [*ACROSS][::-1],
                "hops": [{key: hop[key] for key in ("link", "start", "end")} for hop in HOPS],
            }
        ],
    }
    synthetic.write_study(tmp_path, synthetic.study([condition], []))
    synthetic.write_trial(tmp_path, raw, stamps, probes, synthetic.hosts())
    study = store.read_study(tmp_path)
    return study, study.trials[0]


def test_each_layer_between_routers_on_several_hosts_has_its_name(
    across: tuple[store.Study, TrialRecord],
) -> None:
    found = [part for part in trial_packets(*across).segments() if part.leg == "request"]
    named = [f"{part.layer} | {part.at}".removesuffix(" | ") for part in found]
    assert named == [*ACROSS.values()][1:]
    assert [int(part.delay_ns[0]) for part in found] == [1000 * n for n in range(1, len(ACROSS))]
    assert not any(part.merged for part in found)


def test_the_reply_passes_the_same_layers_the_other_way(
    across: tuple[store.Study, TrialRecord],
) -> None:
    found = {
        (part.start, part.end): (part.layer, part.at)
        for part in trial_packets(*across).segments()
        if part.leg == "reply"
    }
    assert found["responder.vif", "responder.uplink"] == ("bridge and uplink queue", "r2-echo")
    assert found["hop2.far.uplink", "hop2.far"] == ("bridge", "r2-echo")
    assert found["hop2.near", "hop2.near.uplink"] == ("bridge and uplink queue", "r1-r2")
    assert found["hop1.near", "sender.vif"] == ("bridge", "probe-r1")
