"""The rule by which a lab has converged: right tables where they are known, else quiet. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from ipaddress import ip_interface

from delaylab.forwarding.expected import is_torn
from delaylab.forwarding.topology import Faults, Topology
from delaylab.forwarding.until import SECOND_NS, Until
from delaylab.resolve.lab import Lab, Link
from delaylab.routing.harmless import changes_routes
from delaylab.routing.writers import has_own_configuration
from delaylab.spec.routing.expect import NOTHING, SHORTEST, quiet_of
from delaylab.spec.routing.model import RoutingSpec

QUIET_NS = 5 * SECOND_NS
"""The time without a change after which a network is quiet, if its daemons hold nothing back."""
OF_BIRD_AND_OSPF3_NS = 5 * SECOND_NS
"""The least time between two versions of an LSA, where a file cannot choose it."""
BGP_CONNECTS_NS = 3 * SECOND_NS
"""The time in which two routers find each other by BGP: connections are tried each second."""
AT_ONCE = frozenset({"down", "cost"})
"""The deeds that routers notice at once: a lost carrier, or a new cost in their configuration."""
FINDING = frozenset({"up", "flap", "start"})
"""The deeds after which routers find neighbours again."""


def why_unforeseen(lab: Lab) -> str | None:
    """Return why the right forwarding tables of a lab's daemons are not known; None if they are.

    With `expect: shortest` the user vouches that they are those of the shortest paths.
    """
    routed = lab.routers
    if not routed:
        return "its routers run daemons of their own"
    why = _why_several(lab)
    if lab.expect == SHORTEST or why is not None:
        return None if lab.expect == SHORTEST else why
    areas = {area for routing in routed.values() for area in areas_of(routing)}
    own = any(
        has_own_configuration(routing.by, lab.nodes[node].files) for node, routing in routed.items()
    )
    if 6 in lab.ip and len(areas) > 1 and any(each.by == "frr" for each in routed.values()):
        return "FRR's OSPFv3 takes other paths between areas than RFC 5340 says"
    if (settings := _why_settings(lab)) is not None:
        return settings
    if any(changes_routes(routing.added, routing.by) for routing in routed.values()):
        return "`added` may change the routes"
    return "its routers have configuration files of their own" if own else None


def _why_router(lab: Lab, node: str, routing: RoutingSpec) -> str | None:
    """Return why settings of one router make the right tables unknown, if one does."""
    ospf = routing.ospf
    if not routing.protocols and not routing.static and len(lab.routers) > 1:
        return f"{node!r} speaks no protocol"
    if ospf and any(_is_hidden(each, routing) for each in lab.loopbacks.get(node, ())):
        return f"of the network on the loopback of {node!r} OSPF announces the address alone"
    given = {
        # BIRD looks for a next hop on its own links alone.
        "static": routing.static and routing.by == "bird",
        "bgp: imports": routing.bgp and routing.bgp.imports,
        "ospf: imports": ospf and ospf.imports,
        "ospf: default": ospf and ospf.default,
        "ospf: area_settings": ospf and ospf.area_settings,
    }
    name = next((name for name, value in given.items() if value), None)
    return name and f"`{name}` brings routes from elsewhere, or leaves some out"


def _is_hidden(loopback: str, routing: RoutingSpec) -> bool:
    """Return True if an address of a loopback has a network that OSPF does not announce.

    FRR's OSPF version 3 announces it.
    """
    given = ip_interface(loopback)
    is_network = given.network.prefixlen < given.max_prefixlen
    return is_network and (given.version == 4 or routing.by == "bird")


def _why_settings(lab: Lab) -> str | None:
    """Return why settings of routers make the right tables unknown, if one does.

    Routes come from elsewhere, areas leave some out, or two ends of a link do not agree.
    """
    for node, routing in lab.routers.items():
        if (why := _why_router(lab, node, routing)) is not None:
            return why
    for link in lab.links.values():
        ends = [
            (
                spec.link(link.name),
                spec.times(link.name),
                spec.network_of(link.name, is_pair=link.is_pair),
            )
            for node in link.members
            if node in lab.routers and link.spoken("ospf", node) is True
            if (spec := lab.routers[node].ospf) is not None
        ]
        said = [(times, own.password, own.digest, network) for own, times, network in ends]
        no_router = len(ends) > 1 and all(own.priority == 0 for own, *_ in ends)
        if any(each != said[0] for each in said) or no_router:
            return f"the ends of link {link.name!r} do not agree about OSPF"
        by = {lab.routers[node].by for node in link.members if node in lab.routers}
        if 6 in lab.ip and len(by) > 1 and any(own.digest for own, *_ in ends):
            return f"FRR 8.4 and BIRD sign OSPF version 3 in ways that differ (link {link.name!r})"
        if any(network == "point-to-multipoint" for *_, network in ends):
            return f"link {link.name!r} is point-to-multipoint, which has a route to each end"
    return None


def _why_several(lab: Lab) -> str | None:
    """Return why the tables of routers that speak several protocols are not known, if so.

    With OSPF on every link and BGP within one AS, a route by OSPF (distance 110) comes before one
    to the same network by BGP (distance 200), and OSPF has a route to every network of the lab. Of
    IPv6, FRR 8.4 keeps some routes of a dead router.
    """
    routed = lab.routers
    spoken = {tuple(routing.protocols) for routing in routed.values()}
    numbers = [routing.bgp.as_number for routing in routed.values() if routing.bgp]
    given = [number for number in numbers if number is not None]
    by = {each.by for each in routed.values()}
    if spoken == {("ospf", "bgp")} and by == {"frr"} and 6 not in lab.ip:
        everywhere = all(
            link.spoken("ospf", node) is not False
            for link in lab.links.values()
            for node in link.members
            if node in routed
        )
        if everywhere and None not in numbers and len(set(given)) == 1:
            return None
    if len(spoken) > 1 or any(len(protocols) > 1 for protocols in spoken):
        return "its routers speak several protocols"
    if len(given) != len(set(given)):
        return "several routers have one AS number"
    return None


def until_with(lab: Lab, network: Topology, faults: Faults) -> Until:
    """Return the rule of a lab whose right tables are known, unless its faults prevent that.

    Of areas, FRR and BIRD have rules of their own once the backbone is torn.
    """
    if lab.expect != SHORTEST and is_torn(network, faults):
        why = "the backbone is torn, and daemons differ about areas then (RFC 3509)"
        return Until(quiet_ns(lab), why)
    return Until()


def until_of(lab: Lab, asked: str | None = None) -> Until:
    """Return the convergence rule of a lab.

    `asked` is `quiet` or `quiet:5s`, and comes before what the lab's file says with `expect`.
    """
    expect = None if lab.expect in (SHORTEST, NOTHING) else lab.expect
    why = why_unforeseen(lab)
    if (word := asked or expect) is not None:
        found = quiet_of(word)
        return Until(quiet_ns(lab) if found is None else found.ns, why)
    if why is not None or lab.expect == NOTHING:
        return Until(quiet_ns(lab), why)
    return Until()


def quiet_ns(lab: Lab) -> int:
    """Return the time without a change after which a lab is quiet, if the file names none.

    It is 5 s more than routers may hold an announcement back, or wait to send a lost one again.
    """
    held = [0]
    for routing in lab.routers.values():
        if routing.ospf:
            by_file = routing.by == "frr" and 6 not in lab.ip
            held.append(routing.ospf.lsa_interval.ns if by_file else OF_BIRD_AND_OSPF3_NS)
            held.append(routing.ospf.retransmit.ns)
        if routing.isis:
            held.append(routing.isis.lsp_interval.ns)
    return QUIET_NS + max(held)


def noticed_ns(lab: Lab, deeds: Collection[str]) -> int:
    """Return the time in which routers begin to act on what is done to a lab, in ns.

    Quiet counts from then: before, that nothing changes has no meaning. Of daemons of the user's
    own it is not known, and 0.
    """
    slow = [deed for deed in deeds if deed not in AT_ONCE]
    if not slow:
        return 0
    if all(deed in FINDING for deed in slow):
        return found_ns(lab)
    return max(found_ns(lab), slowest_ns(lab))


def found_ns(lab: Lab) -> int:
    """Return the time in which the routers of a lab find their neighbours, in ns.

    With OSPF on a network of many routers they wait for `dead` until one of them speaks for it. The
    first packets may be lost, and are then sent again.
    """
    times = [0]
    for node, routing in lab.routers.items():
        times += [found for found, _ in _ospf_ns(lab, node)]
        if routing.isis:
            times.append(2 * routing.isis.hello.ns)
        if routing.bgp:
            times.append(BGP_CONNECTS_NS)
    return max(times)


def _ospf_ns(lab: Lab, node: str) -> Iterator[tuple[int, int]]:
    """Yield, for each link on which a router speaks OSPF, two times in ns.

    They are the time in which it finds its neighbours there, and that after which it misses one.
    """
    ospf = lab.routers[node].ospf
    if ospf is None:
        return
    for link in lab.links.values():
        speakers = _speakers(lab, link)
        if node in speakers:
            hello, dead = ospf.times(link.name)
            many = not link.is_pair and len(speakers) > 1
            yield (dead.ns if many else hello.ns) + ospf.retransmit.ns, dead.ns


def _speakers(lab: Lab, link: Link) -> list[str]:
    """Return the routers that say hello by OSPF on a link."""
    return [
        node
        for node in link.members
        if node in lab.routers and lab.routers[node].ospf and link.spoken("ospf", node) is True
    ]


def slowest_ns(lab: Lab) -> int:
    """Return the time in which the routers of a lab notice all that they will notice, in ns."""
    times = [0]
    for node, routing in lab.routers.items():
        times += [missed for _, missed in _ospf_ns(lab, node)]
        if routing.isis:
            times.append(routing.isis.hello.ns * routing.isis.multiplier)
        if routing.bgp:
            times.append(routing.bgp.hold.ns)
    return max(times)


def patience_ns(lab: Lab) -> int:
    """Return the time in which the tables of a lab have to become right, or quiet, in ns."""
    said = [*lab.routers.values(), *([lab.routing] if lab.routing is not None else [])]
    return max(each.timeout.ns for each in said)


def areas_of(routing: RoutingSpec) -> Iterator[str]:
    """Yield the areas of OSPF that a router's settings name."""
    if routing.ospf:
        yield routing.ospf.area
        yield from routing.ospf.areas.values()
