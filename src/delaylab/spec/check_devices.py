"""Checks of the names that a file gives to nodes' interfaces."""

from __future__ import annotations

from collections.abc import Iterator

from delaylab.spec.devices import OF_KERNEL, TAKEN, WAY_OUT, device_of, node_of, short
from delaylab.spec.lab import LabSpec, LinkSpec
from delaylab.spec.names import NamedLinks, Names, counted, names, origins
from delaylab.spec.source import Document, Location, Problems

ANOTHER = "name one of them anew"


def check_devices(
    lab: LabSpec,
    links: NamedLinks,
    stands_for: Names,
    document: Document,
    at: Location,
    problems: Problems,
) -> None:
    """Refuse names that an interface of a node cannot have, and two interfaces of one name."""
    chosen = [index for index, link in enumerate(lab.links) if any(map(device_of, link.ends))]
    if not chosen:
        return
    known, from_file = names(lab), origins(lab)
    taken = _made_of_links(links, stands_for, known)
    for index in chosen:
        name, link = links[index]
        for position, end in enumerate(link.ends):
            device = device_of(end)
            if not device:
                continue
            where = (*at, "links", index, link.field, position)
            found = _why_not(lab, from_file[node_of(end)], device) or _twice(
                lab, link, name, end, taken, known
            )
            if found:
                problems.errors.append(document.refuse(found[0], where, found[1]))


def _made_of_links(links: NamedLinks, stands_for: Names, known: Names) -> dict[str, dict[str, str]]:
    """Return the interfaces whose names are made of links: node -> interface -> link."""
    taken: dict[str, dict[str, str]] = {}
    for name, link in links:
        for end in link.ends:
            if not device_of(end):
                for node in known[node_of(end)]:
                    of_node = taken.setdefault(node, {})
                    of_node |= {short(each): each for each in stands_for[name]}
    return taken


def _why_not(lab: LabSpec, node: str, device: str) -> tuple[str, str] | None:
    """Return why no interface of a node can have a name, and what to do; None if one can."""
    spec = lab.nodes[node]
    leave = f"leave `:{device}` out"
    if device in TAKEN or (device == WAY_OUT and spec.leads_outside):
        return f"node {node!r} cannot have another interface {device!r}", "take another name"
    if device in OF_KERNEL:
        return f"the kernel itself makes an interface {device!r}", "take another name"
    if not spec.own_stack:
        what = f"node {node!r} (kind {spec.kind}) has no network stack of its own: its interfaces "
        return f"{what}are its host's, and are named by delaylab", leave
    if spec.outside is not None:
        return f"node {node!r} is {spec.outside} of this machine, which keeps its name", leave
    return None


def _twice(
    lab: LabSpec,
    link: LinkSpec,
    name: str,
    end: str,
    taken: dict[str, dict[str, str]],
    known: Names,
) -> tuple[str, str] | None:
    """Return what to say of a second interface of one name; None if a name is the first."""
    node, device = node_of(end), device_of(end)
    times = max(_others(lab, link, node), default=1)
    if times > 1:
        what = f"node {node!r} would have {times} interfaces {device!r}"
        return f"{what}: the link stands for one to each of many nodes (`count:`)", ANOTHER
    for each in known[node]:
        other = taken.setdefault(each, {}).setdefault(device, name)
        if other != name:
            return (
                f"node {each!r} has two interfaces {device!r}: on {other!r} and {name!r}",
                ANOTHER,
            )
    return None


def _others(lab: LabSpec, link: LinkSpec, node: str) -> Iterator[int]:
    """Yield the numbers of nodes to each of which a link leads from the same node."""
    many = counted(lab, link)
    if link.is_pair and node not in many:
        yield from many.values()
