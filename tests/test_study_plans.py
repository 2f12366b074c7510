"""`delaylab run --dry-run` and `--list`."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from delaylab.cli import whole
from delaylab.errors import BadInput
from delaylab.images import kvm
from delaylab.images.kvm import Probed
from delaylab.kinds import KINDS
from delaylab.units import Duration
from delaylab.verbs import kind_round_trips
from delaylab_study.papers import studies
from delaylab_study.study import estimate, fits, order
from delaylab_study.study_file.load import load_study
from delaylab_study.trial.rest import schedule
from delaylab_study.verbs.studies import begin, planned_study
from delaylab_study.verbs.study_file import load

REPRODUCED = "reproduced"
OWN = """\
study: own
title: A study of one's own
lab:
  lab: own
  nodes: {{a: {{kind: netns}}, b: {{kind: netns}}}}
  links:
    - {{join: [a, b], name: wire}}
factors:
  way:
    near: {{}}
    far: {{}}
probe: {{from: a, to: b, count: {packets}, interval: 10ms}}
claims:
  - claim: far-is-slower
    of: rtt.app
    group: {{way: far}}
    against: {{way: near}}
    median: {{more-than: +50us}}
"""


def said(*argv: str) -> str:
    done = CliRunner().invoke(whole(), ["run", *argv], env={"COLUMNS": "80"})
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_dry_run_has_column_heads_and_says_how_long_all_takes() -> None:
    heads, *lines = said("quickstart", "--dry-run").splitlines()
    rows, total = lines[:6], lines[6]
    assert heads.split() == ["TIME", "PACKETS", "TRIAL"]
    assert all(row.split()[1] == "s" and row.split()[2] == "400" for row in rows)
    assert total.startswith("6 trials, 2400 packets: about ")


def test_a_dry_run_in_json_has_trials_time_and_claims() -> None:
    found = json.loads(said("quickstart", "--dry-run", "--json"))
    assert [set(trial) for trial in found["trials"]] == [
        {"id", "packets", "expected_s", "unfit", "emulated"}
    ] * 6
    assert found["expected_s"] > sum(trial["expected_s"] for trial in found["trials"])
    expected = {claim["claim"]: claim["verdict"] for claim in found["claims"]}
    assert expected == dict.fromkeys(load_study(studies.find("quickstart")).spec.claims, REPRODUCED)


@pytest.mark.parametrize(
    ("packets", "lines"),
    [
        (
            40,
            [
                "p90 needs about 50 packets (0.5 s); each combination of levels has 40: too few",
                "p99 needs about 500 packets (5 s); each combination of levels has 40: too few",
            ],
        ),
        (600, ["p99 needs about 500 packets (5 s); each combination of levels has 600"]),
    ],
)
def test_a_dry_run_says_what_p99_takes(tmp_path: Path, packets: int, lines: list[str]) -> None:
    study = tmp_path / "own.yaml"
    study.write_text(OWN.format(packets=packets))
    text = said(str(study), "--dry-run")
    assert [line for line in text.splitlines() if " needs about " in line] == lines
    assert "This takes packets to be independent." in text
    (tail,) = [
        each
        for each in json.loads(said(str(study), "--dry-run", "--json"))["tails"]
        if each["quantile"] == "p99"
    ]
    assert tail["needs"] == {"packets": 500, "seconds": 5.0}
    assert (tail["planned"], tail["enough"]) == (packets, packets >= 500)
    assert tail["combinations"] == 2


@pytest.mark.parametrize(("cpus", "reason"), [(2, "needs 4 CPUs"), (8, "needs more packets")])
def test_a_machine_with_too_few_cpus_is_known_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, cpus: int, reason: str
) -> None:
    """With enough of them the 45 packets at 1 Hz are the next that is missing."""
    monkeypatch.setattr("os.cpu_count", lambda: cpus)
    monkeypatch.setattr(kvm, "known", lambda: Probed(None, 0.0))
    found = json.loads(said("dantas2015", "--dry-run", "--json"))
    (claim,) = (each for each in found["claims"] if each["claim"] == "reservation-without-load")
    assert claim["verdict"] == "not testable here"
    assert claim["why"].startswith(reason)


def test_a_claim_of_ones_own_has_the_width_of_its_interval_and_no_verdict(tmp_path: Path) -> None:
    study = tmp_path / "own.yaml"
    widths = []
    for packets in (100, 1600):
        study.write_text(OWN.format(packets=packets))
        (claim,) = json.loads(said(str(study), "--dry-run", "--json"))["claims"]
        assert claim["verdict"] is None
        low, high = claim["interval"]
        widths.append(high - low)
    assert 2 < widths[0] / widths[1] < 8, "16 times as many packets: a quarter of the width"


def test_a_claim_of_ones_own_is_foreseen_by_the_round_trips_of_its_kinds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DELAYLAB_CACHE", str(tmp_path / "cache"))
    study = tmp_path / "own.yaml"
    study.write_text(OWN.format(packets=20_000).replace("far: {}", "far: {nodes.a.kind: lxc}"))

    def found() -> tuple[float, dict[str, tuple[float, str]]]:
        expected = json.loads(said(str(study), "--dry-run", "--json"))
        trips = {each["kind"]: (each["rtt_us"], each["source"]) for each in expected["round_trips"]}
        return expected["claims"][0]["effect"], trips

    table = kind_round_trips.TABLE_US
    effect, trips = found()
    assert trips == {"netns": (table["netns"], "table"), "lxc": (table["lxc"], "table")}
    assert effect == pytest.approx(table["lxc"] - table["netns"], rel=0.1)
    kind_round_trips.keep({"netns": 40.0})
    kind_round_trips.keep({"lxc": 140.0})
    effect, trips = found()
    assert trips == {"netns": (40.0, "doctor"), "lxc": (140.0, "doctor")}
    assert effect == pytest.approx(100.0, rel=0.1)
    printed = " ".join(said(str(study), "--dry-run").split())
    assert re.search(r"netns 40 µs \(doctor, \d{4}-\d\d-\d\d\)", printed)
    assert "run delaylab doctor" not in printed
    # What another kernel, or a damaged file, says does not count.
    (note,) = (tmp_path / "cache").iterdir()
    for content in (note.read_text().replace(os.uname().release, "2.4.0"), "{"):
        note.write_text(content)
        assert found()[1]["lxc"] == (table["lxc"], "table")
    assert "docs/benchmarks.md" in said(str(study), "--dry-run")


def test_the_table_of_round_trips_is_that_of_the_docs() -> None:
    page = Path("docs/benchmarks.md").read_text()
    rows = re.findall(r"^\| `(\w+)`.* \| ([\d,]+)[^|]* \|$", page, re.MULTILINE)
    stated = {kind: float(rtt.replace(",", "")) for kind, rtt in rows if kind in KINDS}
    assert stated == kind_round_trips.TABLE_US
    assert stated.keys() == KINDS.keys()


def test_the_delays_of_links_are_part_of_what_is_foreseen(tmp_path: Path) -> None:
    study = tmp_path / "own.yaml"
    study.write_text(OWN.format(packets=1000).replace("far: {}", "far: {links.wire.delay: 3ms}"))
    (claim,) = json.loads(said(str(study), "--dry-run", "--json"))["claims"]
    assert claim["effect"] == pytest.approx(6000, rel=0.01)


def test_of_many_packets_as_many_are_imagined_as_claims_use(tmp_path: Path) -> None:
    study = tmp_path / "own.yaml"
    study.write_text(OWN.format(packets=100_000_000))
    (claim,) = json.loads(said(str(study), "--dry-run", "--json"))["claims"]
    low, high = claim["interval"]
    assert 0 < high - low < 10


def test_trials_that_cannot_run_here_are_named_and_claims_do_without_them(tmp_path: Path) -> None:
    study = tmp_path / "own.yaml"
    study.write_text(OWN.format(packets=100).replace("far: {}", "far: {nodes.a.cpus: [4000]}"))
    found = json.loads(said(str(study), "--dry-run", "--json"))
    assert ["no CPU 4000" in (trial["unfit"] or "") for trial in found["trials"]] == [
        "far" in trial["id"] for trial in found["trials"]
    ]
    (claim,) = found["claims"]
    assert claim["verdict"] == "not testable here"
    printed = said(str(study), "--dry-run")
    assert "1 trial, 100 packets" in printed
    assert "1 trial cannot run here: " in printed
    assert "no CPU 4000" in printed


def test_a_dataset_of_a_paper_that_is_not_installed_is_foreseen_without_its_claims(
    tmp_path: Path,
) -> None:
    place = tmp_path / "data"
    begin(planned_study(load("examples/mypaper").study, "quick", {}), place)
    like = ("--like", str(place), "--dry-run")
    claims = json.loads(said(*like, "--json"))["claims"]
    assert "interface-adds-delay" in [each["claim"] for each in claims]
    assert {each["verdict"] for each in claims} == {"not testable here"}
    printed = " ".join(said(*like).split())
    assert "'mypaper', which this study repeats, is not installed: --paper FOLDER" in printed
    claims = json.loads(said(*like, "--json", "--paper", "examples/mypaper"))["claims"]
    assert not [each["why"] for each in claims if "is not installed" in each["why"]]


@pytest.mark.parametrize("name", studies.names())
def test_every_study_says_what_to_expect_of_each_of_its_claims(name: str) -> None:
    found = json.loads(said(name, "--dry-run", "--json"))["claims"]
    claims = load_study(studies.find(name)).spec.claims
    assert [each["claim"] for each in found] == [
        each if isinstance(each, str) else each.claim for each in claims
    ]
    assert all(each["verdict"] or each["effect"] is not None or each["why"] for each in found)


def test_the_list_has_every_study_with_its_title_its_time_and_its_kinds() -> None:
    printed = said("--list")
    for name in studies.names():
        assert name in printed
    known = {study["name"]: study for study in json.loads(said("--list", "--json"))}
    assert set(known) == set(studies.names())
    assert all(study["title"] for study in known.values())
    assert known["quickstart"]["needs"] == ["native", "netns"]
    dry = json.loads(said("quickstart", "--dry-run", "--json"))
    assert known["quickstart"]["expected_s"] == pytest.approx(dry["expected_s"], abs=0.5)
    assert f"{known['quickstart']['expected_s']:.0f} s" in printed


@pytest.mark.parametrize("name", studies.names())
def test_a_trial_takes_at_least_as_long_as_its_packets_or_events(name: str) -> None:
    planned = order.plan_trials(load_study(studies.find(name)), "quick", {})
    for trial, seconds in zip(planned, estimate.trials_s(planned), strict=True):
        probe = trial.combination.probe
        if probe is None:
            timeline = trial.combination.lab.timeline
            assert seconds >= max((moment.at.seconds for moment in timeline), default=1.0)
            continue
        between = probe.pace.seconds if isinstance(probe.pace, Duration) else estimate.ROUND_TRIP_S
        assert seconds >= probe.count * between


@pytest.mark.parametrize(("works", "verdict"), [(True, REPRODUCED), (False, "not testable here")])
def test_a_claim_that_only_emulated_machines_have_is_expected_to_be_not_testable(
    monkeypatch: pytest.MonkeyPatch, *, works: bool, verdict: str
) -> None:
    # Both sides of dantas2015 are virtual machines, which run on KVM where it works.
    monkeypatch.setattr(kvm, "known", lambda: Probed(None if works else "no guest boots", 0.0))
    found = json.loads(said("dantas2015", "--dry-run", "--json"))
    told = {claim["claim"]: claim for claim in found["claims"]}["host-nic-unmoved"]
    assert told["verdict"] == verdict
    assert ("emulated" in told["why"]) is not works


def test_levels_that_are_left_out_change_no_order() -> None:
    """The order in which trials run is that of the dry run, and of the dataset's `index`."""
    study = load_study(studies.find("quickstart"))
    every = order.plan_trials(study, "quick", {})
    only = order.plan_trials(study, "quick", {"load": {"cpu"}})
    wanted = [trial for trial in every if trial.combination.levels["load"] == "cpu"]
    assert 0 < len(only) < len(every)
    assert [(trial.id, trial.index) for trial in only] == [
        (trial.id, trial.index) for trial in wanted
    ]


