"""Changes of a running lab's links: their conditions, their timeline, engines that were down."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from delaylab.agent.result import AgentError
from delaylab.agent.wire.links import LinkRestart, LinkSet, LinkTimeline, Neighbours
from delaylab.errors import BadInput, DelaylabError
from delaylab.lab.links.link_engines import agents, call, reports
from delaylab.lab.running import LiveLab
from delaylab.plan.conditions.conditioned import ConditionedLink
from delaylab.plan.conditions.engine_links import Change
from delaylab.records.links import Direction, EngineReport
from delaylab.resolve.delays import delay_ns, tries
from delaylab.spec.conditions.check import check_profile, why_not, why_not_in_kernel
from delaylab.spec.conditions.directions import changes
from delaylab.spec.conditions.engine import Conditions, made_of
from delaylab.spec.conditions.merge import merge
from delaylab.spec.conditions.model import ConditionsSpec

Sent = dict[str, list[Change]]
"""A map from agents to the changes for the directions that start at their nodes."""


def revive(lab: LiveLab) -> list[str]:
    """Restart the engines that are down; return the hosts whose links are up again.

    Raises DelaylabError if the agent of such an engine is dead.
    """
    down = [report for report in reports(lab) if not report.running]
    for report in down:
        call(lab, _agent(report), LinkRestart())
    return [report.host for report in down]


def start_timeline(lab: LiveLab, begins_ns: int | None = None) -> None:
    """Restore the conditions of the lab file, and restart the lab's timeline.

    It counts from `begins_ns`, in ns since 1970; from now on if that is None.
    """
    for agent in agents(lab):
        # Each engine counts by its own machine's clock.
        there_ns = None if begins_ns is None else begins_ns + lab.ahead_ns(agent)
        call(lab, agent, LinkTimeline(begins_ns=there_ns))


def hold_timeline(lab: LiveLab) -> None:
    """Restore the conditions of the lab file, and change nothing until the timeline is started."""
    for agent in agents(lab):
        call(lab, agent, LinkTimeline(hold=True))


@dataclass(frozen=True)
class ChangedConditions:
    """A change of a link's conditions; those that it does not name stay.

    With `node`, only the direction from that member changes; with `receives`, the conditions of
    what that member receives, or all members that have such.
    """

    link: str
    node: str | None
    changed: ConditionsSpec
    receives: bool = False


def change(
    lab: LiveLab, link: str, node: str | None, changed: ConditionsSpec, *, receives: bool = False
) -> list[EngineReport]:
    """Change the given conditions of a link, on all hosts or none; return the new reports.

    The arguments are those of `ChangedConditions`, the errors those of `change_all`.
    """
    return change_all(lab, [ChangedConditions(link, node, changed, receives)])


def change_all(lab: LiveLab, wanted: Sequence[ChangedConditions]) -> list[EngineReport]:
    """Make changes at one moment on each host, on all hosts or none; return the new reports.

    Raises BadInput if the conditions are impossible, and DelaylabError if an engine of a link is
    down or refuses them.
    """
    there, back = defaultdict[str, list[Change]](list), defaultdict[str, list[Change]](list)
    wholes = [_checked(lab, each) for each in wanted]
    found = reports(lab)
    for report in found:
        # Check all engines before asking any: a dead engine reports no directions to compare.
        if any(report.host in whole.ports for whole in wholes):
            _require_running(report, lab)
    for each, whole in zip(wanted, wholes, strict=True):
        if not _gather(each, whole, found, there, back):
            who = each.node or "any node"
            fix = "give it some in the lab file, such as `to: {NODE: {delay: 0s}}`"
            what = f"link {each.link!r} has no conditions for what {who} receives"
            raise BadInput(what, fix=fix)
    _send(lab, there, back)
    now = reports(lab)
    for link in dict.fromkeys(each.link for each in wanted):
        _wait_for_neighbours(lab, link, now)
    return now


def changed_at(
    reports: Iterable[EngineReport], links: Collection[str], since_ns: int
) -> tuple[int, int] | None:
    """Return when the first and the last end of these links went down or up; None if none did.

    Times are in ns since 1970, by the engines' own record; only those from `since_ns` on count.
    """
    times = [
        at
        for report in reports
        for direction in report.directions
        if direction.link in links
        for downtime in direction.downtimes
        for at in (downtime.since_ns, downtime.until_ns)
        if at is not None and at >= since_ns
    ]
    return (min(times), max(times)) if times else None


def _checked(lab: LiveLab, wanted: ChangedConditions) -> ConditionedLink:
    """Return the link that a change is of; raise BadInput for what no link can have."""
    whole = _conditioned(lab, wanted.link)
    if wanted.node is not None and wanted.node not in whole.link.members:
        members = ", ".join(whole.link.members)
        raise BadInput(f"{wanted.node!r} is not on link {wanted.link!r}", fix=f"members: {members}")
    try:
        check_profile(wanted.changed, whole.link, wanted.node, receives=wanted.receives)
    except ValueError as error:
        raise BadInput(str(error), f"link {wanted.link}") from None
    return whole


def _gather(
    change: ChangedConditions,
    whole: ConditionedLink,
    reports: list[EngineReport],
    there: Sent,
    back: Sent,
) -> bool:
    """Add the changes of the directions that are meant; return False if there are none."""
    meant = whole.meant(change.node, receives=change.receives)
    gathered = False
    for report in reports:
        for direction in report.of_nodes:
            if direction.link != change.link or direction.receives != change.receives:
                continue
            if direction.node not in meant:
                continue
            named = changes(
                change.changed,
                whole.link,
                direction.node,
                direction.configured,
                receives=change.receives,
            )
            wanted = merge(direction.configured, named)
            _require_sense(direction, wanted, report.engine)
            whole.check_direction(direction.node, wanted, receives=change.receives)
            there[_agent(report)].append(
                Change(change.link, direction.node, named, change.receives)
            )
            back[_agent(report)] += _replacing(direction, wanted, direction.configured)
            gathered = True
    return gathered


def _wait_for_neighbours(lab: LiveLab, link: str, now: list[EngineReport]) -> None:
    """Let the stacks on a link ask for their neighbours as long as its delays now require."""
    by_node: Counter[str] = Counter()
    for direction in (each for report in now for each in report.of_nodes if each.link == link):
        by_node[_node(direction)] += delay_ns(direction.configured)
    often = tries(by_node.values())
    if often is None:
        return
    for each in {each.agent: each for each in lab.plan.on_link(link)}.values():
        versions = sorted({address.version for address in each.interfaces()})
        # A node that is dead waits for nobody.
        with suppress(DelaylabError):
            call(lab, each.agent, Neighbours(on=each.device, tries=often, versions=versions))


def require(lab: LiveLab, link: str) -> None:
    """Raise BadInput if a lab does not have a link, or if the link cannot change."""
    _conditioned(lab, link)


def _conditioned(lab: LiveLab, link: str) -> ConditionedLink:
    if lab.plan.has_engine(link):
        return ConditionedLink(lab.spec.links[link], lab.plan.on_link(link))
    if lab.plan.on_link(link):
        fix = "give it one in the lab file, such as `state: up` or `delay: 0s`"
        raise BadInput(f"link {link!r} has no conditions: the kernel carries it", fix=fix)
    known = ", ".join(lab.plan.conditioned) or "none"
    raise BadInput(f"lab {lab.name!r} has no link {link!r}", fix=f"with conditions: {known}")


def _send(lab: LiveLab, there: Sent, back: Sent) -> None:
    """Make the changes host by host; if one host refuses, undo those of the others."""
    done: list[str] = []
    for agent, wanted in there.items():
        try:
            call(lab, agent, LinkSet(changes=wanted))
        except AgentError as error:
            for other in done:
                call(lab, other, LinkSet(changes=back[other]))
            raise DelaylabError(f"{error.what}; nothing is changed", error.where) from None
        done.append(agent)


def _replacing(direction: Direction, now: Conditions, wanted: Conditions) -> list[Change]:
    """Return the two changes that turn conditions `now` into exactly `wanted`.

    Differing conditions are removed first and then set: a change keeps the fields that it does not
    name, so fields of the old condition would otherwise remain.
    """
    old, new = now.named, wanted.named
    differ = [name for name in old | new if old.get(name) != new.get(name)]
    if not differ:
        return []
    removal = made_of(Conditions, dict.fromkeys(differ))
    anew = made_of(Conditions, {name: new[name] for name in differ if name in new})
    return [
        Change(direction.link, _node(direction), each, direction.receives)
        for each in (removal, anew)
    ]


def _node(direction: Direction) -> str:
    """Return the node whose frames a direction has."""
    assert direction.node is not None
    return direction.node


def _agent(report: EngineReport) -> str:
    """Return the agent of a report that this module made."""
    assert report.agent is not None
    return report.agent


def _require_running(report: EngineReport, lab: LiveLab) -> None:
    if not report.running:
        why = f"the link engine of host {report.host!r} is down: {report.why}"
        restart = f"delaylab up, with the file of {lab.name!r}, restarts it"
        again = f"delaylab down {lab.name}, then up again"
        raise DelaylabError(why, fix=restart if lab.is_alive(_agent(report)) else again)


def _require_sense(direction: Direction, wanted: Conditions, engine: str) -> None:
    reason = why_not(wanted) or (why_not_in_kernel(wanted) if engine == "kernel" else None)
    if reason:
        raise BadInput(reason, f"link {direction.link}, {direction.preposition} {direction.node}")
