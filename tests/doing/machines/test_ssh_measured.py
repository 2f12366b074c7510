"""Labs over machines that are measured: probes, routing daemons, verbs of nodes."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest
import yaml

import delaylab
from tests.doing.machines.ssh_machines import (
    NEEDED,
    Lan,
    lan,
    machines,
    pings,
    two,
)

__all__ = ["machines", "two"]
pytestmark = NEEDED


AS1755 = Path(__file__).parents[3] / "examples" / "as1755"


STUDY = """\
study: apart
lab:
  lab: apart
  data_plane: vxlan
  machines: {m1: {ssh: m1}, m2: {ssh: m2}}
  hosts: {here: {}, h1: {machine: m1}, h2: {machine: m2}}
  nodes: {a: {host: here}, r: {host: h1, forwards: true}, b: {host: h2}}
  links:
    - {between: [a, r], name: near, from: {a: {delay: 4ms}, r: {delay: 1ms}}}
    - {between: [r, b], name: far, delay: 0s}
probe: {from: a, to: b, count: 200, interval: 2ms}
factors: {load: {idle: []}}
repeat: 1
"""
"""A probe from this machine by a router on a second one to a third."""


ON_ROUTER = (
    *("r@near.tunnel", "r@near.wire", "r@near.uplink", "r@near"),
    *("r@far", "r@far.uplink", "r@far.tunnel"),
)


SENDER = (
    "sender.app",
    "sender.qdisc",
    "sender.stack",
    "sender.vif",
    "sender.uplink",
    "sender.tunnel",
)


RESPONDER = ("responder.tunnel", "wire", "responder.uplink", "responder.vif")


@pytest.mark.slow
@pytest.mark.parametrize("data_plane", ["vxlan", "ethernet"])
def test_a_probe_over_three_machines_is_stamped_at_every_point(two: Lan, data_plane: str) -> None:
    """The machines are namespaces of one kernel, which has one clock: the boot id says so."""
    with measured(two, STUDY.replace("vxlan", data_plane)) as trial:
        stamps = pl.read_parquet(trial / "stamps.parquet")
        about = json.loads((trial / "trial.json").read_text())
    assert stamps["clock"].n_unique() == 1
    seen = {leg: set(stamps.filter(pl.col("leg") == leg)["point"]) for leg in ("request", "reply")}
    assert seen["request"] >= {*SENDER, *ON_ROUTER, *RESPONDER}, seen
    assert seen["reply"] >= {*SENDER[2:], *ON_ROUTER, *RESPONDER} - {"sender.qdisc"}, seen
    # What each end of the link adds is found in its direction, between two machines.
    assert 4 <= between_ms(stamps, "request", "sender.stack", "r@near") < 4 + WITHIN_MS
    assert 1 <= between_ms(stamps, "reply", "r@near", "sender.stack") < 1 + WITHIN_MS
    assert about["absent"].keys().isdisjoint({"wire", "sender.uplink", "responder.uplink"})


WITHIN_MS = 2.5
"""Less than the difference of the two directions; what else runs here takes part of it."""


def test_packets_and_states_of_other_machines_are_kept_here(two: Lan) -> None:
    """Each host has a capture with every packet that was stamped there, and no point lacks one."""
    with measured(two, STUDY, "--pcap") as trial:
        assert_states_of_machines(trial)
        stamps = pl.read_parquet(trial / "stamps.parquet").with_columns(
            pl.col("point").cast(pl.String)
        )
        files = sorted((trial.parents[1] / "pcap" / trial.name).iterdir())
        shown = [capture(file) for file in files]
    assert {"host.here.pcapng", "host.h1.pcapng", "host.h2.pcapng"} <= {each.name for each in files}
    captured = Counter(point for points in shown for point in points)
    expected = Counter(point for point in stamps["point"] if point in captured)
    assert captured == expected
    assert captured.keys() >= {"sender.uplink", *ON_ROUTER, *RESPONDER} - {"r@near", "r@far"}


def assert_states_of_machines(trial: Path) -> None:
    """Assert that each machine is described, and sampled with the nodes and hosts on it."""
    names = {"local", "m1", "m2"}
    study = json.loads((trial.parents[1] / "study.json").read_text())
    assert study["machines"].keys() == names
    assert json.loads((trial / "trial.json").read_text())["ahead_ns"].keys() == names - {"local"}
    hosts = pl.read_parquet(trial / "hosts.parquet").with_columns(
        pl.col("machine", "place").cast(pl.String)
    )
    places = {name: set(hosts.filter(pl.col("machine") == name)["place"]) for name in names}
    for name, of_machine in zip(("local", "m1", "m2"), ("a", "r", "b"), strict=True):
        assert {"machine", of_machine} <= places[name], places
        assert not ({"a", "r", "b"} - {of_machine}) & places[name], places


def capture(file: Path) -> list[str]:
    """Return the point of each packet in a capture."""
    fields = ["-T", "fields", "-e", "frame.interface_name"]
    command = ["tshark", "-n", "-r", str(file), *fields]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


@contextmanager
def measured(two: Lan, study: str = STUDY, *options: str) -> Iterator[Path]:
    """Run the study for the length of a block; yield the folder of its trial."""
    (two.folder / "study.yaml").write_text(study)
    out = two.folder / "out"
    two.delaylab("run", "study.yaml", "--out", str(out), *options)
    try:
        (trial,) = (out / "trials").iterdir()
        yield trial
    finally:
        shutil.rmtree(out)


def between_ms(stamps: pl.DataFrame, leg: str, first: str, second: str) -> float:
    """Return the median time between two points of a leg, in ms."""
    of_leg = stamps.filter(pl.col("leg") == leg)
    one, other = (
        of_leg.filter(pl.col("point") == point).select("seq", "time_ns")
        for point in (first, second)
    )
    joined = one.join(other, on="seq", suffix="_later")
    return float(statistics.median(joined["time_ns_later"] - joined["time_ns"])) / 1e6


SQUARE = """\
study: square
lab:
  lab: square
  data_plane: vxlan
  machines: {m1: {ssh: m1}, m2: {ssh: m2}}
  hosts: {here: {}, h1: {machine: m1}, h2: {machine: m2}}
  routing: {ospf: {hello: 1s, dead: 4s}}
  nodes:
    a: {host: here, forwards: true}
    b: {host: h1, forwards: true}
    c: {host: h2, forwards: true}
    d: {host: h2, forwards: true}
  links:
    - {join: [a, b, c], name: abc, delay: 5ms}
    - {between: [b, d], name: bd, delay: 5ms}
    - {between: [c, d], name: cd, delay: 5ms, cost: 5}