@pytest.mark.parametrize(
    "more", [["--dry-run"], ["quickstart"], ["--only", "load=cpu"], ["--scale", "paper"]]
)
def test_a_resumed_study_goes_on_as_it_was_begun(tmp_path: Path, more: list[str]) -> None:
    done = CliRunner().invoke(whole(), ["run", "--resume", str(tmp_path), *more])
    assert isinstance(done.exception, BadInput)
    assert done.exception.what == "--resume continues a dataset as it was begun"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("kind", "by", "lacks"),
    [("netns", "iperf3", True), ("netns", "nuttcp", False), ("lxc", "iperf3", False)],
)
def test_a_program_is_missing_only_where_this_machines_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, by: str, *, lacks: bool
) -> None:
    """Containers have it in their image, and who uses another program does not need it."""
    text = OWN.format(packets=10).replace("kind: netns", f"kind: {kind}")
    text = text[: text.index("claims:")]
    work = f"work: [{{name: w, on: a, to: b, tcp: 1s, by: {by}}}]\n"
    (tmp_path / "own.yaml").write_text(text + work)
    planned = order.plan_trials(load_study(tmp_path / "own.yaml"), "quick", {})
    monkeypatch.setenv("PATH", str(tmp_path))
    needs = [why for why in fits.unfit(planned).values() if "need iperf3" in why]
    assert len(needs) == (len(planned) if lacks else 0)


