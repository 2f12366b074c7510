"""Expansion of `count: N`: a node becomes N nodes, NAME-1, NAME-2 …, wherever it was named.

A link between two nodes of which one has a count becomes a link to each: LINK-1, LINK-2 … If both
have the same count, the first is joined to the first, the second to the second, and so on. Where a
link, a probe or a load names one of the nodes, such as NAME-2, only that one is meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import TypeVar

from delaylab.spec.devices import device_of, end_of, node_of
from delaylab.spec.lab import LabSpec, LinkSpec
from delaylab.spec.names import Names, counted, is_many, links_of, named_links, names
from delaylab.spec.timeline.model import (
    ChangeSpec,
    CostEventSpec,
    LinkEventSpec,
    MomentSpec,
    NodeEventSpec,
)

Said = TypeVar("Said")


def with_counts(lab: LabSpec) -> LabSpec:
    """Return a lab with every node and link written out; without a `count:` it stays as it is."""
    if all(spec.count is None for spec in lab.nodes.values()):
        return lab
    all_names = names(lab)
    nodes = {
        each: spec.model_copy(update={"count": None})
        for name, spec in lab.nodes.items()
        for each in all_names[name]
    }
    named = named_links(lab)
    links = [each for name, link in named for each in _links(lab, link, name, all_names)]
    all_links = links_of(lab, named)
    timeline = [each for one in lab.timeline for each in _moments(one, all_links, all_names)]
    return lab.model_copy(update={"nodes": nodes, "links": links, "timeline": timeline})


def _links(lab: LabSpec, link: LinkSpec, name: str, all_names: Names) -> Iterator[LinkSpec]:
    """Yield the links that one link of the file stands for, in order.

    Each has a name: a default one is that of the file's link, and its number.
    """
    sent = _by_each(lab, link.sent_from, all_names)
    received = _by_each(lab, link.received_by, all_names)
    spoken: dict[str, object] = {
        protocol: _by_each(lab, said, all_names) if isinstance(said, dict) else said
        for protocol, said in (("ospf", link.ospf), ("isis", link.isis), ("cost", link.cost))
    }
    if link.join is not None:
        members = [
            end_of(each, device_of(end)) for end in link.join for each in all_names[node_of(end)]
        ]
        directed = {"sent_from": sent, "received_by": received}
        update = {"join": members, "name": name, **directed, **spoken}
        yield link.model_copy(update=update)
    elif not is_many(lab, link):
        yield link.model_copy(update={"name": name, **spoken})
    else:
        one, two = (all_names[end] for end in link.members)
        one_by_one = len(counted(lab, link)) == 2
        pairs = zip(one, two, strict=True) if one_by_one else product(one, two)
        for number, pair in enumerate(pairs, start=1):
            own, for_own = (
                {node: said for node, said in by_node.items() if node in pair}
                for by_node in (sent, received)
            )
            between = tuple(map(end_of, pair, map(device_of, link.ends)))
            update = {"between": between, "name": f"{name}-{number}", **spoken}
            yield link.model_copy(update={**update, "sent_from": own, "received_by": for_own})


def _by_each(lab: LabSpec, given: Mapping[str, Said], all_names: Names) -> dict[str, Said]:
    """Return what is said of nodes; that of one node overrides that of all that a count makes."""
    general_first = sorted(given.items(), key=lambda item: item[0] not in lab.nodes)
    return {each: said for node, said in general_first for each in all_names[node]}


def _moments(moment: MomentSpec, links: Names, nodes: Names) -> Iterator[MomentSpec]:
    if isinstance(moment, ChangeSpec):
        yield from _changes(moment, links[moment.link], nodes)
    elif isinstance(moment, LinkEventSpec):
        yield moment.model_copy(update={moment.did: _all_of(moment.links, links)})
    elif isinstance(moment, CostEventSpec):
        cost = {
            each: {one: said[of] for of in said for one in nodes[of]}
            if isinstance(said, dict)
            else said
            for link, said in moment.cost.items()
            for each in links[link]
        }
        yield moment.model_copy(update={"cost": cost})
    elif isinstance(moment, NodeEventSpec):
        yield moment.model_copy(update={moment.did: _all_of(moment.nodes, nodes)})


def _all_of(given: Iterable[str], stands_for: Names) -> list[str]:
    """Return all that names stand for, each once."""
    return list(dict.fromkeys(each for name in given for each in stands_for[name]))


def _changes(change: ChangeSpec, links: list[str], all_names: Names) -> Iterator[ChangeSpec]:
    key, named = ("to", change.to) if change.to is not None else ("node", change.node)
    ends = [None] if named is None else all_names[named]
    for number, link in enumerate(links):
        # Where a link became one to each of many nodes, each of those is on its own link only.
        several = len(links) > 1 and len(ends) > 1
        for node in [ends[number]] if several else ends:
            yield change.model_copy(update={"link": link, key: node})
