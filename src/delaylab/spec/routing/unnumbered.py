"""Check of links without a network of their own, whose ends have the addresses of loopbacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from delaylab.spec.lab import LabSpec, LinkSpec
from delaylab.spec.names import origins
from delaylab.spec.routing.model import RoutingSpec
from delaylab.spec.source import Document, Location, Problems


def check_unnumbered(
    lab: LabSpec,
    routers: Mapping[str, RoutingSpec],
    document: Document,
    at: Location,
    problems: Problems,
) -> None:
    """Refuse unnumbered links that routers cannot use; `routers` are those with daemons."""
    for index, link in enumerate(lab.links):
        if link.unnumbered:
            what, fix = next(_problems(lab, link, routers), ("", ""))
            if what:
                where = (*at, "links", index, "unnumbered")
                problems.errors.append(document.refuse(f"an unnumbered link {what}", where, fix))


def _problems(
    lab: LabSpec, link: LinkSpec, routers: Mapping[str, RoutingSpec]
) -> Iterator[tuple[str, str]]:
    if not link.is_pair:
        yield "joins two routers, and this one has `join`", "say `between`"
    if link.addresses:
        yield "has no `addresses`", "leave one of the two out"
    if 4 not in lab.ip:
        yield "is for IPv4, and the lab has none", "leave it out: OSPFv3 uses link-local addresses"
    file_name = origins(lab)
    for node in link.members:
        routing = routers.get(file_name.get(node, node))
        ospf = None if routing is None else routing.ospf
        if routing is None or ospf is None or link.spoken("ospf", node) is False:
            yield f"needs OSPF on both ends, and {node!r} does not speak it here", "say `ospf: {}`"
        elif ospf.network not in (None, "point-to-point"):
            yield f"is point-to-point, and OSPF's `network` is {ospf.network}", "leave that out"
        elif not ospf.loopback:
            yield f"has the addresses of loopbacks, and {node!r} has none", "leave `loopback` out"
        elif routing.by != "frr":
            yield f"needs FRR on both ends, and {node!r} has BIRD", "say `by: frr`"
        elif routing.isis is not None or routing.bgp is not None:
            yield (
                f"has OSPF alone, and {node!r} speaks {' and '.join(routing.protocols)}",
                "give the link a network, or the routers OSPF alone",
            )