probe: {from: a, to: d, count: 20, interval: 5ms, at_rest: 4}
repeat: 1
"""


@pytest.mark.slow
@pytest.mark.parametrize("data_plane", ["vxlan", "ethernet"])
def test_packets_over_machines_have_their_way_where_daemons_route(
    two: Lan, data_plane: str
) -> None:
    with measured(two, SQUARE.replace("vxlan", data_plane)) as trial:
        folder = str(trial.parents[1])
        printed = two.delaylab("show", folder).stdout
        (shown,) = json.loads(two.delaylab("show", folder, "--json").stdout)["combinations"]
    assert "way-unknown" not in printed
    counts = {(each["layer"], each["at"]): each["n"] for each in shown["segments"]}
    expected = [("underlay", "abc, local to m1"), ("router", "b"), ("underlay", "bd, m1 to m2")]
    assert [counts.get(layer) for layer in expected] == [shown["answered"]] * 3, counts


ROUTED = """\
lab: pair
machines: {m1: {ssh: m1}, m2: {ssh: m2}}
hosts: {h1: {machine: m1}, h2: {machine: m2}, h3: {machine: m1}}
routing: {ospf: {hello: 1s, dead: 4s, lsa_interval: 100ms}}
nodes: {r: {forwards: true, host: h1}, s: {forwards: true, host: h2}, t: {forwards: true, host: h3}}
links:
  - {between: [r, s], name: one, state: up}
  - {between: [s, t], name: two, state: up}
  - {between: [r, t], name: three, state: up}
"""


@pytest.mark.slow
def test_verbs_of_nodes_work_on_another_machine(two: Lan) -> None:
    """Convergence is measured, files are copied, nodes are killed and started."""
    two.up(ROUTED)
    found = json.loads(two.delaylab("converge", "pair", "--down", "one", "--json").stdout)
    assert found[0]["event"] == "down one"
    assert found[0]["detected_s"] is not None
    (two.folder / "there.txt").write_text("over there")
    two.delaylab("cp", "there.txt", "s:/tmp/there.txt")
    two.delaylab("cp", "s:/tmp/there.txt", "back.txt")
    assert (two.folder / "back.txt").read_text() == "over there"
    two.delaylab("node", "kill", "pair", "s")
    (lab,) = two.labs()
    assert {node["name"]: node["state"] for node in lab["nodes"]}["s"] == "killed"
    two.delaylab("node", "start", "pair", "s")
    said = two.delaylab("exec", "--all", "--", "hostname").stdout.split()
    assert sorted(said[1::2]) == ["r", "s", "t"]


@pytest.mark.slow
@pytest.mark.parametrize("data_plane", ["vxlan", "ethernet"])
def test_a_provider_over_four_machines_converges_and_leaves_nothing(
    run_directory: Path, tmp_path: Path, data_plane: str
) -> None:
    """AS 1755: 87 routers with OSPF, on four machines; a path over three of them is measured."""
    imported = delaylab.import_map(AS1755).lab
    names = ["m1", "m2", "m3", "m4"]
    text = yaml.safe_load(imported.written.model_dump_json(by_alias=True, exclude_defaults=True))
    text["machines"] = {name: {"ssh": name} for name in names}
    text["data_plane"] = data_plane
    text["hosts"] = {f"h{name}": {"machine": name} for name in names}
    for number, node in enumerate(text["nodes"].values()):
        node["host"] = f"h{names[number % len(names)]}"
    text["routing"] = {"ospf": {"hello": "1s", "dead": "4s", "retransmit": "1s"}}
    with lan(tmp_path, names) as four:
        said = four.up(yaml.safe_dump(text), "--name", "as")
        assert "87 routers" in said, said[-500:]
        first, *_, last = sorted(imported.nodes)
        assert pings(four, first, last) > 0
        four.delaylab("down")
        four.wait_until_gone()
