"""Tables for scripts: each table of a report as JSON and as CSV, of the values that are shown."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import pytest
from typer.testing import CliRunner

from delaylab.cli import whole
from delaylab.io.terminal import json_text
from delaylab_study.analysis.analyse import Analysed, analysed
from delaylab_study.api.datasets import Table as OfData
from delaylab_study.cli.options import OF_DATA, CsvTable
from delaylab_study.report import show
from delaylab_study.report.data import Record, csv_of, json_of, records
from delaylab_study.report.sections.registry import PAGE, TABLES, TERMINAL
from delaylab_study.report.sections.section import Report
from delaylab_study.report.value import (
    UNKNOWN,
    Block,
    Column,
    Row,
    Section,
    Table,
    Value,
    for_scripts,
    unseen,
)
from delaylab_study.report.written import plain
from tests import synthetic
from tests.analysis import papers, test_clean, test_dantas2015, test_machines
from tests.causes import dataset as causes_dataset
from tests.report import cases, test_convergence, test_scaling, test_work
from tests.report.test_golden import near

DOCS = Path(__file__).parents[2] / "docs" / "report.md"
TIMES = {"us", "ns", "s", "ppm"}
"""Units that stand at the end of a key."""


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> list[Report]:
    """Reports that have all tables between them."""
    folder = tmp_path_factory.mktemp("all")
    nodes = test_scaling.study(folder / "nodes", test_scaling.LINE)
    places: list[Path | Analysed] = [
        cases.write(folder),
        nodes,
        test_work.write_messages(folder / "mpi"),
        test_convergence.with_hosts(folder / "events", synthetic.hosts(40), {}),
        test_clean.write(folder / "clean", test_clean.record()),
        causes_dataset.write(folder / "causes"),
        synthetic.write(folder / "machines", test_machines.on_two()),
        papers.write(folder / "paper", "dantas2015", test_dantas2015.as_in_the_paper),
    ]
    found = [analysed(each) for each in places]
    return [Report(each.study, each.groups) for each in found]


def of(report: Report) -> dict[str, list[Record]]:
    return records(section(report) for section in dict.fromkeys(TABLES.values()))


def test_every_table_has_a_key_that_is_listed_with_its_section(everything: list[Report]) -> None:
    seen = set()
    for report in everything:
        for section in {*TERMINAL, *PAGE} - {*TABLES.values()}:
            assert not records([section(report)]), section.__module__
        for section in {*TABLES.values()}:
            for key, rows in records([section(report)]).items():
                assert TABLES[key] is section
                seen |= {key} if rows else set()
    assert seen == {*TABLES}


def test_json_and_csv_have_each_value_as_it_is(everything: list[Report]) -> None:
    count = 0
    for report in everything:
        for rows in of(report).values():
            assert differences(rows, json_of(rows), csv_of(rows)) == []
            count += sum(map(len, rows))
    assert count > 5000


def test_a_value_that_is_another_is_seen(everything: list[Report]) -> None:
    rows = of(everything[0])["delays"]
    changed = [{**row, "median_us": Value("median_us", 1.5, "us", (1.0, 2.0))} for row in rows]
    assert len(differences(rows, json_of(changed), csv_of(rows))) == len(rows)
    assert len(differences(rows, json_of(rows), csv_of(changed))) == len(rows)


def differences(rows: Sequence[Record], as_json: object, as_csv: bytes) -> list[str]:
    """Where rows that were read from JSON and CSV have other values."""
    read: list[dict[str, Any]] = json.loads(json_text(as_json))
    lines = list(csv.DictReader(io.StringIO(as_csv.decode()), strict=True))
    assert len(rows) == len(read) == len(lines)
    found = []
    for row, from_json, line in zip(rows, read, lines, strict=True):
        assert [*row] == [*from_json]
        for key, value in row.items():
            ends = value.interval and json.loads(json_text(value.interval))
            unsure = ends is not None and None in ends
            cell = from_json[key]
            here = [cell["value"], cell.get("interval"), cell.get("unit", "")]
            wanted = [json.loads(json_text(value.value)), None if unsure else ends, value.unit]
            same = near(here, wanted) == [] and cell.get("doubts", []) == [*value.doubts]
            texts = {key: wanted[0]}
            if ends is not None:
                texts |= dict(zip((f"{key}_low", f"{key}_high"), ends, strict=True))
            if not same or any(not alike(line[name], text) for name, text in texts.items()):
                found.append(f"{key}: {value}")
    return found


def alike(text: str, value: float | str | None) -> bool:
    if isinstance(value, bool):
        return text == ("true" if value else "false")
    if value is None or isinstance(value, str):
        return text == (value or "")
    return type(value)(text) == value


def test_a_keys_end_is_its_unit(everything: list[Report]) -> None:
    rows = (row for report in everything for rows in of(report).values() for row in rows)
    found = {value.key: value.unit for row in rows for value in row.values()}
    named = {key: unit for key, unit in found.items() if key not in BY_UNIT}
    timed = {key: unit for key, unit in named.items() if unit in TIMES}
    assert len(timed) > 30
    assert [key for key, unit in timed.items() if not key.endswith(f"_{unit}")] == []
    ends = {key: key.rpartition("_")[2] for key in named}
    assert [key for key, end in ends.items() if end in TIMES and named[key] != end] == []


BY_UNIT = {"effect", "published", "value"}
"""Keys of rows that have a key `unit`."""


def test_one_number_has_one_name(everything: list[Report]) -> None:
    """A table has the numbers that the older keys of the JSON have, by the same names."""
    report = everything[0]
    numbers: dict[str, Any] = json.loads(json_text(show.as_json(analysed(report.study.directory))))
    tables = numbers["tables"]
    segments = [each for group in numbers["combinations"] for each in group["segments"]]
    assert len(segments) == len(tables["delays"]) > 10
    for old, row in zip(segments, tables["delays"], strict=True):
        for key in ("leg", "from", "to", "layer", "direction", "at", "merged", "n", "n_effective"):
            assert row[key]["value"] == old[key]
        for key in ("median_us", "p90_us", "p99_us", "p999_us"):
            assert row[key]["value"] == old[key]
            assert row[key]["interval"] == old[f"{key}_interval"]
            assert [row[key].get("doubts", [])] == [
                [old["refused"][key]] if key in old["refused"] else []
            ]
        for key in ("bound_us", "at_most_us", "max_us"):
            assert row[key]["value"] == old[key]
    claims = numbers["claims"]
    assert len(claims) == len(tables["claims"])
    for old, row in zip(claims, tables["claims"], strict=True):
        for key in ("id", "verdict", "why", "effect", "effect_of", "rule", "published"):
            assert row[key]["value"] == old[key]
        assert row["effect"]["interval"] == old["interval"]


def test_words_and_data_are_of_one_value() -> None:
    """A cell's values are its data: those that are not seen, too; a blank label is kept."""
    delay = Value("delay_us", 12.5, "us", UNKNOWN, ("few",))
    hidden = unseen(Value("n", 7))
    columns = (
        Column("who", "label", key="who", once=True),
        Column("delay"),
        Column("what", key="what"),
    )
    first = Value("delay_us", 3.0, "us", (2.0, 4.0))
    rows: list[Row] = [
        ["b", first, "x"],
        ["a", (delay, " in all", *hidden), "–"],
        ["a", "nothing", None],
    ]
    table = Table(columns, rows, key="t", share=(Value("of", "x"),))
    shown = [[plain(cell.words) for _, cell in row] for row in table.shown(table.rows, "page")]
    assert shown == [["b", "3.00 µs", "x"], ["a", "12.5 µs in all", "–"], ["", "nothing"]]
    (found,) = records([Section("s", [Block([table])])]).values()
    assert [*found[1]] == ["of", "who", "what", "delay_us", "n"]
    assert found[1]["what"].value is None
    values = {key: value.value for key, value in found[2].items()}
    assert values == {"of": "x", "who": "a", "note": "nothing"}
    assert csv_of(found).decode().splitlines() == [
        "of,who,what,delay_us,delay_us_low,delay_us_high,delay_us_doubts,n,note",
        "x,b,x,3.0,2.0,4.0,,,",
        "x,a,,12.5,,,few,7,",
        "x,a,,,,,,,nothing",
    ]


