"""From a lab file to a lab: what the file leaves out is worked out here, each value once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from delaylab.resolve.addresses import with_addresses
from delaylab.resolve.counts import with_counts
from delaylab.resolve.daemons import with_daemons
from delaylab.resolve.directions import Placed, by_link, first_conditions, received, sent
from delaylab.resolve.lab import Lab, Link
from delaylab.resolve.packages import with_packages
from delaylab.resolve.steps import steps
from delaylab.spec.conditions.engine import Conditions, LinkState
from delaylab.spec.lab import LabSpec, LinkSpec
from delaylab.spec.mtus import USUAL, VXLAN_HEADERS, stated
from delaylab.spec.names import named_links

NO_PACKAGES: Mapping[str, Collection[str]] = {}


def resolve(file: LabSpec, packages: Mapping[str, Collection[str]] = NO_PACKAGES) -> Lab:
    """Return the lab of a file that is checked, in which nothing is left open.

    `packages` are those that nodes need besides their own, by node. Raises Infeasible if its hosts
    cannot take its nodes, BadInput if its links need more addresses than there are, and Impossible
    for an event that cannot be.
    """
    return located(unplaced(file, packages))


def kept_lab(record: str) -> Lab:
    """Return the lab that was kept as JSON (`Lab.record`); raise ValidationError if it is none."""
    return resolve(LabSpec.model_validate_json(record))


def lab_from_data(data: Mapping[str, object]) -> Lab:
    """Return the lab of data in the form of a lab file, which is known to be right."""
    return resolve(LabSpec.model_validate(data))


def unplaced(file: LabSpec, packages: Mapping[str, Collection[str]] = NO_PACKAGES) -> Lab:
    """Return the lab of a file in which nodes without a host still have none, and no addresses."""
    written = with_counts(file)
    written = with_daemons(written)
    written = with_packages(written, packages)
    return _with_links(written, dict(named_links(written)))


def located(lab: Lab) -> Lab:
    """Return a lab with all that follows from where its nodes are."""
    if lab.place is not None:
        from delaylab.resolve.hosts import with_hosts  # noqa: PLC0415  few labs ask for a placement

        lab = with_hosts(lab)
    return with_addresses(_with_mtus(lab))


def _with_links(written: LabSpec, specs: Mapping[str, LinkSpec]) -> Lab:
    """Return a lab with the conditions of its links, and with what its timeline makes of them."""
    first = {name: first_conditions(link) for name, link in specs.items()}
    states: dict[tuple[str, str], LinkState] = {
        (node, name): conditions.state or "up"
        for name, of_link in first.items()
        for node, conditions in of_link.items()
    }
    happen = steps(specs, states, written.timeline)
    timeline = by_link([change for step in happen for change in step.changes])
    links = {
        name: _link(name, spec, written.mtu, first[name], timeline.get(name, ()))
        for name, spec in specs.items()
    }
    return Lab(
        written=written,
        name=written.lab,
        machines=written.machines,
        data_plane=written.data_plane,
        vxlan_port=written.vxlan_port,
        hosts=written.hosts,
        nodes=written.nodes,
        links=links,
        ip=written.ip,
        addresses_by=written.addresses,
        routes=written.routes,
        routing=written.routing,
        place=written.place,
        multipath=written.multipath,
        engine=written.engine,
        timeline=written.timeline,
        steps=happen,
        sysctls={str(setting): value for setting, value in written.sysctls.items()},
        seed=written.seed,
    )


def _link(
    name: str,
    spec: LinkSpec,
    mtu_of_lab: int | None,
    first: Mapping[str, Conditions],
    timeline: Sequence[Placed],
) -> Link:
    mtu = stated(mtu_of_lab, spec)
    return Link(
        name=name,
        members=tuple(spec.members),
        is_pair=spec.is_pair,
        mtu=USUAL if mtu is None else mtu,
        mtu_stated=mtu is not None,
        cost_by_end=spec.cost,
        bandwidth_bps=None if spec.bandwidth is None else spec.bandwidth.bps,
        interfaces=spec.interfaces,
        sent=sent(spec, first, timeline),
        received=received(spec, timeline),
        conditioned=spec.is_conditioned or bool(timeline),
        devices=spec.devices,
        unnumbered=spec.unnumbered,
        speaks={"ospf": spec.ospf, "isis": spec.isis},
    )


def _with_mtus(lab: Lab) -> Lab:
    """Return a lab whose links have the MTU that a tunnel between machines leaves, if none is said.

    Machines' cards are taken to have Ethernet's. `up` knows the cards (`KeptPlan.mtus`).
    """
    if not lab.machines or lab.data_plane != "vxlan":
        return lab
    return lab.with_mtus(
        {
            name: USUAL - VXLAN_HEADERS[4]
            for name, link in lab.links.items()
            if not link.mtu_stated and len(lab.machines_on(link)) > 1
        }
    )
