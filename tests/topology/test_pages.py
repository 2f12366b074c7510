"""The pages on maps are true: formats, generators, the study, what containerlab's fields become."""

from __future__ import annotations

from pathlib import Path

from delaylab.spec.source import parse
from delaylab.topology.formats import FORMATS
from delaylab.topology.generators import GENERATORS
from delaylab_study.study_file.combine import combinations
from delaylab_study.study_file.load import study_from
from delaylab_study.study_file.maps import with_maps

DOCS = Path(__file__).parents[2] / "docs"
MAPS = (DOCS / "maps.md").read_text()


def rows(part: str) -> list[list[str]]:
    """Return the cells of the table in a part of the page."""
    text = MAPS.split(f"## {part}\n")[1].split("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_format_has_its_row() -> None:
    named = {name.strip("` ") for row in rows("Formats") for name in row[0].split(",")}
    assert named - {"–"} == set(FORMATS)


def test_every_generator_has_its_row_with_its_parameters_in_order() -> None:
    found = {
        name.strip("` "): [word for word in row[1].split("`") if word.isidentifier()]
        for row in rows("Generators")
        for name in row[0].split(",")
    }
    assert found == {
        name: [each.name for each in generator.parameters] for name, generator in GENERATORS.items()
    }


def test_the_study_on_the_page_is_one() -> None:
    text = MAPS.split("```yaml\n")[1].split("```")[0]
    study = study_from(with_maps(parse(text, "maps.md")))
    assert [len(each.lab.nodes) for each in combinations(study, "quick")] == [3, 9]
