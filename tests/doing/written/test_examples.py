"""The examples do what they say."""

from __future__ import annotations

import re
import shutil
from itertools import chain, permutations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml

from delaylab.lab.packages import not_installed
from delaylab.machines import LOCAL
from delaylab_study import read
from delaylab_study.dataset import store
from tests.doing.conftest import Run, as_json, left_to_slow, skip_unless_runnable
from tests.doing.guests.test_packages import need
from tests.images.conftest import NEEDS_APT

EXAMPLES = Path(__file__).parents[3] / "examples"
pytestmark = pytest.mark.root


@pytest.mark.parametrize("name", ["testbed", "triangle", "guests", "wan", "timeline"])
def test_every_pair_of_neighbours_can_ping(delaylab: Run, name: str) -> None:
    lab = yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text())
    for kind in {node.get("kind", "netns") for node in lab["nodes"].values()}:
        skip_unless_runnable(kind)
    up = as_json(delaylab("up", str(EXAMPLES / f"{name}.yaml"), "--json"))
    ends: dict[str, list[tuple[str, list[str]]]] = {}
    for node in up["nodes"]:
        for interface in node["interfaces"]:
            ends.setdefault(interface["link"], []).append((node["name"], interface["addresses"]))
    assert ends
    for (near, _), (_, addresses) in chain(*(permutations(of, 2) for of in ends.values())):
        for address in addresses:
            argv = ("ping", "-c", "1", "-W", "20", address.split("/")[0])
            delaylab("exec", near, "--", *argv)


def test_udp_rates(delaylab: Run, tmp_path: Path) -> None:
    for name in ("testbed.yaml", "udp-rates.yaml"):
        shutil.copy(EXAMPLES / name, tmp_path)
    delaylab("run", "udp-rates.yaml", "--out", "out")
    study = store.read_study(tmp_path / "out")
    assert [trial.status for trial in study.trials] == ["ok"] * 3
    for trial in study.trials:
        assert "responder.app" in trial.way.reply


def test_bgp_speakers(delaylab: Run) -> None:
    """FRR has the routes of GoBGP and ExaBGP, and loses those of a daemon that is killed."""
    if missing := not_installed({"frr", "gobgpd", "exabgp"}, LOCAL):
        pytest.skip(f"not installed on this machine: {', '.join(missing)}")
    up = delaylab("up", str(EXAMPLES / "bgp-speakers.yaml")).stdout
    assert "the forwarding tables of 1 router have been quiet for 3 s" in up

    def at_frr(what: str) -> bool:
        return what in delaylab("exec", "frr", "--", "ip", "route", "show", "proto", "bgp").stdout

    assert at_frr("203.0.113.0/24 via 10.0.2.2 dev to-go")
    assert at_frr("198.51.100.0/24 via 10.0.3.3 dev to-exa")
    shown = delaylab("exec", "frr", "--", "vtysh", "-c", "show bgp ipv4 unicast").stdout
    assert re.search(r"198\.51\.100\.0/24 +10\.0\.3\.3 .* 65003 i", shown)
    argv = ("--kill", "exabgp", "--program", "exabgp", "--until", "quiet:2s", "--json")
    (kill,) = as_json(delaylab("converge", "bgp-speakers", *argv))
    assert kill["until"] == {"rule": "quiet", "quiet_s": 2.0}
    assert (kill["changes"], [*kill["routers"]]) == (1, ["frr"])
    assert 0 < kill["converged_s"] < 9, "its connection ended: `hold` need not pass"
    assert at_frr("203.0.113.0/24")
    assert not at_frr("198.51.100.0/24")


@pytest.mark.slow
def test_routers(delaylab: Run) -> None:
    delaylab("run", str(EXAMPLES / "routers.yaml"), "--out", "out")
    shown = as_json(delaylab("show", "out", "--json"))
    assert len(shown["trials"]) == 4
    for trial in shown["trials"]:
        number = {"one": 1, "two": 2}[trial["factors"]["carrier"]]
        delays = {(s["leg"], s["from"], s["to"]): s["median_us"] for s in trial["segments"]}
        assert 0 < delays["request", "hop1.near", "hop1.far"] < 5_000
        (sea,) = (way for way in trial["links"] if way["from"] == [f"carrier-{number}"])
        assert_held(sea, 5_000)
        assert delays["request", "hop1.far", "responder.vif"] >= 5_000


@NEEDS_APT
@pytest.mark.parametrize("kind", ["netns", *left_to_slow("lxc", "docker", "qemu", "uml")])
def test_render(delaylab: Run, tmp_path: Path, kind: str) -> None:
    """In small: an emulated machine takes 30 times the time."""
    need(kind)
    if kind == "netns" and not_installed({"povray", "povray-examples"}, LOCAL):
        pytest.skip("povray and povray-examples are not installed on this machine")
    text = (EXAMPLES / "render.yaml").read_text()
    assert "+w320, +h240" in text
    (tmp_path / "render.yaml").write_text(text.replace("+w320, +h240", "+w80, +h60"))
    delaylab("run", "render.yaml", "--only", f"kind={kind}", "--out", "out")
    study = store.read_study(tmp_path / "out")
    (trial,) = study.trials
    assert [each.failed for each in trial.work] == [None] * 3
    told = study.progress(trial.id)
    assert set(told["node"]) == {"n-1", "n-2", "n-3"}
    assert told["done"].is_between(1, 80 * 60).all()
    shown = as_json(delaylab("show", "out", "--json"))
    nodes = shown["work"][0]["nodes"]
    assert sum(node["share_of_fair"] for node in nodes.values()) == pytest.approx(3)


