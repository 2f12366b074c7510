"""Reader of Rocketfuel's `weights.intra` and `latencies.intra`: a line for each direction.

A line is `nodeA nodeB value`. Names are a city, a country or state, and the router's number:
`New+York,+NY239`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from delaylab.topology.builder import Builder
from delaylab.topology.edges import Edge
from delaylab.topology.model import Map
from delaylab.topology.numbers import number, scaled
from delaylab.topology.options import Options
from delaylab.topology.remarks import Remarks
from delaylab.topology.source import LATENCIES, Source
from delaylab.topology.values import duration

NAME = "Rocketfuel"
MILLISECOND = 1_000_000
LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class _Line:
    a: str
    b: str
    value: Fraction
    line: int


def fits(line: str) -> bool:
    """Return True for a line of this format: names of two routers, not numbers, and a number."""
    words = line.split()
    return len(words) == 3 and number(words[2]) is not None and all(map(_is_name, words[:2]))


def _is_name(word: str) -> bool:
    """Return True if a router may have this name; numbers alone are those of other formats."""
    return len(word) <= LONGEST_NAME and any(map(str.isalpha, word))


def read(source: Source, options: Options) -> Map:
    """Read weights, latencies, or both."""
    name = f"as{source.lab}" if source.lab.isdigit() else source.lab
    build = Builder(name, NAME, source.name)
    files = (source, *source.beside)
    unit = int(options.delay_unit or MILLISECOND)
    lines = {
        file.name.endswith(LATENCIES): list(_parsed(file, unit, build.remarks)) for file in files
    }
    weights, latencies = lines.get(False, []), lines.get(True, [])
    if latencies:
        said = options.delay_unit or "ms"
        build.remarks.say(f"latencies are one-way delays in {said}, one for each direction")
    else:
        build.remarks.say(f"{source.name} has weights; a file {LATENCIES} is not beside it")
    delays: dict[tuple[str, str], list[int | None]] = defaultdict(list)
    for each in latencies:
        delays[each.a, each.b].append(scaled(each.value, 1))
    main, weighed = (weights, True) if weights else (latencies, False)
    for each in main:
        add_router(build, each.a, each.line)
        add_router(build, each.b, each.line)
        known = delays[each.a, each.b]
        delay = known.pop(0) if known else None
        cost = each.value if weighed else None
        build.edge(Edge(a=each.a, b=each.b, line=each.line, delay=delay, cost=cost, directed=True))
    if weighed:
        _without_weights(latencies, delays, source, build.remarks)
    return build.finish()


def _without_weights(
    latencies: list[_Line],
    delays: dict[tuple[str, str], list[int | None]],
    source: Source,
    remarks: Remarks,
) -> None:
    """Name the lines that have a latency and no weight: they are no links."""
    left = {pair: len(rest) for pair, rest in delays.items() if rest}
    for each in reversed(latencies):
        if left.get((each.a, each.b), 0):
            left[each.a, each.b] -= 1
            file = source.beside[0].name if source.beside else source.name
            remarks.problem(each.line, "a latency of a link that has no weight: left out", file)


def _parsed(file: Source, unit: int, remarks: Remarks) -> Iterator[_Line]:
    """Yield the lines with a weight, or with a latency in ns."""
    read = partial(duration, bare=unit) if file.name.endswith(LATENCIES) else number
    for count, text in enumerate(file.lines(), start=1):
        words = text.split()
        if not words or text.startswith("#"):
            continue
        value = read(words[-1])
        if len(words) != 3 or value is None or value < 0:
            what = f"expected `node node number`, got {text[:40]!r}"
            remarks.problem(count, what, file.name)
        else:
            yield _Line(words[0], words[1], value, count)


def add_router(build: Builder, key: str, line: int) -> None:
    """Add a router by its name, unless the map has it."""
    if build.knows(key):
        return
    text = key.replace("+", " ")
    place = text.rstrip("0123456789") if "," in text else text
    city, _, land = (part.strip() for part in place.partition(","))
    if not city:
        build.node(key, line=line)
        return
    label = ", ".join(filter(None, (city, land)))
    build.node(key, line=line, wanted=f"{city}{text[len(place) :]}", label=label)
