"""Tables of docs/method.md: how often intervals cover the truth (`make coverage`)."""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from os import cpu_count
from pathlib import Path

from tools import marked_part
from tools.coverage import long
from tools.coverage.measures import NAMES, TESTS, Tally, tally
from tools.coverage.processes import Process, log_normal, pareto, queue_and_noise

PAGE = Path(__file__).parents[2] / "docs" / "method.md"
BEGIN, END = "<!-- coverage: written by `make coverage` -->\n", "<!-- end of coverage -->"
LONG = "<!-- coverage of long trials: written by `make coverage` -->\n"
END_OF_LONG = "<!-- end of coverage of long trials -->"
DATA_SETS, LONG_TRIALS = 1000, 100
# Data sets that a process of its own takes on.
TOGETHER, LONG_TOGETHER = 100, 10
# Share of refused data sets from which on a cell says "refused".
MOSTLY = 0.8
SHAPES = {"log-normal": log_normal, "Pareto": pareto}
KEPT = (0.0, 0.6, 0.9)
SIZES = (60, 200, 1000)
APART = 0.1
CASES = [
    *(
        Process(name, draw, kept, n)
        for name, draw in SHAPES.items()
        for n in SIZES
        for kept in KEPT
    ),
    *(Process("like the quickstart's", queue_and_noise, 0.92, n) for n in SIZES),
    *(
        Process(name, draw, kept, 200, trials, APART)
        for name, draw in SHAPES.items()
        for trials in (3, 10)
        for kept in KEPT
    ),
]


def cell(found: Tally) -> str:
    """Write the share of intervals that cover, and the share of data sets that have none.

    Where nearly all are refused, write the share of all data sets that have a wrong interval.
    """
    refused = 1 - found.given / found.of
    if refused > MOSTLY:
        wrong = (found.given - found.covered) / found.of
        return f"refused ({100 * wrong:.1f} wrong)" if found.given else "refused"
    note = f" ({100 * refused:.0f} refused)" if refused >= 0.005 else ""
    return f"{100 * found.covered / found.given:.1f}{note}"


def differs(found: Tally) -> str:
    """Write the share of data sets in which identical processes differ."""
    return f"{100 * (found.given - found.covered) / found.of:.1f}"


def row(process: Process, found: dict[str, Tally]) -> str:
    """Return the table's row of a process."""
    size = f"{process.trials} × {process.n}" if process.trials > 1 else f"{process.n}"
    cells = [differs(each) if name in TESTS else cell(each) for name, each in found.items()]
    return f"| {process.name} | {process.kept:g} | {size} | {' | '.join(cells)} |"


def table(count: int) -> str:
    """Return the table of all processes, from `count` data sets each."""
    head = f"| delays | AR(1) | n | {' | '.join(NAMES)} |"
    rows = [head, "|" + "---|" * (3 + len(NAMES))]
    starts = range(0, count, TOGETHER)
    with ProcessPoolExecutor(cpu_count()) as pool:
        parts = {
            (case, start): pool.submit(tally, case, range(start, min(start + TOGETHER, count)))
            for case in CASES
            for start in starts
        }
        for case in CASES:
            found = {name: Tally() for name in NAMES}
            for start in starts:
                part = parts[case, start].result()
                found = {name: found[name] + part[name] for name in NAMES}
            rows.append(row(case, found))
            print(rows[-1], flush=True)
    return "\n".join(rows) + "\n"


def long_row(trial: long.LongTrial, parts: list[tuple[dict[str, Tally], int]], count: int) -> str:
    """Return the row of a long trial; cells are of the data sets that are not doubted."""
    cells = []
    for name in long.NAMES:
        found = sum((tallies[name] for tallies, _ in parts), start=Tally())
        cells.append(cell(found) if found.of >= count / 20 else "–")
    doubted = 100 * sum(doubted for _, doubted in parts) / count
    return f"| {trial.memory} | {trial.n} | {doubted:.0f} | {' | '.join(cells)} |"


def long_table(count: int) -> str:
    """Return the table of long trials, from `count` data sets each."""
    rows = [
        f"| memory | n | doubted | {' | '.join(long.NAMES)} |",
        "|" + "---|" * (3 + len(long.NAMES)),
    ]
    with ProcessPoolExecutor(cpu_count()) as pool:
        for trial in long.CASES:
            starts = range(0, count, LONG_TOGETHER)
            seeds = [range(start, min(start + LONG_TOGETHER, count)) for start in starts]
            rows.append(
                long_row(trial, [*pool.map(long.tally, [trial] * len(seeds), seeds)], count)
            )
            print(rows[-1], flush=True)
    return "\n".join(rows) + "\n"


def main() -> None:
    """Replace the tables in the page; `long COUNT` replaces that of long trials alone."""
    few, *rest = sys.argv[1:] or [str(DATA_SETS)]
    count = int(rest[0]) if rest else LONG_TRIALS
    said = f"{count} data sets a row, in per cent.\n\n"
    marked_part.write(PAGE, LONG, END_OF_LONG, said + long_table(count))
    if few == "long":
        return
    count = int(few)
    said = f"{count} data sets a row, in per cent.\n\n"
    marked_part.write(PAGE, BEGIN, END, said + table(count))


if __name__ == "__main__":
    main()
