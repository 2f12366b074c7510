"""Drawing of one packet: where it was, and who had each CPU meanwhile.

On top is a row with the packet's segments, below it a row for each CPU, all on one axis of time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from delaylab.api.causes import IDLE, Cause, What, task_name
from delaylab.api.drawing import FONT, xml
from delaylab_study.analysis.causes.blocks import CpuBlock, CpuBlocks, at_most, blocks_of, tasks_of
from delaylab_study.analysis.causes.explained import LookedAt
from delaylab_study.charts import words
from delaylab_study.report.axes import round_ticks, tick_words
from delaylab_study.report.cause_looks import (
    COLOURS,
    DARK,
    LETTER,
    LETTERS,
    LIGHT,
    UNKNOWN,
    KeyEntry,
    fill_of,
    hatching,
    key,
    text,
    together,
)
from delaylab_study.report.row_labels import INK, wrapped
from delaylab_study.report.why_words import SMALL, cpu_name, title

WIDTH, LEAST = 1180.0, 310.0
"""The usual width of the drawing and its least one, in px."""
LEFT, EDGE = 58.0, 26.0
"""The space for the names of the rows, and that at the right."""
LABEL = 9
"""The most letters of a CPU's name."""
SEGMENTS, STRIP = 56.0, 6.0
"""The height of the row of segments, and of the strip in it that has the colour of a cause."""
ROW, BETWEEN = 22.0, 5.0
"""The height of a CPU's row, and the space between rows."""
AXIS = 24.0
TICK, FEWEST_TICKS = 90.0, 3
"""The distance of numbers on the axis, and the number of them that a narrow one has room for."""
LINES, LINE = 4, 11.0
"""The most lines of a segment's name, and their distance."""
NARROWEST = 0.5
"""The width in px below which blocks are joined with others."""
MOST_BLOCKS = 320
"""The most blocks of a drawing, which keep it below some 30 kB."""
MOST_ROWS = 12
"""The most CPUs that have a row."""
MOST_NAMED = 12
"""The most threads that the key names."""
LETTERED = 14.0
"""The width in px from which on a block has the letter of its thread."""

IDLE_OPACITY = 0.08
INTERRUPT = "#b5a500"
HELD = ((COLOURS["run-queue wait"], LIGHT), ("#f5b08c", DARK), ("#9c4300", LIGHT))
HANDLED = ((COLOURS["computing"], LIGHT), ("#7fceb0", DARK), ("#00704f", LIGHT))
OTHERS = (("#7a6fa0", LIGHT), ("#b9b0d3", DARK), ("#5d5290", LIGHT))
"""Colours and inks of threads: that had a CPU for which the packet waited, that had the packet or
were to get it, and others. The last one is that of all further ones."""


@dataclass(frozen=True, slots=True)
class _Look:
    """The look of a thread's blocks; `letter` stands in blocks without room for its `name`."""

    fill: str
    ink: str
    letter: str
    name: str


@dataclass(frozen=True, slots=True)
class _Sheet:
    """A drawing's width, its packet, what is drawn of CPUs, and the looks of threads."""

    name: str
    width: float
    packet: LookedAt
    cpus: CpuBlocks
    looks: Mapping[int, _Look]

    def x(self, time_ns: float) -> float:
        """Return the place of a time."""
        share = (time_ns - self.packet.start_ns) / (self.packet.end_ns - self.packet.start_ns)
        return LEFT + share * (self.width - LEFT - EDGE)

    @property
    def bottom(self) -> float:
        """Return where the last row ends."""
        return SEGMENTS + BETWEEN + len(self.cpus) * (ROW + BETWEEN)


def drawing(packet: LookedAt, name: str, width: float = WIDTH) -> str:
    """Return the drawing as SVG; `name` is that of its file."""
    found = blocks_of(packet)
    ns_per_px = (packet.end_ns - packet.start_ns) / (width - LEFT - EDGE)
    held, handled = _concerned(packet)
    shown = at_most(_chosen(found, held | handled), NARROWEST * ns_per_px, MOST_BLOCKS)
    sheet = _Sheet(name, width, packet, shown, _looks(packet, shown, LETTERED * ns_per_px))
    entries, bottom = key([*_entries(sheet)], sheet.bottom + AXIS, width)
    if len(shown) < len(found):
        which = "those that ran the orange and green threads most, then the busiest"
        said = f"{len(shown)} of {len(found)} CPUs: {which}"
        entries.append(text(0, bottom + 13, said, anchor="start", tone="faint"))
        bottom += 18
    return "".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {bottom:.0f}" '
            f'role="img" font-family="{FONT}" color="{DARK}" class="way" '
            f'style="min-width:{0.8 * width:.0f}px">',
            f"<title>{xml(title(packet))}</title>",
            hatching(name),
            *_segments(sheet),
            *_axis(sheet),
            *(part for number in range(len(shown)) for part in _row(sheet, number)),
            *_ends_of_segments(sheet),
            *entries,
            "</svg>",
        ]
    )


