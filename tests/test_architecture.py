"""The import graph is the one that docs/architecture.md draws: no arrow up, no circle."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "delaylab"
ORDER = [
    "errors",
    "private",
    "printable",
    "terminal",
    "diskio",
    "guests",
    "version",
    "records",
    "units",
    "spoken",
    "spec",
    "plan",
    "kinds",
    "columns",
    "wireline",
    "hosts",
    "images",
    "kvm",
    "readying",
    "capacity",
    "given",
    "machine",
    "lab",
    "health",
    "engines",
    "loads",
    "readings",
    "instruments",
    "sender",
    "rate_search",
    "trial",
    "dataset",
    "study",
    "campaign",
    "analysis",
    "report",
    "studies",
    "verbs",
    "cli",
]
MEANING = {"analysis", "report"}
MEANING_MAY_USE = {
    *(
        "errors",
        "printable",
        "terminal",
        "diskio",
        "units",
        "spoken",
        "records",
        "dataset",
        "analysis",
        "report",
        "version",
    ),
}


def imports() -> dict[str, set[str]]:
    """Room -> room, where a room is a module or package right below delaylab."""
    graph: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if room == "__init__":
            continue
        targets = graph.setdefault(room, set())
        for node in ast.walk(ast.parse(path.read_text())):
            targets.update(_targets(node))
        targets.discard(room)
    return graph


def _targets(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom) and node.module == "delaylab":
        return [alias.name for alias in node.names]
    names = []
    if isinstance(node, ast.ImportFrom) and node.module:
        names = [node.module]
    elif isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    return [name.split(".")[1] for name in names if name.startswith("delaylab.")]


def test_every_room_has_its_place() -> None:
    assert set(imports()) == set(ORDER)


def test_no_arrow_runs_up() -> None:
    graph = imports()
    upward = [(a, b) for a in graph for b in graph[a] if ORDER.index(b) > ORDER.index(a)]
    assert not upward


@pytest.mark.parametrize("room", sorted(MEANING))
def test_meaning_never_imports_doing(room: str) -> None:
    assert imports()[room] <= MEANING_MAY_USE


def test_verbs_of_labs_load_no_tables() -> None:
    heavy = ("polars", "pyarrow", "numpy", "scipy", "altair", "docker")
    script = (
        "import sys; from delaylab import cli, hosts, lab, plan, spec; "
        "from delaylab.verbs import execute, labs, links; "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_no_source_file_is_too_long_to_read() -> None:
    root = SOURCE.parent.parent
    files = [
        *SOURCE.rglob("*.py"),
        *(root / "crates").rglob("*.rs"),
        *(root / "tests").rglob("*.py"),
    ]
    lengths = sorted((len(path.read_text().splitlines()), str(path)) for path in files)
    assert lengths[-1][0] <= 500, lengths[-1]
    assert lengths[len(lengths) // 2][0] <= 200


def test_the_link_crate_stands_alone() -> None:
    crate = SOURCE.parents[1] / "crates" / "link"
    needed = tomllib.loads((crate / "Cargo.toml").read_text())["dependencies"]
    assert not [name for name in needed if name.startswith("delaylab")]
    sources = {path.name: path.read_text() for path in (crate / "src").glob("*.rs")}
    assert "pipe.rs" in sources
    for word in ("unsafe", "std::time", "std::fs", "std::net", "std::io", "std::thread"):
        assert not [name for name, text in sources.items() if word in text], word
