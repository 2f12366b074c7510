"""The rooms of each Rust crate, which are its folders and files, use each other without circles.

What a room lends to others is held by visibility, and the order of crates by Cargo.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

CRATES = sorted((Path(__file__).parent.parent / "crates").glob("*/src"))
COMMENT = re.compile(r"//[^\n]*")
PATH = re.compile(r"\b((?:crate|(?:self::)?(?:super::)*super|self)::)((?:\w+::)*)(\w+|\{[^}]*\})")
INNER = re.compile(r"^( *)(?:pub(?:\([^)]*\))? )?mod (\w+) \{$.*?^\1\}$", re.DOTALL | re.MULTILINE)
"""A module that is written inside of its parent's file."""


Name = tuple[str, ...]


def module(source: Path, file: Path) -> Name:
    """Return the path of the module in a file, from the crate's root on."""
    parts = file.relative_to(source).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts


def paths(text: str, here: Name) -> Iterator[Name]:
    """Yield the paths from the crate's root on that are named in a module, and in those inside."""
    for inner in INNER.finditer(text):
        body = inner[0].partition("\n")[2]
        yield from paths(body, (*here, inner[2]))
    for start, above, below in PATH.findall(INNER.sub("", text)):
        up = start.count("super")
        root = () if start == "crate::" else here[: len(here) - up]
        for name in re.findall(r"\w+", below):
            yield (*root, *above.split("::")[:-1], name)


def used(source: Path) -> dict[Name, set[Name]]:
    """Return for each room those beside it that it names, by any of Rust's paths."""
    names = {file: module(source, file) for file in sorted(source.rglob("*.rs"))}
    rooms = {name[:n] for name in names.values() for n in range(1, len(name) + 1)}
    found: dict[Name, set[Name]] = {}
    for file, here in names.items():
        for named in paths(COMMENT.sub("", file.read_text()), here):
            steps = enumerate(zip(here, named, strict=False), 1)
            apart = next((n for n, (ours, theirs) in steps if ours != theirs), 0)
            if named[:apart] in rooms:
                found.setdefault(here[:apart], set()).add(named[:apart])
    return found


@pytest.mark.parametrize("source", CRATES, ids=lambda source: source.parent.name)
def test_rooms_of_a_crate_use_each_other_without_circles(source: Path) -> None:
    TopologicalSorter(used(source)).prepare()


def test_a_circle_is_found(tmp_path: Path) -> None:
    files = {
        "left/mod.rs": "// use crate::right;\n",
        "left/one.rs": "use crate::{right};\n",
        "left/two/mod.rs": "use crate::left::one::One;\n",
        "right.rs": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert used(tmp_path) == {("left",): {("right",)}, ("left", "two"): {("left", "one")}}
    (tmp_path / "right.rs").write_text("fn f() { crate::left::two::two() }\n")
    with pytest.raises(CycleError):
        TopologicalSorter(used(tmp_path)).prepare()


APART = re.compile(r"\bdelaylab_(?:calls|recording|replay)\b")
"""The crates about recording and replaying programs, in a source."""
MAY_USE_THEM = {
    *("calls", "recording", "replay", "fuzz-targets", "agent/src/main.rs"),
    *(f"agent/src/operations/programs/{name}.rs" for name in ("programs_folder", "recording")),
}


def passing_the_door(sources: Mapping[str, str]) -> set[str]:
    """Return the files, by their paths below `crates/`, that use crates which stand apart."""
    return {
        name
        for name, text in sources.items()
        if APART.search(COMMENT.sub("", text)) and not {name, name.split("/")[0]} & MAY_USE_THEM
    }


def test_recording_and_replaying_stand_apart() -> None:
    folder = CRATES[0].parents[1]
    files = {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.rs")}
    assert passing_the_door(files) == set()
    use = "use delaylab_recording::files::Files;"
    assert passing_the_door({"agent/src/link/mod.rs": use}) == {"agent/src/link/mod.rs"}
    assert passing_the_door({"agent/src/main.rs": use, "os/src/lib.rs": f"// {use}"}) == set()
    assert {name for name in MAY_USE_THEM if name.endswith(".rs")} <= files.keys()


@pytest.mark.parametrize(
    "back",
    [
        "use super::left::Left;",
        "use self::super::left::Left;",
        "mod tests {\n    use super::super::left::Left;\n}",
        "fn f() { super::left::left() }",
    ],
)
def test_a_circle_by_relative_paths_is_found(tmp_path: Path, back: str) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "left.rs").write_text("use super::right::{Right};\n")
    (tmp_path / "room" / "right.rs").write_text("mod tests {\n    use super::*;\n}\n")
    assert used(tmp_path) == {("room", "left"): {("room", "right")}}
    (tmp_path / "room" / "right.rs").write_text(f"{back}\n")
    with pytest.raises(CycleError):
        TopologicalSorter(used(tmp_path)).prepare()
