"""Parts of FRR's configuration: the lines of `frr.conf` that are for one daemon.

FRR has one file for all daemons, which `vtysh -b` hands out line by line. A daemon that reads the
whole file by itself makes two mistakes. It does not know the block of another one and takes the
`exit` after it as the end of the configuration. And it takes abbreviations: to `ospf6d`, `ip ospf`
is short for `ipv6 ospf6`. So each daemon gets a file of its own, with empty lines in place of those
that are not for it. A line that a daemon complains of then has the number that it has in
`frr.conf`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

DAEMONS = frozenset({"zebra", "ospfd", "ospf6d", "isisd", "bgpd"})
"""The daemons that read what is for all; staticd and bfdd read their own lines alone."""
_BLOCKS: Mapping[tuple[str, ...], frozenset[str]] = {
    ("interface",): DAEMONS,
    ("route-map",): DAEMONS,
    ("line", "vty"): DAEMONS,
    ("vrf",): DAEMONS - {"bgpd"},
    ("key", "chain"): frozenset({"ospf6d"}),
    ("segment-routing",): frozenset({"zebra"}),
    ("router", "ospf"): frozenset({"ospfd"}),
    ("router", "ospf6"): frozenset({"ospf6d"}),
    ("router", "isis"): frozenset({"isisd"}),
    ("router", "bgp"): frozenset({"bgpd"}),
    ("bfd",): frozenset({"bfdd"}),
}
"""The first words of a block, and the daemons of FRR 8.4 that know it."""
_PROTOCOLS = {
    "ospf": "ospfd",
    "ospf6": "ospf6d",
    "isis": "isisd",
    "bgp": "bgpd",
    "zebra": "zebra",
    "nd": "zebra",
    "route": "staticd",
}
"""The word by which a line names its protocol, and the daemon that speaks it."""
_ENDS = ("exit", "quit")
_LEAVES = (["end"], ["configure"], ["conf", "t"], ["configure", "terminal"])
"""Lines that leave the configuration, or enter it again: they have no meaning in a file."""
_COMPLAINT = re.compile(r"on config line (\d+): ")


@dataclass(frozen=True)
class Line:
    """A line of `frr.conf`: its number, the daemons that it is for, and its block's first line.

    A line that says nothing, such as a comment, is for nobody.
    """

    number: int
    text: str
    takers: frozenset[str] = frozenset()
    block: int | None = None
    says: bool = True


@dataclass(frozen=True)
class Untaken:
    """A line that no daemon took, and how many lines of its block were lost with it."""

    number: int
    text: str
    within: int = 0

    def __str__(self) -> str:
        lines = f" and the {self.within} lines of its block" if self.within > 1 else ""
        lines = " and the line of its block" if self.within == 1 else lines
        return f"line {self.number} (`{self.text.strip()}`){lines}"


def parts(text: str, daemons: Collection[str]) -> dict[str, str]:
    """Return the configuration of each of these daemons, with as many lines as the whole."""
    lines = list(read(text))
    return {
        name: "".join((each.text if name in each.takers else "") + "\n" for each in lines)
        for name in daemons
    }


def untaken(
    text: str, daemons: Collection[str], complaints: Mapping[str, Collection[int]]
) -> list[Untaken]:
    """Return the lines that no running daemon took, by the numbers of lines each complained of.

    Lines within a block that nobody knows are counted, not listed.
    """
    lines = [each for each in read(text) if each.says]
    lost = {
        line.number
        for line in lines
        if all(line.number in complaints.get(name, ()) for name in line.takers & {*daemons})
    }
    return [
        Untaken(each.number, each.text, sum(one.block == each.number for one in lines))
        for each in lines
        if each.number in lost and each.block not in lost
    ]


def complaints(printed: str) -> frozenset[int]:
    """Return the numbers of the lines that a daemon did not take, by what it printed."""
    return frozenset(int(each) for each in _COMPLAINT.findall(printed))


@dataclass
class _Block:
    """A block that is open: its first line, and whether the lines in it are indented."""

    number: int
    takers: frozenset[str]
    indented: bool


def read(text: str) -> Iterator[Line]:
    """Yield the lines of `frr.conf`, each with the daemons that it is for."""
    lines = text.splitlines()
    block: _Block | None = None
    for at, line in enumerate(lines):
        number, words = at + 1, line.split()
        if not words or words[0][0] in "!#":
            yield Line(number, line, says=False)
        elif block is not None and _is_within(line, words, block):
            takers = _of_protocol(words, block.takers)
            yield Line(number, line, takers, block.number)
        elif words[0].split("-")[0] in _ENDS:
            takers = frozenset() if block is None else block.takers
            yield Line(number, line, takers, says=False)
            block = None
        elif words in _LEAVES:
            # Of these a daemon would read nothing further.
            yield Line(number, line, says=False)
            block = None
        else:
            indented = _next_is_indented(lines, at)
            known = _block_of(words)
            if known is None and indented:
                # A daemon would not know where the block ends.
                block = _Block(number, frozenset(), indented)
            else:
                block = None if known is None else _Block(number, known, indented)
            takers = DAEMONS if known is None else known
            yield Line(number, line, _of_protocol(words, takers))


def _is_within(line: str, words: Sequence[str], block: _Block) -> bool:
    if block.indented:
        return line[0].isspace()
    ends = words[0] in _ENDS or list(words) in _LEAVES
    return not ends and _block_of(words) is None


def _next_is_indented(lines: Sequence[str], at: int) -> bool:
    """Return True if the next line that is no comment is indented."""
    said = (line for line in lines[at + 1 :] if line.strip() and line.strip()[0] not in "!#")
    return next(said, "x")[0].isspace()


def _block_of(words: Sequence[str]) -> frozenset[str] | None:
    """Return the daemons that know the block that begins with these words; None if none begins."""
    for first, known in _BLOCKS.items():
        if tuple(words[: len(first)]) == first:
            return known
    # Another router, such as that of RIP, or a misspelt one.
    return frozenset() if words[0] == "router" and len(words) > 1 else None


def _of_protocol(words: Sequence[str], takers: frozenset[str]) -> frozenset[str]:
    """Return the daemons of a line that several may take: a protocol's line is for its daemon."""
    said = words[1:] if words[0] == "no" else words
    if said and said[0] in ("ip", "ipv6", "debug"):
        said = said[1:]
    if said and said[0] == "router":
        said = said[1:]
    own = _PROTOCOLS.get(said[0]) if said else None
    if own == "staticd":
        return frozenset({own}) if takers == DAEMONS and words[0] != "router" else takers
    return takers if own is None or len(takers) < 2 else takers & {own}