def test_csv_has_no_control_characters() -> None:
    (rows,) = records(
        [Section("s", [for_scripts("t", lambda: [[Value("who", "a\x1b[31m\u202eb")]])])]
    ).values()
    assert csv_of(rows).decode() == "who\r\na\\x1b[31m\\u202eb\r\n"


def test_show_lists_all_tables() -> None:
    named = [each.value for each in CsvTable]
    assert [each.value for each in OF_DATA] == [*OF_DATA.values()] == [*get_args(OfData)]
    assert named == [*OF_DATA.values(), *TABLES]
    rows = (line for line in DOCS.read_text(encoding="utf-8").splitlines() if line[:3] == "| `")
    listed = {name for line in rows for name in line.split("|")[1].strip().split(", ")}
    assert [name for name in named if f"`{name}`" not in listed] == []
    ran = CliRunner().invoke(whole(), ["show", "nowhere", "--csv", "segment"])
    assert ran.exit_code == 2
    assert all(f"'{name}'" in ran.output for name in named)


def test_show_prints_a_table_or_says_which_there_are(tmp_path: Path) -> None:
    place = cases.write(tmp_path)
    ran = CliRunner().invoke(whole(), ["show", str(place), "--csv", "links"])
    assert ran.exit_code == 0, ran.exception
    (row,) = csv.DictReader(io.StringIO(ran.stdout_bytes.decode()), strict=True)
    assert (row["link"], row["from"], row["held"]) == ("lan", "probe", "false")
    low, share, high = (float(row[f"loss_achieved{end}"]) for end in ("_low", "", "_high"))
    assert low < share == float(row["loss_configured"]) < high
    ran = CliRunner().invoke(whole(), ["show", str(place), "--csv", "events"])
    assert str(ran.exception).startswith(
        f"{place}: its report has no table `events` (it has delays, rtt, "
    )
