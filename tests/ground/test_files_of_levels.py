"""Files of nodes that a study's levels give: as a whole, or one by its path."""

from __future__ import annotations

from pathlib import Path

import pytest

from delaylab.errors import BadInput
from delaylab_study.study_file.combine import combinations
from delaylab_study.study_file.load import load_study

STUDY = """\
study: files
lab:
  lab: files
  nodes:
    a: {files: {/etc/motd: hello, /etc/x.conf: {from: x.conf}}}
    b: {}
  links: [{between: [a, b], name: wire}]
factors:
  file:
    usual: {}
    other: {LEVEL}
probe: {from: a, to: b}
"""


def contents(folder: Path, level: str) -> list[dict[str, str]]:
    """Return the files of node `a` at each level."""
    (folder / "x.conf").write_text("one")
    (folder / "other.conf").write_text("two")
    (folder / "study.yaml").write_text(STUDY.replace("LEVEL", level))
    found = combinations(load_study(folder / "study.yaml"), "quick")
    return [
        {path: file.content for path, file in each.lab.nodes["a"].files.items()} for each in found
    ]


def test_a_level_gives_one_file_by_its_path(tmp_path: Path) -> None:
    """The dots and slashes of its path are no steps; the node keeps its other files."""
    usual, other = contents(tmp_path, "nodes.a.files./etc/x.conf: {from: other.conf}")
    assert usual == {"/etc/motd": "hello", "/etc/x.conf": "one"}
    assert other == {"/etc/motd": "hello", "/etc/x.conf": "two"}
    _, other = contents(tmp_path, "nodes.a.files./etc/x.conf: {content: three, mode: 600}")
    assert other["/etc/x.conf"] == "three"


def test_a_level_gives_all_files_of_a_node(tmp_path: Path) -> None:
    _, other = contents(tmp_path, "nodes.a.files: {/etc/x.conf: {from: other.conf}}")
    assert other == {"/etc/x.conf": "two"}


@pytest.mark.parametrize(
    ("level", "says"),
    [
        ("nodes.a.files./etc/x.conf: {from: none.conf}", "no such file"),
        ("nodes.c.files./etc/x.conf: {from: other.conf}", "leads to nothing"),
        ("nodes.a.files./etc/: {from: other.conf}", "a path from / on"),
    ],
)
def test_a_level_of_a_file_that_cannot_be_is_one_line(
    tmp_path: Path, level: str, says: str
) -> None:
    with pytest.raises(BadInput, match=says) as refused:
        contents(tmp_path, level)
    assert f"{refused.value.where}".startswith(str(tmp_path))