NO_ROUTES = """\
study: still
lab:
  lab: still
  routes: {routes}
  nodes: {{a: {{}}, b: {{}}, r: {{forwards: true}}}}
  links: [{{between: [a, r]}}, {{between: [r, b]}}]
factors:
  load: {{rest: [], network: [{{network: send, on: {on}, to: {to}}}]}}
probe: {{from: a, to: {probed}, count: 50, interval: 5ms}}
"""


@pytest.mark.parametrize(
    ("routes", "on", "to", "probed", "line"),
    [("none", "a", "r", "b", 9), ("none", "a", "b", "r", 7), ("shortest", "a", "b", "b", None)],
)
def test_packets_without_a_path_are_refused_before_anything_runs(
    tmp_path: Path, routes: str, on: str, to: str, probed: str, line: int | None
) -> None:
    """A dry run refuses what a run refuses, at the line, and neither makes a dataset."""
    study = tmp_path / "still.yaml"
    study.write_text(NO_ROUTES.format(routes=routes, on=on, to=to, probed=probed))
    out = tmp_path / "data"
    for more in (["--dry-run"], ["--out", str(out)] if line else ["--dry-run", "--json"]):
        done = CliRunner().invoke(whole(), ["run", str(study), *more], env={"COLUMNS": "300"})
        if line is None:
            assert done.exit_code == 0, done.output
            continue
        assert isinstance(done.exception, BadInput)
        assert done.exception.exit_code == 2
        said = str(done.exception)
        assert said.startswith(f"{study}:{line}: the path from 'a' to 'b' is not known")
        assert "`routes: none` sets no routes over other nodes" in said
    assert not out.exists()


