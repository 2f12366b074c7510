"""Papers and datasets for tests: the example, and small ones written from text."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

from delaylab_study.study_file.combine import combinations
from delaylab_study.study_file.load import load_study
from tests import synthetic
from tests.synthetic import Condition, lognormal

ROOT = Path(__file__).parent.parent.parent
EXAMPLE = ROOT / "examples" / "mypaper"
SLOW_US = {"own": 5.0, "virtual": 20.0}
"""The delay between user space and the queue, by the example's level of `stack`."""
STUDY = (EXAMPLE / "study.yaml").read_text()
PAPER = """
from delaylab_study.papers.toolkit import Chart, Claim, Criterion, Measured, Paper, Source
from delaylab_study.papers.toolkit import Effect, Table, above


def test(groups):
    return [Measured("here", Effect(1, (1, 1)), groups, "it holds")]


def tables(groups):
    return [Table("A table", "note", ["a"], [["b"]])]


IT = Criterion("it", "times", above(0), test, "trials")
CLAIMS = (Claim("it-holds", "It holds.", Source("section 1"), (IT,)),)
PAPER = Paper("other", CLAIMS, tables=tables)
"""


def dataset(place: Path, claims: list[str], source: str) -> Path:
    """A dataset of the example's design with delays that follow from the levels."""
    spec = load_study(EXAMPLE / "study.yaml")
    conditions = [
        Condition(
            kind=combination.lab.nodes["probe"].kind,
            load=combination.loads[0].what if combination.loads else "rest",
            packets=100,
            seed=index,
            delays={("request", "sender.qdisc"): _delay(combination.levels)},
            factors=combination.levels,
        )
        for index, combination in enumerate(combinations(spec, "quick"))
    ]
    return synthetic.write(place, conditions, claims, source)


def _delay(levels: dict[str, str]) -> synthetic.Delay:
    return lognormal(SLOW_US[levels["stack"]] * (2 if levels["load"] == "cpu" else 1))


def paper(place: Path, change: Callable[[str], str] = lambda text: text) -> Path:
    """A paper's folder: the small one above, with its text changed."""
    place.mkdir(parents=True)
    (place / "paper.py").write_text(textwrap.dedent(change(PAPER)))
    study = STUDY.replace("source: mypaper", "source: other")
    (place / "study.yaml").write_text(study.partition("claims:")[0] + "claims: [it-holds]\n")
    return place


def package(place: Path, name: str, entries: dict[str, str]) -> Path:
    """A package as pip installs it: its metadata with entry points, in a folder to import from."""
    info = place / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = "\n".join(f"{key} = {value}" for key, value in entries.items())
    (info / "entry_points.txt").write_text(f"[delaylab.papers]\n{lines}\n")
    return place
