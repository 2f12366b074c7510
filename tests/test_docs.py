"""The docs are true: pages made from the command line are current, links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from benches.__main__ import ALL
from tools import claims_page
from tools.cli_pages import FOLDER, pages
from tools.profile_table import PAGE, table

from delaylab.cli import whole
from delaylab.kinds import KINDS
from delaylab.plan.kind import PACKAGES
from delaylab.resolve.load import lab_from
from delaylab.spec.conditions.directions import conditions_of
from delaylab.spec.conditions.model import ConditionsSpec
from delaylab.spec.kinds import FACTS, FIELDS_OF_KINDS, NodeSpec
from delaylab.spec.source import parse
from delaylab.verbs.kind_round_trips import TABLE_US
from delaylab_study.charts.vega import KINDS as COLOURS
from tests.plain import plain
from tests.test_architecture import ORDER, ORDER_OF_STUDY

ROOT = Path(__file__).parent.parent
KINDS_FOLDER = ROOT / "docs" / "kinds"
DOCUMENTS = [
    *(ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"),
    *(ROOT / "docs").glob("*.md"),
    *KINDS_FOLDER.glob("*.md"),
    *(ROOT / "docs" / "tutorials").glob("*.md"),
    *(ROOT / "docs" / "coverage").glob("*.md"),
]


def test_every_verb_has_its_current_page() -> None:
    for name, text in pages().items():
        assert (FOLDER / name).read_text() == text, f"run `make docs`: docs/cli/{name} is stale"
    assert {path.name for path in FOLDER.iterdir()} == set(pages())


def test_every_verb_says_what_it_does() -> None:
    for command in whole().registered_commands:
        assert command.callback is not None
        assert command.callback.__doc__


def test_the_table_of_profiles_is_current() -> None:
    assert table() in PAGE.read_text(), "run `make docs`"


def test_the_page_of_claims_is_made_from_their_declarations() -> None:
    assert claims_page.PAGE.read_text() == claims_page.page(), "run `make docs`"


def test_the_example_of_conditions_is_one() -> None:
    text = PAGE.read_text().split("```yaml\n")[1].split("```")[0]
    lab = lab_from(parse(text, "docs/links.md"))
    assert plain(conditions_of(lab.written.links[0], "shop").message())["rate"] == {
        "bps": 8_000_000
    }


def test_every_condition_is_in_the_table_of_fields() -> None:
    rows = [line.split("|")[1] for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    named = set(re.findall(r"`(\w+)`", " ".join(rows)))
    assert named >= ConditionsSpec.model_fields.keys()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
        if "://" not in target:
            assert (document.parent / target).exists(), target


def anchors(document: Path) -> set[str]:
    """Return the anchors of a page's headings, as a forge makes them."""
    headings = re.findall(r"^#+ (.*)", document.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", each.lower()).strip().replace(" ", "-") for each in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_a_heading(document: Path) -> None:
    for page, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", document.read_text()):
        target = document.parent / page if page else document
        assert anchor in anchors(target), f"{page}#{anchor}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_text_is_wrapped(document: Path) -> None:
    """Tables, code and what a benchmark wrote may be wider."""
    if document.name == "benchmarks.md":
        return
    text = re.sub(r"^ *```.*?^ *```", "", document.read_text(), flags=re.M | re.S)
    wide = [line for line in text.splitlines() if len(line) > 100 and not line.startswith("|")]
    assert wide == []


def test_every_kind_of_lab_files_has_a_module() -> None:
    assert list(KINDS) == list(FACTS)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_its_page(kind: str) -> None:
    assert f"[{kind}]({kind}.md)" in (KINDS_FOLDER / "README.md").read_text()
    page = (KINDS_FOLDER / f"{kind}.md").read_text()
    for part in ("What it measures well", "Pitfalls", "Cost"):
        assert f"\n## {part}\n" in page
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    named = set(re.findall(r"`(\w+)`", " ".join(rows)))
    for field, kinds in FIELDS_OF_KINDS.items():
        assert (field in named) == (kind in kinds), field


PAGES_BY_KIND = ("README", "docs/security", "docs/links", "docs/benchmarks", "docs/architecture")
"""The pages with a table that has a row for each kind of node."""


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_in_the_tables_by_kind(kind: str) -> None:
    for page in PAGES_BY_KIND:
        rows = [line for line in (ROOT / f"{page}.md").read_text().splitlines() if line[:1] == "|"]
        assert any(f"`{kind}`" in row for row in rows), page
    assert kind in COLOURS, "its colour in charts"
    assert kind in TABLE_US, "its round trip, for forecasts"


def test_set_up_installs_what_kinds_need_and_says_so() -> None:
    script = (ROOT / "tools/setup.sh").read_text()
    entries = re.search(r"^kind_tools=\((.*?)\)", script, re.MULTILINE | re.DOTALL)
    assert entries is not None
    assert set(entries[1].split()) == {f"{program}:{PACKAGES[program]}" for program in PACKAGES}
    for page in ("set-up", "security"):
        text = (ROOT / "docs" / f"{page}.md").read_text()
        assert [package for package in PACKAGES.values() if package not in text] == [], page


@pytest.mark.parametrize("kind", KINDS)
def test_the_example_on_its_page_is_one(kind: str) -> None:
    page = (KINDS_FOLDER / f"{kind}.md").read_text()
    example = yaml.safe_load(page.split("```yaml\n")[1].split("```")[0])
    nodes = [NodeSpec.model_validate(node) for node in example["nodes"].values()]
    assert nodes[0].kind == kind


@pytest.mark.parametrize(
    ("package", "order"), [("delaylab", ORDER), ("delaylab_study", ORDER_OF_STUDY)]
)
def test_the_architecture_lists_the_rooms_in_their_order(package: str, order: list[str]) -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    table = page.split(f"| room of `src/{package}/` |")[1].split("\n\n")[0]
    rooms = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    assert re.findall(r"`(\w+)[./]", " ".join(rooms)) == order


def test_files_that_the_readme_names_are_there() -> None:
    for name in re.findall(r"(examples/[\w.-]+)", (ROOT / "README.md").read_text()):
        assert (ROOT / name).exists(), name


def test_the_link_in_the_readme_is_the_example() -> None:
    text = (ROOT / "README.md").read_text()
    (shown,) = re.findall(r"`examples/wan.yaml`:\n\n```yaml\n(.*?)```", text, re.DOTALL)
    comment, _, example = (ROOT / "examples" / "wan.yaml").read_text().partition("\n")
    assert comment.startswith("#")
    assert shown == example


def test_the_daemon_that_goes_deaf_is_the_example() -> None:
    page = (ROOT / "docs" / "record-and-replay.md").read_text()
    source = (ROOT / "examples" / "deaf" / "hellod.c").read_text()
    (handler,) = re.findall(r"```c\n(.*?)```", page, re.DOTALL)
    assert handler in source
    shown_by_gdb = re.findall(r"^(\d+)\t +(.*)$", page, re.MULTILINE)
    lines = source.splitlines()
    assert shown_by_gdb
    assert [(n, lines[int(n) - 1].strip()) for n, _ in shown_by_gdb] == shown_by_gdb


@pytest.mark.parametrize("name", ["policy", "scaling"])
def test_the_studies_of_work_are_the_examples(name: str) -> None:
    shown = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "work.md").read_text(), re.DOTALL)
    comment, _, example = (ROOT / "examples" / f"{name}.yaml").read_text().partition("\n")
    assert comment.startswith("#")
    assert example in shown


