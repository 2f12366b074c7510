"""A comparison as a person and a script get it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from delaylab.cli import whole
from delaylab_study.analysis.compared.many import compare_studies
from delaylab_study.dataset.store import read_study
from delaylab_study.report.compared import headline
from delaylab_study.report.compared_sections import sections
from delaylab_study.report.rich_parts import print_sections
from tests import synthetic, unprobed
from tests.synthetic import Condition, constant, lognormal


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("compared")
    slow = {("reply", "sender.vif"): constant(900)}
    hostile = [{"kind": "stolen-time", "message": "<b>", "remedy": "<i>"}]
    return (
        synthetic.write(folder / "<before>", [Condition(seed=1), Condition(seed=2, load="cpu")]),
        synthetic.write(folder / "after", [Condition(seed=3, delays=slow, warnings=hostile)]),
    )


def test_json_has_every_line_with_its_interval(places: tuple[Path, Path]) -> None:
    ran = CliRunner().invoke(whole(), ["compare", *map(str, places), "--json"])
    assert ran.exit_code == 0
    found = json.loads(ran.stdout)
    first = found["lines"][0]
    assert first["verdict"] == "slower"
    assert first["interval"][0] <= first["change"] <= first["interval"][1]
    assert first["change"] == pytest.approx(first["after"] - first["before"])
    assert found["level"] == 0.99
    assert found["unlike"] == ["netns, cpu, because only before has it"]
    assert [doubt["kind"] for doubt in found["doubts"]["after"]] == ["stolen-time"]


def test_the_page_stands_alone_and_escapes_names(places: tuple[Path, Path], tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    ran = CliRunner().invoke(whole(), ["compare", *map(str, places), "--report", str(target)])
    assert ran.exit_code == 0
    assert str(target) in ran.stdout
    text = target.read_text()
    for part in (
        "slower",
        "would have been seen",
        "netns, cpu, because only before has it",
        "stolen-time",
    ):
        assert part in text
    assert "<before>" not in text
    assert "://" not in text.replace("http://www.w3.org/", "")  # the names of SVG's elements


def claiming(place: Path, reply_us: float) -> Path:
    """A dataset with two claims about its RTTs."""
    condition = Condition(seed=int(reply_us), delays={("reply", "sender.vif"): constant(reply_us)})
    place.mkdir(parents=True)
    synthetic.write(place, [condition])
    limits = {"fast": "500us", "not-slow": "1s"}
    own = [
        {"claim": name, "of": "rtt.app", "median": {"less-than": limit}}
        for name, limit in limits.items()
    ]
    raw = json.loads((place / "study.json").read_text())
    (place / "study.json").write_text(json.dumps(raw | {"claims": [*limits], "own_claims": own}))
    return place


def test_a_replication_begins_with_the_verdicts_that_changed(tmp_path: Path) -> None:
    places = claiming(tmp_path / "a", 5), claiming(tmp_path / "b", 900)
    ran = CliRunner().invoke(whole(), ["compare", *map(str, places)], env={"COLUMNS": "120"})
    assert ran.exit_code == 0
    said = ran.stdout
    order = ("One trial on each side", "1 of 2 verdicts changed.", "13 lines differ")
    places_of = [said.index(text) for text in order]
    assert places_of == sorted(places_of)
    assert "the same: not-slow (holds)" in said
    (changed, same) = json.loads(
        CliRunner().invoke(whole(), ["compare", *map(str, places), "--json"]).stdout
    )["claims"]
    assert (changed["claim"], changed["changed"], same["changed"]) == ("fast", True, False)
    assert changed["before"]["verdict"] == "holds"
    assert changed["after"]["verdict"] == "does not hold"
    assert said.count("One trial on each side") == 1


def test_verdicts_that_are_all_the_same_are_one_line(tmp_path: Path) -> None:
    places = claiming(tmp_path / "a", 5), claiming(tmp_path / "b", 6)
    ran = CliRunner().invoke(whole(), ["compare", *map(str, places)], env={"COLUMNS": "120"})
    assert "The 2 verdicts are the same." in ran.stdout
    assert "Verdicts that changed" not in ran.stdout


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of three kinds at two loads."""
    shifts = {"native": 0.0, "lxc": 40.0, "docker": 90.0}
    conditions = [
        Condition(
            load=load,
            factors={"kind": kind, "load": load},
            delays={("reply", "sender.vif"): lognormal(5 + us, 0.1)},
            seed=seed + 10 * place,
            repeat=repeat,
        )
        for repeat, seed in ((1, 1), (2, 100), (3, 200))
        for place, (kind, us) in enumerate(shifts.items())
        for load in ("rest", "cpu")
    ]
    return synthetic.write(tmp_path_factory.mktemp("kinds") / "dataset", conditions)