def assert_held(way: dict[str, Any], delay_us: float) -> None:
    """The taps' witness is the link engine, which knows how late it sent."""
    assert way["asked"]["delay_ns"] == delay_us * 1000
    error_us = way["probe_us"]["median"] - delay_us
    assert 0 <= error_us <= way["late_ns"]["p99_ns"] / 1000


@pytest.mark.slow
def test_wan_delays(delaylab: Run, tmp_path: Path) -> None:
    delaylab("run", str(EXAMPLES / "wan-delays.yaml"), "--out", "out", "--only", "load=rest")
    shown = as_json(delaylab("show", "out", "--json"))
    asked_us = {"short": (1e3, 1e3), "long": (10e3, 30e3)}
    for trial in shown["trials"]:
        ways = {way["from"][0]: way for way in trial["links"]}
        if trial["factors"]["delay"] != "none":
            for node, us in zip(
                ("probe", "echo"), asked_us[trial["factors"]["delay"]], strict=True
            ):
                assert_held(ways[node], us)
    links = {trial["factors"]["delay"]: trial["links"] for trial in shown["trials"]}
    packets = read(tmp_path / "out").packets.filter(phase="load", outcome="replied")
    rtt_us = {
        delay: packets.filter(pl.col("factor.delay") == delay)["rtt_user_ns"].to_numpy() / 1000
        for delay in ("none", "short", "long")
    }
    for delay, both_ways_us in {"short": 2e3, "long": 40e3}.items():
        assert rtt_us[delay].min() >= both_ways_us
        # The least of 500 packets waited no longer for a busy machine than most without a delay,
        # and for the engine no longer than it says.
        late_us = sum(way["late_ns"]["p99_ns"] for way in links[delay] if way["probe_us"]) / 1000
        assert rtt_us[delay].min() < both_ways_us + np.quantile(rtt_us["none"], 0.9) + late_us
    claims = {claim["id"]: claim for claim in shown["claims"]}
    added, few = claims["delay-is-added-both-ways"], claims["few-are-lost"]
    assert added["effect"] == pytest.approx(np.median(rtt_us["short"]) - np.median(rtt_us["none"]))
    assert {added["verdict"], few["verdict"]} <= {"holds", "open"}


def test_scaling_is_short_and_needs_no_probe(delaylab: Run) -> None:
    example = EXAMPLES / "scaling.yaml"
    study = yaml.safe_load(example.read_text())
    assert "probe" not in study
    assert len(example.read_text().splitlines()) <= 10
    planned = as_json(delaylab("run", str(example), "--dry-run", "--json"))
    assert planned["expected_s"] < 60


@pytest.mark.slow
def test_scaling_refuses_a_law_of_two_numbers(delaylab: Run) -> None:
    example = EXAMPLES / "scaling.yaml"
    delaylab("run", str(example), "--out", "out", "--only", "nodes=one", "--only", "nodes=two")
    (told,) = as_json(delaylab("show", "out", "--json"))["scaling"]
    assert (told["nodes"], told["trials_each"]) == ([1, 2], 3)
    assert "a law needs 3" in told["refused"]


@pytest.mark.slow
@NEEDS_APT
def test_classes(delaylab: Run, tmp_path: Path) -> None:
    need("lxc")
    text = (EXAMPLES / "classes.yaml").read_text().replace("repeat: 3", "")
    # By amount, not by time: a busy machine may let a container do nothing in a second.
    text = re.sub(r"--(\w+), '1'", r"--\1, '1', --\1-ops, '10'", text).replace("3s", "60s")
    (tmp_path / "classes.yaml").write_text(text)
    delaylab("run", "classes.yaml", "--out", "out")
    trials = store.read_study(tmp_path / "out").trials
    assert len(trials) == 6
    for trial in trials:
        assert [each.failed for each in trial.work] == [None] * 3
        assert all(each.rate for each in trial.work)


@pytest.mark.slow
def test_kinds_are_compared_within_a_dataset_that_gets_more_repeats(
    delaylab: Run, tmp_path: Path
) -> None:
    only = ["--only", "load=rest", "--only", "kind=native", "--only", "kind=netns"]
    example = str(EXAMPLES / "what-kinds-add.yaml")
    delaylab("run", example, *only, "--repeat", "2", "--out", "out")
    first = {trial.id: trial.started for trial in store.read_study(tmp_path / "out").trials}
    delaylab("run", "--resume", "out", "--repeat", "3")
    study = store.read_study(tmp_path / "out")
    assert [trial.status for trial in study.trials] == ["ok"] * 6
    assert {t.id: t.started for t in study.trials if t.repeat < 3} == first
    (added,) = study.record.extensions
    assert (added.before, added.repeat, added.finished) == (2, 3, 4)
    found = as_json(delaylab("compare", "out", "kind=native", "kind=netns", "--json"))
    (compared,) = found["comparisons"]
    assert "user RTT" in {line["name"] for line in compared["lines"]}
    (kind,) = as_json(delaylab("show", "out", "--json"))["levels"]
    assert {each["blocks"] for each in kind["differences"] if each["statistic"] == "median"} == {3}
    delaylab("charts", "out", "rtt-by-kind", "--width", "85mm")
    assert (tmp_path / "out" / "figures" / "rtt-by-kind.pdf").read_bytes().startswith(b"%PDF")
    delaylab("run", "--like", "out", "--out", "again")
    again = store.read_study(tmp_path / "again").record
    assert again.planned == study.record.planned
    assert again.machine.provenance is not None
    assert again.machine.provenance.cgroups