def _concerned(packet: LookedAt) -> tuple[set[int], set[int]]:
    """Return the threads that had a CPU for which the packet waited, and those that handled it."""
    found = packet.explained
    large = [share for share in found.shares if share.ns >= SMALL * found.excess_ns]
    held = {share.task for share in large if share.cause == Cause.HELD}
    handled = {share.of for share in found.shares if share.ns > 0}
    return held - {IDLE}, handled - held - {IDLE}


def _chosen(found: CpuBlocks, concerned: set[int]) -> CpuBlocks:
    """Return the CPUs that have a row: those with most of certain threads, then the busiest."""

    def weight(of_cpu: Sequence[CpuBlock]) -> tuple[int, int]:
        of_them = sum(block.ns for block in of_cpu if block.task in concerned)
        return of_them, sum(block.ns for block in of_cpu if block.task)

    kept = sorted(found, key=lambda cpu: weight(found[cpu]), reverse=True)[:MOST_ROWS]
    return {cpu: of_cpu for cpu, of_cpu in found.items() if cpu in kept}


def _looks(packet: LookedAt, shown: CpuBlocks, lettered_ns: float) -> dict[int, _Look]:
    """Return the look of each thread, in the order of the key: by role, then by time.

    A thread without a colour of its own has a letter only if one of its blocks is as long as
    `lettered_ns`, so that the letter is seen.
    """
    (held, handled), named = _concerned(packet), tasks_of(packet)
    had, longest = Counter[int](), dict[int, int]()
    for block in (block for of_cpu in shown.values() for block in of_cpu):
        if block.task:
            had[block.task] += block.ns
            longest[block.task] = max(block.ns, longest.get(block.task, 0))
    order = [task for task, _ in had.most_common()]
    letters = iter(ascii_uppercase[:MOST_NAMED])
    found: dict[int, _Look] = {}
    for of_role, colours in (
        ([task for task in order if task in held], HELD),
        ([task for task in order if task in handled], HANDLED),
        ([task for task in order if task not in held | handled], OTHERS),
    ):
        for place, task in enumerate(of_role):
            fill, ink = colours[min(place, len(colours) - 1)]
            told = place < len(colours) - 1 or longest[task] >= lettered_ns
            letter = next(letters, "") if told else ""
            name = task_name(task, named, packet.explained.lab)
            found[task] = _Look(fill, ink, letter, name)
    return found


def _segments(sheet: _Sheet) -> Iterator[str]:
    """Yield the packet's segments with their names, and the colour of the cause of a late one."""
    packet = sheet.packet
    yield text(0, SEGMENTS / 2 + 4, "packet", anchor="start", size=12, tone="strong")
    for number, (stage, name) in enumerate(zip(packet.stages, packet.segments, strict=True)):
        left, right = sheet.x(stage.start_ns), sheet.x(stage.end_ns)
        said, largest = f"{name}: {words.delay(stage.length_ns / 1e3)}", _cause_of(packet, number)
        if largest is not None:
            said += f"; {largest[0]} {words.signed(largest[1] / 1e3)}"
        yield f"<g><title>{xml(said)}</title>"
        yield (
            f'<rect x="{left:.2f}" y="0" width="{right - left:.2f}" height="{SEGMENTS:.0f}" '
            f'fill="{INK}" fill-opacity="{0.13 if number % 2 else 0.06}"/>'
        )
        if largest is not None:
            yield (
                f'<rect x="{left:.2f}" y="{SEGMENTS - STRIP:.0f}" width="{right - left:.2f}" '
                f'height="{STRIP:.0f}" fill="{fill_of(largest[0], sheet.name)}"/>'
            )
        yield from _name_in(name, left, right)
        yield "</g>"


def _name_in(name: str, left: float, right: float) -> Iterator[str]:
    """Yield the lines of a segment's name; nothing if it has no room."""
    letters = int((right - left - 4) / LETTER)
    lines = wrapped(name, max(1, letters))
    if len(lines) > LINES or max(map(len, lines)) > letters:
        return
    first = (SEGMENTS - STRIP) / 2 + 4 - LINE * (len(lines) - 1) / 2
    for number, line in enumerate(lines):
        yield text((left + right) / 2, first + LINE * number, line)


def _cause_of(packet: LookedAt, segment: int) -> tuple[str, int] | None:
    """Return the largest cause of a segment's excess, with its time in ns; None if it is small."""
    times = Counter[str]()
    for share in packet.explained.shares:
        if share.segment == segment:
            times[together(share.cause)] += share.ns
    largest = next(iter(times.most_common(1)), None)
    small_ns = SMALL * packet.explained.excess_ns
    return largest if largest is not None and largest[1] >= small_ns else None


def _ends_of_segments(sheet: _Sheet) -> Iterator[str]:
    """Yield one line for all ends of segments, through the rows of the CPUs."""
    places = [sheet.x(stage.end_ns) for stage in sheet.packet.stages[:-1]]
    apart = [x for before, x in zip([0.0, *places], places, strict=False) if x - before >= 1]
    way = "".join(f"M{x:.1f} {SEGMENTS:.0f}V{sheet.bottom:.0f}" for x in apart)
    yield f'<path d="{way}" stroke="{INK}" stroke-opacity="0.45" stroke-dasharray="2 3"/>'


