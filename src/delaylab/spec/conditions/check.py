"""Checks of conditions across their fields: names must exist, and combinations must make sense."""

from __future__ import annotations

from functools import partial

from delaylab.spec.conditions.bounds import KERNEL_FRAMING, KERNEL_SLOWEST_BPS, KERNEL_SPREAD_NS
from delaylab.spec.conditions.directions import (
    Joining,
    conditions_of,
    members_meant,
    received_by,
    way_of,
)
from delaylab.spec.conditions.engine import (
    Conditions,
    DelayTrace,
    Opportunities,
    Pattern,
    Rate,
    RateTrace,
    Red,
)
from delaylab.spec.conditions.model import ConditionsSpec
from delaylab.spec.conditions.profiles import contents
from delaylab.spec.lab import LabSpec, LinkSpec
from delaylab.spec.names import NamedLinks, Names, origins
from delaylab.spec.names import names as names_in
from delaylab.spec.source import Document, Location, Problems
from delaylab.spec.timeline.model import ChangeSpec


def check_conditions(
    lab: LabSpec, links: NamedLinks, document: Document, at: Location, problems: Problems
) -> None:
    """Collect the errors in the conditions of a lab's links and of its timeline."""
    problems.gather(lambda: _check_steering(lab, document, at))
    stands_for = names_in(lab)
    only = next(iter(lab.hosts), "")
    hosts = {name: lab.nodes[node].host or only for name, node in origins(lab).items()}
    in_kernel = {host for host in lab.hosts or ("",) if lab.engine_on(host).kind == "kernel"}
    for index, (_, link) in enumerate(links):
        if not link.is_conditioned:
            continue
        where = (*at, "links", index)
        problems.gather(partial(_check_link, link, stands_for, document, where))
        if in_kernel:
            problems.gather(partial(_check_engine, hosts, link, in_kernel, document, where))
    by_name = dict(links)
    for index, change in enumerate(lab.timeline):
        where = (*at, "timeline", index)
        if isinstance(change, ChangeSpec):
            problems.gather(partial(_check_change, change, by_name, document, where))


def check_profile(
    given: ConditionsSpec, link: Joining, node: str | None, *, receives: bool = False
) -> None:
    """Raise ValueError if a profile differs up and down but the link has no such direction.

    With `receives` the conditions are of what the node receives.
    """
    if given.profile is None:
        return
    for member in members_meant(link, node):
        if contents(given.profile, way_of(link, member, receives=receives)) is None:
            name, what = given.profile, "receives" if receives else "sends"
            raise ValueError(
                f"profile {name!r} differs up and down, and this link has more than two ends: "
                f"say {name}/up or {name}/down for what a member {what}"
            )


def why_not(conditions: Conditions) -> str | None:
    """Return the reason why the conditions of one direction make no sense together, or None."""
    trace, queue = conditions.trace, conditions.queue
    limited = conditions.rate or isinstance(trace, RateTrace | Opportunities)
    if queue is not None and not limited:
        return "`queue` needs a `rate` or a rate trace"
    if queue is not None and queue.held == "sender" and conditions.rate is None:
        return "`queue: sender` holds the sender to a `rate`; a trace of rates cannot be held so"
    if queue is not None and queue.held == "sender" and conditions.rate and conditions.rate.refills:
        return "`queue: sender` holds the sender to a steady rate; leave `refills` out"
    delayed = conditions.delay_ns or isinstance(trace, DelayTrace)
    if conditions.reorder is not None and not delayed:
        return "`reorder` lets packets go without the delay: it needs a `delay`"
    return None


def why_not_received(conditions: Conditions) -> str | None:
    """Return the reason why conditions cannot be of what a node receives, or None."""
    if conditions.queue is not None and conditions.queue.held == "sender":
        return "what a node receives does not wait at its sender: give `queue` packets or bytes"
    if conditions.state == "down":
        return "an end loses its carrier for both directions: say `state: silent`, or `from`"
    return why_not(conditions)


