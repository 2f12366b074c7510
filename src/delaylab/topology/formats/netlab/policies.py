"""Routing policies, `routing.policy` and `routing.prefix`, as route maps in FRR's words."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from delaylab.topology.formats.containerlab.tree import items, text
from delaylab.topology.formats.netlab.pools import NUMBERS, Pools, network_of, number_of
from delaylab.topology.formats.netlab.shape import Leaves, below, leaves

SETS = {"locpref": "local-preference", "med": "metric", "weight": "weight"}
"""Parts of a policy that set something -> FRR's words for them."""
WORDS = {"ipv4": "ip", "ipv6": "ipv6"}


class NoWords(Exception):
    """A policy has a part that is not translated."""


def route_map(name: str, said: Leaves, pools: Pools, ip: Collection[int]) -> str:
    """Return FRR's lines of a policy and of the prefix lists that it names.

    Raises NoWords if there is no such policy, or if it has a part that is not translated.
    """
    if len(ip) > 1:
        # ospfd does not know `match ipv6`, and takes such an entry as one for all routes.
        raise NoWords("FRR's OSPF has route maps of one IP version")
    version = "ipv4" if 4 in ip else "ipv6"
    whole = below(said, "routing", "policy", name)
    alone = whole.pop((), None)
    entries = [leaves(each) for each in items(alone)] or ([whole] if whole else [])
    if not entries:
        raise NoWords(f"there is no policy {name}")
    lines: list[str] = []
    lists: dict[str, None] = {}
    for entry in entries:
        lines += _entry(name, entry, version, lists, 10 * (1 + entries.index(entry)))
    of_lists = [line for each in lists for line in _prefix_list(each, said, version, pools)]
    return "".join(f"{line}\n" for line in (*of_lists, *lines))


def _entry(
    name: str, said: Leaves, version: str, lists: dict[str, None], number: int
) -> Iterator[str]:
    """Yield an entry of a route map; add the prefix list that it asks for."""
    said = dict(said)
    action = text(said.pop(("action",), None)) or "permit"
    number = int(number_of(said.pop(("sequence",), None)) or number)
    matched = text(said.pop(("match", "prefix"), None))
    sets = [f" set {word} {given}" for key, word in SETS.items() if (given := _set(said, key))]
    if said:
        raise NoWords(".".join(next(iter(said))))
    yield f"route-map {name} {action} {number}"
    if matched:
        lists[matched] = None
        yield f" match {WORDS[version]} address prefix-list {matched}"
    yield from (*sets, "exit")


def _set(said: Leaves, key: str) -> str:
    given = text(said.pop(("set", key), None))
    if given and not given.isdecimal():
        raise NoWords(f"set.{key}: {given}")
    return given


def _prefix_list(name: str, said: Leaves, version: str, pools: Pools) -> Iterator[str]:
    whole = below(said, "routing", "prefix", name)
    alone = whole.pop((), None)
    entries = [leaves(each) for each in items(alone)] or ([whole] if whole else [])
    if not entries:
        raise NoWords(f"there is no prefix list {name}")
    for index, entry in enumerate(entries, start=1):
        action = text(entry.get(("action",))) or "permit"
        lengths = _lengths(entry)
        for network in _networks(entry, version, pools):
            what = f"{name} seq {10 * index} {action} {network}{lengths}"
            yield f"{WORDS[version]} prefix-list {what}"


def _lengths(entry: Leaves) -> str:
    least, most = (number_of(entry.get((key,))) for key in ("min", "max"))
    return (f" ge {least}" if least else "") + (f" le {most}" if most else "")


def _networks(entry: Leaves, version: str, pools: Pools) -> Sequence[str]:
    given = network_of(entry.get((version,)))
    if given is not None:
        return [str(given)]
    if name := text(entry.get(("prefix",))):
        found = (pools.prefix(name) or {}).get(version)
        return [] if found is None else [str(found)]
    pool = text(entry.get(("pool",)))
    return [str(each) for each in pools.whole(pool) if each.version == NUMBERS[version]]
