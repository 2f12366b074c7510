"""The modules of the packages, and what they import, for the tests of the architecture."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

SOURCES = Path(__file__).parent.parent / "src"
SOURCE, STUDY, PAPERS = (
    SOURCES / name for name in ("delaylab", "delaylab_study", "delaylab_papers")
)
ROOT = SOURCES.parent


@cache
def modules() -> dict[str, Path]:
    """Module -> its file, of the laboratory and of studies."""
    found = {}
    for package in (SOURCE, STUDY):
        for path in package.rglob("*.py"):
            parts = path.relative_to(SOURCES).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imports() -> dict[str, set[str]]:
    """Module -> modules of delaylab that it imports, also inside of functions."""
    known = modules()
    return {
        name: imported(path.read_text(), package_of(name, path)) & set(known) - {name}
        for name, path in known.items()
    }


def package_of(name: str, path: Path) -> str:
    """Return the package from which a module's relative imports start."""
    return name if path.stem == "__init__" else name.rpartition(".")[0]


def imported(source: str, package: str) -> set[str]:
    """Return the modules that a source of a package imports, however it writes their names."""
    return {target for node in ast.walk(ast.parse(source)) for target in targets_of(node, package)}


def targets_of(node: ast.AST, package: str) -> list[str]:
    """Return the modules that a node of a source imports, by their whole names."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        start = package.split(".")[: -(node.level - 1) or None] if node.level else []
        module = ".".join([*start, *filter(None, [node.module])])
        # A name of a package is a module of its own, or something that the package defines.
        below = [f"{module}.{alias.name}" for alias in node.names]
        return [each if each in modules() else module for each in below]
    return []


def between(below: str) -> set[tuple[str, str]]:
    """Return the arrows between the rooms of a package, or of a room of one."""
    place, arrows = below.count(".") + 1, set()
    for module, targets in imports().items():
        for target in targets:
            ends = module.split("."), target.split(".")
            if all(len(end) > place and end[:place] == below.split(".") for end in ends):
                arrows.add((ends[0][place], ends[1][place]))
    return {(a, b) for a, b in arrows if a != b}


def imports_of(node: ast.AST) -> list[str]:
    """Return the modules that a node of a source imports by their whole names."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