def _short(name: str) -> str:
    """Return a CPU's name as it has room at the left; its number stays."""
    machine, _, number = name.rpartition(" ")
    return name if len(name) <= LABEL else f"{machine[: LABEL - len(number) - 2]}… {number}"


def _row(sheet: _Sheet, number: int) -> Iterator[str]:
    """Yield a CPU's row: a path for all blocks of the same look, and names where there is room."""
    cpu, found = [*sheet.cpus.items()][number]
    top = SEGMENTS + BETWEEN + number * (ROW + BETWEEN)
    yield f'<g data-cpu="{cpu}">'
    yield text(0, top + ROW / 2 + 4, _short(cpu_name(cpu)), anchor="start", size=12)
    alike: dict[tuple[int | None, What], list[CpuBlock]] = {}
    for block in found:
        alike.setdefault((block.task, block.to), []).append(block)
    for (task, to), each in alike.items():
        way = "".join(_box(sheet, block, top) for block in each)
        said = f"{_said(sheet, task, to)}, {words.delay(sum(block.ns for block in each) / 1e3)}"
        yield f'<path d="{way}"{_fill(sheet, task, to)}><title>{xml(said)}</title></path>'
    yield from _names(sheet, found, top + ROW / 2 + 4)
    yield "</g>"


def _box(sheet: _Sheet, block: CpuBlock, top: float) -> str:
    left, right = (round(sheet.x(at), 1) for at in (block.start_ns, block.end_ns))
    return f"M{left:g} {top:g}H{right:g}v{ROW:g}H{left:g}"


def _fill(sheet: _Sheet, task: int | None, to: What) -> str:
    if task is None and to == What.SWITCH:
        return f' fill="{fill_of(UNKNOWN, sheet.name)}"'
    if to == What.SOFTIRQ:
        return f' fill="{COLOURS["interrupts"]}"'
    if to == What.INTERRUPT:
        return f' fill="{INTERRUPT}"'
    if not task:
        return f' fill="{INK}" fill-opacity="{IDLE_OPACITY}"'
    return f' fill="{sheet.looks[task].fill}"'


def _said(sheet: _Sheet, task: int | None, to: What) -> str:
    """Return in words what blocks of a look are."""
    if to != What.SWITCH:
        return to.value
    if task is None:
        return "not seen"
    return "idle" if task == IDLE else sheet.looks[task].name


def _names(sheet: _Sheet, found: Sequence[CpuBlock], y: float) -> Iterator[str]:
    """Yield the names of blocks' threads, or their letters, where there is room for them."""
    by_ink: dict[str, list[str]] = {}
    for block in found:
        if not block.task or block.to != What.SWITCH:
            continue
        look = sheet.looks[block.task]
        left, right = sheet.x(block.start_ns), sheet.x(block.end_ns)
        said = look.name if right - left >= LETTER * (len(look.name) + 2) else look.letter
        if said and right - left >= LETTERED:
            at = f'<text x="{(left + right) / 2:.0f}" y="{y:g}">{xml(said)}</text>'
            by_ink.setdefault(look.ink, []).append(at)
    for ink, texts in by_ink.items():
        same = f'text-anchor="middle" font-size="{LETTERS}" fill="{ink}"'
        yield f"<g {same}>{''.join(texts)}</g>"


def _axis(sheet: _Sheet) -> Iterator[str]:
    """Yield the times since the packet was due, below the rows."""
    whole_ns = sheet.packet.end_ns - sheet.packet.start_ns
    y = sheet.bottom
    most = max(FEWEST_TICKS, int((sheet.width - LEFT - EDGE) / TICK))
    yield f'<path d="M{LEFT:g} {y:.1f}H{sheet.width - EDGE:.1f}" stroke="{INK}"/>'
    for ns in round_ticks(0, whole_ns, most):
        x = sheet.x(sheet.packet.start_ns + ns)
        yield f'<path d="M{x:.1f} {y:.1f}v4" stroke="{INK}"/>'
        yield text(x, y + 16, tick_words(ns, whole_ns), tone="faint")


def _entries(sheet: _Sheet) -> Iterator[KeyEntry]:
    """Yield the entries of the key: threads, and what else is in the rows."""
    for look in sheet.looks.values():
        if look.letter:
            yield KeyEntry(look.fill, f"{look.letter} {look.name}")
    unnamed = sum(not look.letter for look in sheet.looks.values())
    if unnamed:
        yield KeyEntry(OTHERS[-1][0], f"{unnamed} more thread{'s' * (unnamed > 1)}")
    kinds = {(block.task, block.to) for each in sheet.cpus.values() for block in each}
    if any(to == What.SOFTIRQ for _, to in kinds):
        yield KeyEntry(COLOURS["interrupts"], "softirq")
    if any(to == What.INTERRUPT for _, to in kinds):
        yield KeyEntry(INTERRUPT, "interrupt")
    if (None, What.SWITCH) in kinds:
        yield KeyEntry(fill_of(UNKNOWN, sheet.name), "not seen")
    yield KeyEntry(INK, "idle", IDLE_OPACITY)
