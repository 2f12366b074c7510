"""The rooms of docs/architecture.md: their order, no circle, a plan that touches nothing."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.rooms import (
    PAPERS,
    ROOT,
    SOURCE,
    STUDY,
    between,
    imported,
    imports,
    imports_of,
    modules,
    package_of,
)

ORDER = [
    *("errors", "extras", "progress", "units", "version", "extensions", "points", "io"),
    *(
        "placement",
        "spec",
        "records",
        "resolve",
        "drawing",
        "forwarding",
        "verdicts",
        "causes",
        "topology",
        "routing",
    ),
    *(
        "plan",
        "agent",
        "kinds",
        "images",
        "machines",
        "lab",
        "verbs",
        "cli",
        "api",
        "replaying",
        "__main__",
    ),
]
"""The rooms of the laboratory, each above all that it imports."""
ORDER_OF_STUDY = [
    *("study_file", "dataset", "loads", "work", "trial", "study", "campaign"),
    *("analysis", "charts", "papers", "report", "verbs", "api", "cli"),
]
"""The rooms of studies."""
ROOMS_OF_ANALYSIS = [
    "usable",
    "statistics",
    "convergence",
    "clocks",
    "packets",
    "causes",
    "doubts",
    "links",
    "domains",
    "fairness",
    "work",
    "over_time",
    "delay_by_share",
    "group",
    "pooled",
    "analyse",
    "treatments",
    "claims",
    "scaling",
    "joined",
    "compared",
]
TOUCHES_THE_MACHINE = {"os", "shutil", "subprocess", "socket", "tempfile", "pathlib", "ctypes"}


@pytest.mark.parametrize(
    "source",
    [
        "import delaylab.cli.options",
        "from delaylab.cli import options",
        "from delaylab.cli.options import Verbs",
        "from .cli import options",
        "def later():\n    from .cli.options import Verbs",
    ],
)
def test_an_import_is_seen_however_it_is_written(source: str) -> None:
    assert imported(source, "delaylab") == {"delaylab.cli.options"}
    assert package_of("delaylab.progress", SOURCE / "progress.py") == "delaylab"


def test_a_relative_import_starts_at_its_own_package() -> None:
    assert imported("from . import tree", "delaylab.images") == {"delaylab.images.tree"}
    assert imported("from ..io import files", "delaylab.images") == {"delaylab.io.files"}
    assert package_of("delaylab.images", SOURCE / "images/__init__.py") == "delaylab.images"


@pytest.mark.parametrize(
    ("below", "order"),
    [
        ("delaylab", ORDER),
        ("delaylab_study", ORDER_OF_STUDY),
        ("delaylab_study.analysis", ROOMS_OF_ANALYSIS),
    ],
)
def test_every_room_has_its_place_and_no_arrow_runs_up(below: str, order: list[str]) -> None:
    place = below.count(".") + 1
    rooms = [name.split(".") for name in modules() if name.startswith(f"{below}.")]
    assert {room[place] for room in rooms} == set(order)
    assert not [(a, b) for a, b in between(below) if order.index(b) > order.index(a)]


def test_there_is_no_circle_of_modules() -> None:
    try:
        TopologicalSorter(imports()).prepare()
    except CycleError as error:
        pytest.fail(f"circle: {' -> '.join(error.args[1])}")


OF_FILES = re.compile(r"\b(LabSpec|LinkSpec|conditions_of|named_links|written_out)\b")
"""Names for a lab as its file says it, and for values that follow from it."""
MAY_READ_FILES = {"spec", "resolve", "study_file"}


def readers_of_files(sources: Mapping[str, str]) -> set[str]:
    """Return the rooms whose sources name a lab as its file says it."""
    return {room for room, text in sources.items() if OF_FILES.search(text)}


def test_a_lab_is_resolved_once() -> None:
    """All other rooms take a `Lab`, in which every name and condition is worked out."""
    sources: dict[str, str] = defaultdict(str)
    for name, path in modules().items():
        # One prints the file's schema, the other is the door, which only names what is inside.
        if name.count(".") and name not in ("delaylab.verbs.schema", "delaylab.api.lab_files"):
            sources[name.split(".")[1]] += path.read_text()
    assert readers_of_files(sources) == MAY_READ_FILES
    assert readers_of_files({"plan": "def build(lab: LabSpec) -> Plan: ..."}) == {"plan"}


def test_verbs_of_labs_load_no_tables() -> None:
    heavy = ("polars", "pyarrow", "numpy", "scipy", "altair", "docker")
    script = (
        "import sys; from delaylab import cli, machines; from delaylab.plan import build; "
        "from delaylab.resolve import load; from delaylab.lab import start; "
        "from delaylab.verbs import execute, labs, links, underlays; "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_what_is_asked_of_a_running_lab_makes_no_plan() -> None:
    """`ps`, `link show` and `exec` read the plan beside the lab; to check and plan takes longer."""
    script = (
        "import sys; from delaylab import cli, machines; from delaylab.lab import attach; "
        "from delaylab.verbs import execute, labs, links, underlays; "
        "print(*(name for name in sys.modules if name.startswith('delaylab.')))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(ran.stdout.split())
    assert "delaylab.lab.running" in loaded
    making = {
        *("delaylab.spec.lab", "delaylab.spec.check", "delaylab.spec.load"),
        *("delaylab.plan.build", "delaylab.kinds"),
    }
    assert loaded & making == set()


def test_a_plan_imports_nothing_that_touches_the_machine() -> None:
    for path in (SOURCE / "plan").rglob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text()))
        names = {name.split(".")[0] for node in nodes for name in imports_of(node)}
        assert not names & TOUCHES_THE_MACHINE, path


HARNESS = """
import sys
from pathlib import Path
from delaylab.kinds import KINDS
from delaylab.plan.build import build
# build() imports these for labs with daemons or conditions: code is not what is built
import delaylab.plan.conditions.conditioned, delaylab.plan.daemons
from delaylab.plan.kind import Rights
from delaylab_study.papers.studies import find, names
from delaylab_study.study_file.combine import combinations
from delaylab.resolve.load import load_lab
from delaylab_study.study_file.load import load_study

