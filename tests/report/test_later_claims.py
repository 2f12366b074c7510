"""Claims are judged on a dataset that exists, and marked as chosen after the data."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from delaylab.cli import whole
from tests import synthetic
from tests.synthetic import Condition, lognormal

OWN = {
    "claim": "under-1ms",
    "of": "rtt.app",
    "group": {"kind": "lxc"},
    "median": {"less-than": "1ms"},
}
LATER = """\
claims:
  - claim: lxc-adds-little
    text: LXC adds less than 5 µs.
    of: rtt.app
    group: {kind: lxc}
    against: {kind: native}
    median: {less-than: +5us}
  - claim: lxc-adds-a-lot
    of: rtt.app
    group: {kind: lxc}
    against: {kind: native}
    median: {more-than: +20us}
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    conditions = [
        Condition(
            factors={"kind": kind}, seed=seed, delays={("reply", "wire"): lognormal(5 + us, 0.1)}
        )
        for seed, (kind, us) in enumerate((("native", 0), ("lxc", 30)))
    ]
    folder = tmp_path_factory.mktemp("later") / "run"
    return synthetic.write(folder, conditions, own_claims=[OWN])


def ran(verb: str, place: Path, tmp_path: Path, text: str, *words: str) -> Result:
    claims = tmp_path / "claims.yaml"
    claims.write_text(text)
    return CliRunner().invoke(whole(), [verb, str(place), "--claims", str(claims), *words])


def test_verdicts_on_them_say_so_in_every_form(place: Path, tmp_path: Path) -> None:
    found = json.loads(ran("show", place, tmp_path, LATER, "--json").stdout)
    assert [(each["id"], each["verdict"], each["after_data"]) for each in found["claims"]] == [
        ("under-1ms", "holds", False),
        ("lxc-adds-little", "does not hold", True),
        ("lxc-adds-a-lot", "holds", True),
    ]
    rows = csv.DictReader(
        io.StringIO(ran("show", place, tmp_path, LATER, "--csv", "claims").stdout)
    )
    assert [(row["id"], row["after_data"]) for row in rows] == [
        (each["id"], str(each["after_data"]).lower()) for each in found["claims"]
    ]
    text = " ".join(ran("show", place, tmp_path, LATER).stdout.split())
    assert "Claims of this study" in text
    assert "Claims of this study, chosen after the data" in text
    page = Path(ran("report", place, tmp_path, LATER).stdout.strip()).read_text()
    assert "<h2>Claims of this study, chosen after the data</h2>" in page
    assert "a verdict explores and does not confirm" in page


def test_without_them_no_form_says_so(place: Path) -> None:
    text = CliRunner().invoke(whole(), ["show", str(place)]).stdout
    assert "under-1ms" in text or "median rtt.app" in text
    assert "after the data" not in text


def test_a_study_file_may_give_them(place: Path, tmp_path: Path) -> None:
    study = f"study: another\nlab: nowhere.yaml\nfactors: {{}}\n{LATER}"
    found = json.loads(ran("show", place, tmp_path, study, "--json").stdout)
    assert len(found["claims"]) == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("study: mine\n", "no claims are in this file"),
        ("claims: [nothing-known]\n", "no claim 'nothing-known'"),
        (LATER.replace("kind: lxc", "kind: docker"), "no level 'docker'"),
        (LATER.replace("{kind: native}", "{node: native}"), "no factor 'node'"),
        (LATER.replace("lxc-adds-a-lot", "lxc-adds-little"), "two claims are named"),
        (LATER.replace("+5us", "a little"), "a time"),
    ],
)
def test_a_claim_that_cannot_be_judged_is_one_line_with_its_place(
    place: Path, tmp_path: Path, text: str, said: str
) -> None:
    error = str(ran("show", place, tmp_path, text).exception)
    assert said in error
    assert "claims.yaml" in error