def test_no_document_names_a_machine_or_a_registry() -> None:
    for document in [*DOCUMENTS, ROOT / "requirements.txt", ROOT / "pyproject.toml"]:
        assert not re.search(r"https?://(?!www\.w3\.org)", document.read_text()), document
    assert yaml.safe_load((ROOT / "examples" / "testbed.yaml").read_text())["lab"] == "testbed"


def test_what_the_specification_names_is_there() -> None:
    page = (ROOT / "docs" / "specification.md").read_text()
    paths = set(re.findall(r"`((?:tests|crates|benches|docs)/[\w./-]+)`", page))
    benchmarks = set(re.findall(r"`python -m benches (\w+)`", page))
    assert len(paths) >= 40
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []
    assert benchmarks
    assert benchmarks <= ALL.keys()


def test_figures_of_the_specification_are_those_of_the_benchmarks() -> None:
    """The figures of a section follow its mark; a benchmark's further sections are `NAME_…`."""
    page = (ROOT / "docs" / "specification.md").read_text()
    text = (ROOT / "docs" / "benchmarks.md").read_text()
    _, *parts = re.split(r"^<!-- (\w+) -->$", text, flags=re.M)
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    number = re.compile(r"\d[\d,]*(?:\.\d+)?")
    found = 0
    for row in re.findall(r"^\| .*`python -m benches \w+`.*$", page, re.M):
        _, promise, figures, *_ = row.split("|")
        names = re.findall(r"`python -m benches (\w+)`", row)
        texts = [sections[each] for each in sections if each.split("_")[0] in names]
        measured = {each.replace(",", "") for text in texts for each in number.findall(text)}
        for figure in number.findall(figures):
            assert figure.replace(",", "") in measured, f"{promise}: {figure}"
            found += 1
    assert found >= 30


def test_every_promise_names_its_test() -> None:
    page = (ROOT / "docs" / "specification.md").read_text().split("## Not shown")[0]
    rows = [line for line in page.splitlines() if line.startswith("| ") and "promise" not in line]
    assert len(rows) >= 50
    assert [row for row in rows if not re.search(r"`(tests|crates|python -m)", row)] == []


def test_each_limit_is_in_the_file_that_is_named() -> None:
    rows = [row for row in (ROOT / "docs" / "limits.md").read_text().splitlines() if "|" in row]
    named = [name for row in rows for name in re.findall(r"`([\w./-]+\.(?:py|rs))`", row)]
    assert named
    packages = (ROOT / "src" / name for name in ("delaylab", "delaylab_study"))
    places = (ROOT, *packages, ROOT / "crates" / "agent" / "src")
    missing = [name for name in named if not any((place / name).exists() for place in places)]
    assert missing == []


def test_set_up_installs_and_disables_nothing_that_its_page_does_not_name() -> None:
    script, page = Path("tools/setup.sh").read_text(), Path("docs/set-up.md").read_text()
    arrays = re.findall(r"^[a-z]+_tools=\((.*?)\)", script, re.MULTILINE | re.DOTALL)
    packages = {entry.partition(":")[2] for array in arrays for entry in array.split()}
    services = set(re.findall(r"\S+\.(?:service|socket)\b", script))
    assert len(packages) > 15
    assert services
    assert {name for name in packages | services if f"`{name}`" not in page} == set()