labs = [load_lab(Path(name)) for name in sys.argv[2:]]
for name in names():
    labs += [each.lab for each in combinations(load_study(find(name)), "quick")]
touched, pure = [], [False]
def hook(event, args):
    if pure[0] and event.split(".")[0] in ("open", "os", "subprocess", "socket", "shutil"):
        touched.append((event, str(args)[:100]))
sys.addaudithook(hook)
pure[0] = True
for lab in labs:
    for dom0 in (False, True):
        for root in (False, True):
            try:
                build(lab, KINDS, Rights(root, dom0=dom0))
            except Exception as error:
                if type(error).__module__ != "delaylab.errors":
                    raise
if sys.argv[1] == "control":
    open("/dev/null").close()
pure[0] = False
print(len(labs), touched)
"""


@pytest.mark.parametrize("control", ["", "control"])
def test_a_plan_is_built_without_opening_a_file_or_starting_a_program(control: str) -> None:
    """The control opens a file in the harness, which must be seen."""
    labs = sorted(str(path) for path in (ROOT / "examples").rglob("*.yaml") if _is_lab(path))
    words = [sys.executable, "-c", HARNESS, control, *labs]
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    count, _, touched = ran.stdout.strip().partition(" ")
    assert int(count) >= 50
    assert (touched == "[]") == (control == "")


def _is_lab(path: Path) -> bool:
    return any(line.startswith("lab:") for line in path.read_text().splitlines()) and not any(
        line.startswith("study:") for line in path.read_text().splitlines()
    )


def test_no_source_file_is_too_long_to_read() -> None:
    """A file past 400 lines is questioned. No short length is asked: one thought is one file."""
    places = (
        SOURCE,
        STUDY,
        PAPERS,
        ROOT / "crates",
        ROOT / "tests",
        ROOT / "benches",
        ROOT / "tools",
    )
    files = [
        path for place in places for path in place.rglob("*.*") if path.suffix in (".py", ".rs")
    ]
    assert len(files) > 1000
    lengths = {str(path): len(path.read_text().splitlines()) for path in files}
    assert {path: length for path, length in lengths.items() if length > 400} == {}


VARIADIC = {"select", "with_columns", "add_row", "run", "label"}
"""Calls of any number of values that are alike: columns, cells, words of a command, levels."""


def long_calls(source: str) -> list[int]:
    """Return the lines of calls with seven or more values that have no name."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and len(node.args) >= 7
        and ast.unparse(node.func).rpartition(".")[2] not in VARIADIC
    ]


def test_no_call_has_seven_values_without_names() -> None:
    """ruff limits what functions take by position, but not the fields of a dataclass."""
    assert long_calls("Point(1, 2, 3, 4, 5, 6, *more)") == [1]
    assert long_calls("Point(1, 2, 3, 4, 5, 6, z=7)\ntable.select(1, 2, 3, 4, 5, 6, 7)") == []
    files = [
        *SOURCE.rglob("*.py"),
        *STUDY.rglob("*.py"),
        *PAPERS.rglob("*.py"),
    ]
    assert len(files) > 400
    found = [f"{path}:{line}" for path in files for line in long_calls(path.read_text())]
    assert found == []


def test_the_link_crate_stands_alone() -> None:
    crate = ROOT / "crates" / "link"
    needed = tomllib.loads((crate / "Cargo.toml").read_text())["dependencies"]
    assert not [name for name in needed if name.startswith("delaylab")]
    sources = {path.name: path.read_text() for path in (crate / "src").glob("*.rs")}
    assert "pipe.rs" in sources
    for word in ("unsafe", "std::time", "std::fs", "std::net", "std::io", "std::thread"):
        assert not [name for name, text in sources.items() if word in text], word
