"""The modules of each Rust crate use each other without circles, file by file and room by room."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

CRATES = sorted((Path(__file__).parent.parent / "crates").glob("*/src"))
# Comments, strings and characters, none of which names a module.
NO_CODE = re.compile(
    r"//[^\n]*|/\*.*?\*/"
    r'|b?r(?P<hashes>#*)".*?"(?P=hashes)|b?"(?:\\.|[^"\\])*"'
    r"|b?'(?:\\[^']*|[^\\'])'",
    re.DOTALL,
)
ONLY_FOR_TESTS = re.compile(
    r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub\s+)?mod\s+(\w+)\s*([;{])"
)
CHILD = re.compile(r"\bmod\s+(\w+)\s*;")
IMPORT = re.compile(r"\buse\s+([^;]+);")
PATH = re.compile(r"(?<![\w:])(?:r#)?\w+(?:::(?:r#)?\w+)+")

Name = tuple[str, ...]


class Module:
    """A file of a crate: its place in the tree of modules, and what it declares and names."""

    def __init__(self, file: Path, name: Name) -> None:
        self.file = file
        self.name = name
        code = without_tests(NO_CODE.sub(" ", file.read_text()))
        self.children = set(CHILD.findall(code))
        self.imports: dict[str, Name] = {}
        self.globs: list[Name] = []
        for declaration in IMPORT.findall(code):
            for path, alias in leaves(declaration):
                if alias == "*":
                    self.globs.append(path)
                else:
                    self.imports[alias] = path
        self.paths = [tuple(path.split("::")) for path in PATH.findall(IMPORT.sub(" ", code))]


def without_tests(code: str) -> str:
    """Return the code without its modules for tests; their declarations go, too."""
    while found := ONLY_FOR_TESTS.search(code):
        end = found.end()
        depth = 1 if found[2] == "{" else 0
        while depth:
            depth += {"{": 1, "}": -1}.get(code[end], 0)
            end += 1
        code = code[: found.start()] + code[end:]
    return code


def leaves(tree: str, above: Name = ()) -> Iterator[tuple[Name, str]]:
    """Yield each path that a `use` names, with the name that it gets: `a::{b, c as d}` has two."""
    tree = tree.strip()
    if "{" in tree:
        head, _, inner = tree.partition("{")
        above = (*above, *(part for part in head.strip().split("::") if part))
        for part in parts(inner.rpartition("}")[0]):
            yield from leaves(part, above)
        return
    path, _, alias = tree.partition(" as ")
    names = (*above, *path.strip().split("::"))
    if names[-1] == "*":
        yield names[:-1], "*"
        return
    if names[-1] == "self" and len(names) > 1:
        names = names[:-1]
    yield names, alias.strip() or names[-1]


def parts(inner: str) -> list[str]:
    """Return what stands between the commas of a group, groups in it left whole."""
    found, depth = [""], 0
    for character in inner:
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and not depth:
            found.append("")
        else:
            found[-1] += character
    return [part for part in found if part.strip()]


class Crate:
    """All modules of a crate, and which file uses which."""

    def __init__(self, source: Path) -> None:
        self.source = source
        self.modules: dict[Name, Module] = {}
        for root in ("lib.rs", "main.rs"):
            if (source / root).exists():
                self.add(source / root, ())

    def add(self, file: Path, name: Name) -> None:
        """Read a file and the files of its child modules."""
        module = self.modules[name] = Module(file, name)
        for child in module.children:
            folder = self.source.joinpath(*name)
            places = (folder / f"{child}.rs", folder / child / "mod.rs")
            self.add(next(place for place in places if place.exists()), (*name, child))

    def absolute(self, module: Module, path: Name) -> Name | None:
        """Return a path from the crate's root on, or None if it leads to another crate."""
        head, rest = path[0], path[1:]
        if head in ("crate", "self"):
            return (*(() if head == "crate" else module.name), *rest)
        if head == "super":
            base = module.name[:-1]
            while rest and rest[0] == "super":
                base, rest = base[:-1], rest[1:]
            return (*base, *rest)
        if head in module.children:
            return (*module.name, *path)
        imported = module.imports.get(head)
        # `use a::b;` makes `b::c` mean `a::b::c`, but `use serde;` means the crate of that name.
        if imported is None or imported[0] == head:
            return None
        base_of = self.absolute(module, imported)
        return None if base_of is None else (*base_of, *rest)

    def defines(self, path: Name, seen: frozenset[Name] = frozenset()) -> Module | None:
        """Return the module whose file defines what a path from the root names."""
        length = max(n for n in range(len(path) + 1) if path[:n] in self.modules)
        module = self.modules[path[:length]]
        if length == len(path) or path in seen:
            return module
        imported = module.imports.get(path[length])
        if imported is not None:
            onward = self.absolute(module, imported)
            if onward is None:
                return None
            return self.defines((*onward, *path[length + 1 :]), seen | {path})
        return module

    def uses(self) -> dict[str, set[str]]:
        """Return for each file the files that it uses, by path below the source folder."""
        graph: dict[str, set[str]] = {}
        for module in self.modules.values():
            here = str(module.file.relative_to(self.source))
            targets = graph.setdefault(here, set())
            for path in [*module.imports.values(), *module.globs, *module.paths]:
                whole = self.absolute(module, path)
                used = None if whole is None else self.defines(whole)
                if used is not None:
                    targets.add(str(used.file.relative_to(self.source)))
            targets.discard(here)
        return graph


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of files, or rooms, of which each uses each other one, be it by others."""

    def reached(start: str) -> set[str]:
        found: set[str] = set()
        ahead = list(graph[start])
        while ahead:
            file = ahead.pop()
            if file not in found:
                found.add(file)
                ahead.extend(graph[file])
        return found

    reach = {file: reached(file) for file in graph}
    groups = {
        tuple(sorted(other for other in reach[file] if file in reach[other]))
        for file in graph
        if file in reach[file]
    }
    return [list(group) for group in sorted(groups)]


def rooms(graph: dict[str, set[str]], folder: Path) -> dict[str, set[str]]:
    """Return for each file and folder right in a folder those in it that it uses."""

    def room(file: str) -> str | None:
        if not Path(file).is_relative_to(folder):
            return None
        return Path(file).relative_to(folder).parts[0]

    found: dict[str, set[str]] = {here: set() for file in graph if (here := room(file))}
    for file, used in graph.items():
        here = room(file)
        if here is not None:
            found[here] |= {there for other in used if (there := room(other))} - {here}
    return found


@pytest.mark.parametrize("source", CRATES, ids=lambda source: source.parent.name)
def test_files_of_a_crate_use_each_other_without_circles(source: Path) -> None:
    graph = Crate(source).uses()
    files = {str(file.relative_to(source)) for file in source.rglob("*.rs")}
    unread = files - set(graph)
    assert all(Path(file).stem == "tests" for file in unread), unread
    assert circles(graph) == []
    for folder in {parent for file in graph for parent in Path(file).parents}:
        assert circles(rooms(graph, folder)) == [], folder


def made_up(folder: Path, files: dict[str, str]) -> dict[str, set[str]]:
    """Write a crate of these files, and return which of them uses which."""
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return Crate(folder).uses()


def test_a_circle_is_found_with_its_files(tmp_path: Path) -> None:
    graph = made_up(
        tmp_path,
        {
            "lib.rs": "mod a;\nmod b;\npub use a::A;\n",
            "a.rs": "use crate::b::{self, deep::{Deep as D}};\nfn a(_: D) { b::low::go() }\n",
            "b/mod.rs": "pub mod deep;\npub mod low;\n",
            "b/deep.rs": "use super::low;\npub struct Deep;\nfn f() { low::go() }\n",
            # A re-export leads to the file that defines the thing.
            "b/low.rs": "pub fn go() { let _ = crate::A; }\n",
        },
    )
    assert graph["a.rs"] == {"b/mod.rs", "b/deep.rs", "b/low.rs"}
    assert circles(graph) == [["a.rs", "b/deep.rs", "b/low.rs"]]


def test_a_child_that_uses_what_its_parent_defines_makes_a_circle(tmp_path: Path) -> None:
    child = "use super::{Shown, named};\nuse serde::Serialize;\n"
    use = "use child::Child;\nfn named() {}"
    files = {
        "lib.rs": "mod room;\n",
        "room/mod.rs": "mod child;\nmod other;\npub use other::Shown;\n" + use,
        "room/other.rs": "pub struct Shown;",
        "room/child.rs": child + "pub struct Child;",
    }
    assert circles(made_up(tmp_path, files)) == [["room/child.rs", "room/mod.rs"]]
    files["room/child.rs"] = child.replace("{Shown, named}", "Shown")
    graph = made_up(tmp_path, files)
    assert graph["room/child.rs"] == {"room/other.rs"}
    assert circles(graph) == []


def test_rooms_that_use_each_other_by_different_files_make_a_circle(tmp_path: Path) -> None:
    graph = made_up(
        tmp_path,
        {
            "lib.rs": "mod left;\nmod right;\n",
            "left/mod.rs": "pub mod above;\npub mod below;\n",
            "left/above.rs": "use crate::right::middle::M;\n",
            "left/below.rs": "pub struct B;\n",
            "right/mod.rs": "pub mod middle;\n",
            "right/middle.rs": "use crate::left::below::B;\npub struct M(B);\n",
        },
    )
    assert circles(graph) == []
    assert circles(rooms(graph, Path())) == [["left", "right"]]
    assert circles(rooms(graph, Path("left"))) == []


def test_comments_strings_and_tests_are_no_use(tmp_path: Path) -> None:
    graph = made_up(
        tmp_path,
        {
            "lib.rs": "mod a;\nmod b;\n",
            "a.rs": (
                "// use crate::b::B;\n/// As [`crate::b`].\npub struct A<'a>(&'a str, char);\n"
                "fn f() -> A<'static> { A(\"crate::b::B\", '\"') }\n"
                "#[cfg(test)]\nmod tests { use crate::b::B; mod inner { fn g() { {} } } }\n"
            ),
            "b.rs": "use crate::a::A;\npub struct B;\n#[cfg(test)]\nmod tests;\n",
        },
    )
    assert graph == {"lib.rs": set(), "a.rs": set(), "b.rs": {"a.rs"}}