def why_not_in_kernel(conditions: Conditions) -> str | None:
    """Return the reason why no kernel's queues can apply one direction's conditions, or None.

    Parts that only this machine's kernel lacks are refused by its agent, before it builds anything.
    """
    jitter, queue = conditions.jitter, conditions.queue
    refused = {
        "`trace`": conditions.trace is not None,
        "`state: silent`": conditions.state == "silent",
        "`loss` by a pattern": isinstance(conditions.loss, Pattern),
        "`queue: sender`": queue is not None and queue.held == "sender",
        "`red` queues": queue is not None and isinstance(queue.discipline, Red),
        "`refills` of `rate`": conditions.rate is not None and conditions.rate.refills,
        "`half_life` of `jitter`": jitter is not None and jitter.half_life_ns,
        "correlation of `jitter`": jitter is not None and jitter.correlation,
        "correlation of `reorder`": conditions.reorder and conditions.reorder.correlation,
    }
    for part, configured in refused.items():
        if configured:
            return f"the kernel engine has no {part}"
    if jitter is not None and jitter.spread_ns > KERNEL_SPREAD_NS:
        return f"the kernel engine's jitter ends at a spread of {KERNEL_SPREAD_NS} ns"
    return _why_no_token_bucket(conditions.rate) if conditions.rate is not None else None


def _why_no_token_bucket(rate: Rate) -> str | None:
    """Return the reason why the kernel's token bucket filter cannot limit to a rate, or None."""
    if rate.bps < KERNEL_SLOWEST_BPS:
        return f"the kernel engine's least rate is {KERNEL_SLOWEST_BPS} bit/s"
    if max(rate.overhead_bytes, rate.minimum_bytes) > KERNEL_FRAMING:
        return f"the kernel engine counts framing up to {KERNEL_FRAMING} bytes"
    return None


def _check_steering(lab: LabSpec, document: Document, at: Location) -> None:
    """Check `steer` of each engine in its complete form.

    A host gives only the settings that differ from the lab's.
    """
    said = {host: (*at, "hosts", host) for host, spec in lab.hosts.items() if spec.engine}
    if not lab.hosts or lab.hosts.keys() - said:
        said[""] = at
    for host, where in said.items():
        engine = lab.engine_on(host)
        if not engine.steer:
            continue
        if engine.kind == "kernel":
            reason, fix = "links in the kernel run on whichever CPU sends", "leave `steer` out"
        elif not engine.cpus:
            reason, fix = "`steer` keeps nodes' stacks off the engine's CPUs", "give its `cpus`"
        else:
            continue
        raise document.refuse(reason, (*where, "engine"), fix)


def _check_engine(
    hosts: dict[str, str], link: LinkSpec, in_kernel: set[str], document: Document, at: Location
) -> None:
    for node in link.members:
        if hosts[node] not in in_kernel:
            continue
        reason = why_not_in_kernel(conditions_of(link, node))
        if reason:
            fix = "say `engine: own`"
            raise document.refuse(f"what {node!r} sends: {reason}", at, fix)
    for node in link.received_by:
        if hosts.get(node) in in_kernel:
            reason = "the kernel engine has no conditions at the receiver"
            raise document.refuse(reason, (*at, "to", node), "say `engine: own`")


def _check_link(link: LinkSpec, stands_for: Names, document: Document, at: Location) -> None:
    members = {*link.members, *(each for node in link.members for each in stands_for[node])}
    for side, by_node in (("from", link.sent_from), ("to", link.received_by)):
        for node, given in by_node.items():
            where = (*at, side, node)
            if node not in members:
                fix = f"members: {', '.join(link.members)}"
                raise document.refuse(f"{node!r} is not on this link", where, fix)
            _with_line(given, link, node, document, where, receives=side == "to")
    for node in link.received_by:
        reason = why_not_received(received_by(link, node))
        if reason:
            raise document.refuse(f"what {node!r} receives: {reason}", (*at, "to", node))
    _with_line(link, link, None, document, at)
    for node in link.members:
        reason = why_not(conditions_of(link, node))
        if reason:
            raise document.refuse(f"what {node!r} sends: {reason}", at)


def _check_change(
    change: ChangeSpec, links: dict[str, LinkSpec], document: Document, where: Location
) -> None:
    link = links.get(change.link)
    if link is None:
        fix = f"links: {', '.join(links) or 'none'}"
        raise document.refuse(f"no link {change.link!r}", (*where, "link"), fix)
    for key, node in (("node", change.node), ("to", change.to)):
        if node is not None and node not in link.members:
            raise document.refuse(
                f"{node!r} is not on link {change.link!r}",
                (*where, key),
                f"members: {', '.join(link.members)}",
            )
    if not change.conditions.model_fields_set:
        raise document.refuse("the change names no condition", (*where, "set"))
    node, receives = change.to or change.node, change.to is not None
    _with_line(change.conditions, link, node, document, (*where, "set"), receives=receives)


def _with_line(
    given: ConditionsSpec,
    link: LinkSpec,
    node: str | None,
    document: Document,
    at: Location,
    *,
    receives: bool = False,
) -> None:
    try:
        check_profile(given, link, node, receives=receives)
    except ValueError as error:
        raise document.refuse(str(error), (*at, "profile")) from None