@pytest.mark.parametrize(("why_not", "count"), [("no guest boots", 1), (None, 0)])
def test_a_dry_run_says_which_machines_are_emulated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why_not: str | None, count: int
) -> None:
    monkeypatch.setattr(kvm, "known", lambda: Probed(why_not, 0.0))
    study = tmp_path / "own.yaml"
    study.write_text(OWN.format(packets=50).replace("far: {}", "far: {nodes.a.kind: qemu}"))
    trials = json.loads(said(str(study), "--dry-run", "--json"))["trials"]
    assert [trial["emulated"] for trial in trials].count(True) == count
    printed = " ".join(said(str(study), "--dry-run").split())
    assert ("1 trial with virtual machines emulated in software (TCG)" in printed) is (count == 1)


FAR = """\
study: far
lab:
  lab: far
  nodes: {{a: {{}}, r: {{forwards: true}}, b: {{}}}}
  links:
    - {{between: [a, r], name: deep, delay: 3s, from: {{r: {{delay: 1s}}}}}}
    - {{between: [r, b], name: near, delay: 250ms}}
factors: {{load: {{rest: []}}}}
probe: {{{ends}, count: 20, interval: {interval}, at_rest: 10}}
"""


def far(tmp_path: Path, interval: str = "100ms", ends: str = "from: a, to: b") -> order.Planned:
    path = tmp_path / "far.yaml"
    path.write_text(FAR.format(interval=interval, ends=ends))
    (trial,) = order.plan_trials(load_study(path), "quick", {})
    return trial


def test_late_follows_the_delays_of_the_path(tmp_path: Path) -> None:
    cases = {
        "from: a, to: b": 5.0,
        "from: a, to: b, late: 2s": 2.0,
        "from: a, to: r": 4.5,
        "from: r, to: b": 1.0,
    }
    for ends, late_s in cases.items():
        probe = far(tmp_path, ends=ends).combination.probe
        assert probe is not None
        assert probe.late.seconds == late_s, ends


def test_the_estimate_knows_a_long_path(tmp_path: Path) -> None:
    (open_s,) = estimate.trials_s([far(tmp_path)])
    (closed_s,) = estimate.trials_s([far(tmp_path, "closed-loop")])
    phases = 2 + len(schedule(10, 1))
    assert open_s == pytest.approx(4.5 * (phases + 1) + 5.0, rel=0.1)
    assert closed_s == pytest.approx(4.5 * (phases + 1) + 4.5 * 50, rel=0.1)
