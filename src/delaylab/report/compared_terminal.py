"""Comparison of datasets or levels in the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from delaylab.analysis.compared.many import Comparison
from delaylab.analysis.compared.two_sides import Compared
from delaylab.report.compared import ONCE, LineInWords, headline, named, note, row
from delaylab.report.rich_parts import WIDE

CAPTION = "dim italic"
# Largest number of differences, and of lines without one, that are shown.
SHOWN = 16
# Largest number of notes of one sort that are shown.
NOTES = 6


def print_comparison(console: Console, found: Comparison) -> None:
    """Print the comparison of each side with the first."""
    for index, each in enumerate(found.compared):
        if index:
            console.print()
        print_compared(console, each)


def print_compared(console: Console, found: Compared) -> None:
    """Print a comparison: what differs, largest first, then what does not, notes and doubts."""
    for part in _parts(found, console.width):
        console.print(part)


def _parts(found: Compared, width: int) -> Iterator[Text | Table]:
    if found.before.factor:
        yield Text(f"{found.after.name} against {found.before.name}", "bold")
    yield Text(headline(found), "bold")
    for side, _ in named(found):
        machines = side.study.record.labelled.items()
        on = "; ".join(f"{label}, {each.kernel}" for label, each in machines)
        place = f"{side.study.directory}  ({on})"
        # With several datasets a side is named by its directory.
        yield Text(place if side.name in place else f"{side.name:6}  {place}", "dim")
    if found.once:
        yield Text(ONCE, "yellow")
    levels = found.before.short, found.after.short
    sides = " → ".join(levels if found.before.factor else ("before", "after"))
    seen = [row(line) for line in found.seen]
    if seen:
        more = len(seen) - SHOWN
        text = note(found)
        text += f" {more} smaller ones are in --json and --report." if more > 0 else ""
        yield _table("Differences seen, largest first", sides, seen[:SHOWN], text, width)
    same = [line for line in found.lines if not line.differs]
    chief = [row(line) for line in same if line.chief]
    if chief:
        more = len(same) - len(chief[:SHOWN])
        text = f"{more} more lines without a difference are in --json and --report." if more else ""
        yield _table("No difference seen", sides, chief[:SHOWN], text, width)
    yield from _notes(
        "not alike", [f"{d.name}: {d.before} → {d.after}" for d in found.circumstances]
    )
    yield from _notes("not compared", found.unlike)
    for side, doubts in named(found):
        yield from _notes(f"doubt, {side.name}", [doubt.text for doubt in doubts])


def _table(title: str, sides: str, rows: list[LineInWords], caption: str, width: int) -> Table:
    wide = width >= WIDE
    table = Table(
        title=title,
        caption=Text(caption, CAPTION) if caption else None,
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("levels, quantity", ratio=2, overflow="fold")
    if wide:
        table.add_column(sides, justify="right")
        table.add_column("change [99 %]", justify="right")
        table.add_column("verdict", ratio=1)
    else:
        table.add_column(f"{sides}, change [99 %], verdict", ratio=3, overflow="fold")
    for each in rows:
        head = Text.assemble((each.levels, "bold"), f"\n{each.part} {each.statistic}".rstrip())
        values = f"{each.before} → {each.after}"
        if wide:
            table.add_row(head, values, each.change, _verdict(each))
        else:
            table.add_row(head, Text.assemble(f"{values}\n{each.change}\n", _verdict(each)))
    return table


def _verdict(each: LineInWords) -> Text:
    if not each.differs:
        return Text(f"no difference seen; a difference of {each.sees} would have been seen")
    text = Text(each.verdict, "red" if each.worse else "green")
    if each.doubt:
        text.append(f"\nin doubt: {each.doubt}", "yellow")
    return text


def _notes(name: str, texts: list[str]) -> Iterator[Text]:
    for text in texts[:NOTES]:
        yield Text.assemble((name, "yellow"), f" {text}")
    if len(texts) > NOTES:
        yield Text(f"  and {len(texts) - NOTES} more in --json and --report", "dim")
