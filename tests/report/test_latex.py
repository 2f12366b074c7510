"""`show --latex` prints a table that LaTeX reads as it is meant."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from delaylab.cli import whole
from delaylab_study.report.latex import escaped, latex_of
from delaylab_study.report.value import UNKNOWN, Value
from tests import synthetic
from tests.synthetic import Condition


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    factors = {"load": "load_of 50"}
    trials = [Condition(packets=40, at_rest=5, factors=factors)]
    return synthetic.write(tmp_path_factory.mktemp("run"), trials)


def test_a_row_is_a_line_with_units_in_the_head_and_intervals() -> None:
    rows = [
        {
            "load": Value("load", name),
            "median_us": Value("median_us", median, "us", interval=interval),
            "n": Value("n", 40),
            "p99_us": Value("p99_us", None, "us"),
        }
        for name, median, interval in (
            ("rest", 52.416, (51.9, 53.04)),
            ("a_b", -1234.56, UNKNOWN),
        )
    ]
    assert latex_of(rows).decode() == (
        "% n: 40\n"
        "\\begin{tabular}{lr}\n"
        "\\hline\n"
        "load & median ($\\mu$s) \\\\\n"
        "\\hline\n"
        "rest & 52.42 [51.9, 53.04] \\\\\n"
        "a\\_b & $-$1235 \\\\\n"
        "\\hline\n"
        "\\end{tabular}\n"
    )


def test_letters_that_mean_something_are_escaped() -> None:
    assert escaped("50% of a_b & c\\d {x} #1 $2 ~^") == (
        r"50\% of a\_b \& c\textbackslash{}d \{x\} \#1 \$2 \textasciitilde{}\textasciicircum{}"
    )


@pytest.mark.parametrize("table", ["delays", "rtt", "layers", "points", "run"])
def test_tables_of_a_report_have_as_many_cells_as_columns(place: Path, table: str) -> None:
    ran = CliRunner().invoke(whole(), ["show", str(place), "--latex", table])
    assert ran.exit_code == 0, ran.exception
    lines = [line for line in ran.stdout.splitlines() if not line.startswith("%")]
    begun = re.fullmatch(r"\\begin\{tabular\}\{([lr]+)\}", lines[0])
    assert begun
    rows = [line for line in lines if line.endswith(r" \\")]
    assert len(rows) > 1
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {len(begun[1]) - 1}
    assert not re.search(r"(?<!\\)[%#_]", "".join(rows))
    assert ran.stdout.isascii()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--latex", "packets"], "packets are the data"),
        (["--latex", "rtt", "--csv", "rtt"], "--csv and --latex exclude each other"),
        (["--latex", "rtt", "--json"], "--json and --latex exclude each other"),
        (["--latex", "scaling"], "its report has no table `scaling`"),
    ],
)
def test_what_is_no_table_is_refused(place: Path, more: list[str], says: str) -> None:
    ran = CliRunner().invoke(whole(), ["show", str(place), *more])
    assert ran.exit_code != 0
    assert says in str(ran.exception) + ran.stderr