def test_levels_of_a_dataset_are_compared_in_every_form(kinds: Path, tmp_path: Path) -> None:
    levels = ["kind=native", "kind=lxc", "kind=docker"]
    target = tmp_path / "page.html"
    ran = CliRunner().invoke(whole(), ["compare", str(kinds), *levels, "--report", str(target)])
    assert ran.exit_code == 0
    for part in ("kind=lxc against kind=native", "kind=docker against kind=native", "slower"):
        assert part in ran.stdout
        assert part in target.read_text()
    assert target.read_text().count("<svg") == 2
    ran = CliRunner().invoke(whole(), ["compare", str(kinds), *levels, "--json"])
    found = json.loads(ran.stdout)
    assert (found["factor"], found["reference"]) == ("kind", "kind=native")
    for compared, shift in zip(found["comparisons"], (40, 90), strict=True):
        medians = [
            line
            for line in compared["lines"]
            if (line["name"], line["statistic"]) == ("user RTT", "median")
        ]
        assert {line["levels"]["load"] for line in medians} == {"rest", "cpu"}
        for line in medians:
            assert line["interval"][0] <= shift <= line["interval"][1]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["DIR"], "two or more datasets"),
        (["DIR", "kind=native", "load=cpu"], "levels of one factor"),
        (["DIR", "DIR", "kind=native", "kind=lxc"], "within one dataset"),
        (["DIR", "kind=native", "kind=uml"], "no level 'uml'"),
        (["DIR", "DIR", "--only", "load=rest"], "--only goes with levels"),
    ],
)
def test_what_does_not_fit_together_is_one_line(kinds: Path, given: list[str], said: str) -> None:
    words = [str(kinds) if word == "DIR" else word for word in given]
    ran = CliRunner().invoke(whole(), ["compare", *words])
    assert said in str(ran.exception)


def test_a_page_that_cannot_be_written_is_one_line(places: tuple[Path, Path]) -> None:
    ran = CliRunner().invoke(
        whole(), ["compare", *map(str, places), "--report", "/nowhere/page.html"]
    )
    assert "cannot be written" in str(ran.exception)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_narrow_terminal_drops_nothing(places: tuple[Path, Path], width: int) -> None:
    console = Console(file=io.StringIO(), width=width)
    print_sections(console, sections(compare_studies([read_study(place) for place in places])))
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert max(map(len, text.splitlines())) <= width
    for part in ("slower", "→", "no difference seen", "not compared", "stolen-time", "One trial"):
        assert part in text, part


def test_what_is_no_dataset_is_refused(places: tuple[Path, Path], tmp_path: Path) -> None:
    ran = CliRunner().invoke(whole(), ["compare", str(places[0]), str(tmp_path)])
    assert "not a dataset" in str(ran.exception)


def test_work_without_packets_is_compared_in_every_form(tmp_path: Path) -> None:
    def study(name: str, rate: float) -> Path:
        trials = [
            unprobed.Trial(
                [unprobed.job("a", 1, rate=rate + at), unprobed.job("b", 1, rate=100 + at)],
                repeat=at,
            )
            for at in (1, 2, 3, 4)
        ]
        return unprobed.write(tmp_path / name, trials)

    before, after = study("before", 100), study("after", 50)
    console = Console(file=io.StringIO(), width=120)
    print_sections(console, sections(compare_studies([read_study(before), read_study(after)])))
    assert isinstance(console.file, io.StringIO)
    text = " ".join(console.file.getvalue().split())
    assert "3 of 4 lines differ" in text
    for said in ("work count of a, rate mean", "102 units/s → 52.5 units/s", "−50.0 units/s ["):
        assert said in text, said
    for said in ("work count of a, share mean", "100.0 % → 67.7 %", "less", "points"):
        assert said in text, said
    assert "RTT" not in text.replace("the user RTT is round trip", "")
    target = tmp_path / "page.html"
    ran = CliRunner().invoke(whole(), ["compare", str(before), str(after), "--report", str(target)])
    assert ran.exit_code == 0
    assert "work count of a, rate" in target.read_text()
    ran = CliRunner().invoke(whole(), ["compare", str(before), str(after), "--json"])
    lines = {line["name"]: line for line in json.loads(ran.stdout)["lines"]}
    assert lines["work count of a, rate"]["unit"] == "units/s"
    assert lines["work count of a, rate"]["change"] == pytest.approx(-50)
    assert lines["work count of a, rate"]["n"] == [4, 4]


@pytest.mark.parametrize(
    ("repeats", "chance"), [(1, "each of one trial on each side"), (3, "at most about 0.")]
)
def test_lines_by_chance_are_counted_with_repeats_alone(
    tmp_path: Path, repeats: int, chance: str
) -> None:
    slow = {("reply", "sender.vif"): constant(900)}
    sides = [
        synthetic.write(
            tmp_path / name,
            [Condition(seed=seed + n, repeat=1 + n, delays=delays) for n in range(repeats)],
        )
        for name, seed, delays in (("a", 1, {}), ("b", 20, slow))
    ]
    (found,) = compare_studies([read_study(side) for side in sides]).compared
    assert (found.by_chance is None) == (repeats == 1)
    assert chance in headline(found)
    assert ("by chance" in headline(found)) == (repeats > 1)
