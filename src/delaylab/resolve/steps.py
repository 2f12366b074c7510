"""A lab's timeline step by step: what each event makes of links, nodes and programs.

An event of a node is also one of its links. Which state each end of a link has after an event
follows from the timeline alone, so link engines get all changes before the first one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from delaylab.resolve.lab import CostOrder, Deed, End, Order, Step
from delaylab.spec.conditions.directions import Joining, members_meant
from delaylab.spec.conditions.engine import LinkState
from delaylab.spec.conditions.model import UP, ConditionsSpec
from delaylab.spec.timeline.model import (
    ChangeSpec,
    CostEventSpec,
    EventSpec,
    LinkEventSpec,
    MomentSpec,
    NodeEventSpec,
)
from delaylab.units import Duration

_OF_LINKS: dict[str, LinkState] = {
    "down": "down",
    "flap": "down",
    "silence": "silent",
    "up": "up",
}


class Impossible(ValueError):
    """An event that cannot be, such as the start of what runs; `place` is that in the timeline."""

    def __init__(self, what: str, place: int) -> None:
        super().__init__(what)
        self.place = place


def steps(
    links: Mapping[str, Joining], states: Mapping[End, LinkState], timeline: Sequence[MomentSpec]
) -> tuple[Step, ...]:
    """Return the lab after each time of its timeline; raise Impossible for an event.

    All names are written out. `states` are those of the links' ends from the start.
    """
    state = _State(links, dict(states))
    times: dict[int, list[_Part]] = defaultdict(list)
    for part in _parts(timeline):
        times[part.at_ns].append(part)
    return tuple(state.after(at_ns, times[at_ns]) for at_ns in sorted(times))


@dataclass(frozen=True)
class _Part:
    """A moment of the timeline, or the second half of a `flap` or a `restart`."""

    at_ns: int
    place: int
    moment: ChangeSpec | EventSpec
    did: str = ""


def _parts(timeline: Sequence[MomentSpec]) -> Iterator[_Part]:
    for place, moment in enumerate(timeline):
        at_ns = moment.at.ns
        if isinstance(moment, ChangeSpec):
            yield _Part(at_ns, place, moment)
        elif isinstance(moment, CostEventSpec):
            yield _Part(at_ns, place, moment, moment.did)
        elif isinstance(moment, LinkEventSpec | NodeEventSpec):
            first = {"flap": "down", "restart": "kill"}.get(moment.did, moment.did)
            yield _Part(at_ns, place, moment, first)
            if moment.did in ("flap", "restart"):
                second = "up" if moment.did == "flap" else "start"
                yield _Part(at_ns + moment.back_after.ns, place, moment, second)


@dataclass
class _State:
    """The links and nodes of a lab while its timeline goes on.

    `cables` are the states that links would have if all nodes were running; `told` are those that
    their ends have.
    """

    links: Mapping[str, Joining]
    cables: dict[End, LinkState]
    dead: set[str] = field(default_factory=set)
    frozen: set[str] = field(default_factory=set)
    killed_programs: set[End] = field(default_factory=set)
    frozen_programs: set[End] = field(default_factory=set)
    costs: dict[End, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.on: dict[str, list[str]] = defaultdict(list)
        for node, link in self.cables:
            self.on[node].append(link)
        self.told = dict(self.cables)

    def after(self, at_ns: int, parts: list[_Part]) -> Step:
        """Follow what happens at one time, and return the lab after it."""
        made: list[ChangeSpec] = []
        orders: list[Order] = []
        touched: set[str] = set()
        costs: list[CostOrder] = []
        for part in parts:
            if isinstance(part.moment, ChangeSpec):
                made.append(part.moment)
                self._change(part.moment)
                if part.moment.conditions.state is not None:
                    touched.add(part.moment.link)
            elif isinstance(part.moment, CostEventSpec):
                costs += self._costs(at_ns, part.moment)
            elif isinstance(part.moment, LinkEventSpec):
                for link in part.moment.links:
                    for node in self.links[link].members:
                        self.cables[node, link] = _OF_LINKS[part.did]
                    touched.add(link)
            elif isinstance(part.moment, NodeEventSpec):
                for node in part.moment.nodes:
                    try:
                        orders += self._node(at_ns, part.did, node, part.moment.programs)
                    except ValueError as error:
                        raise Impossible(str(error), part.place) from None
                    touched.update(self.on[node] if part.moment.programs is None else ())
        made += self._states(at_ns, touched)
        return Step(
            at_ns=at_ns,
            events=tuple(part.place for part in parts if isinstance(part.moment, EventSpec)),
            changes=tuple(made),
            orders=tuple(orders),
            ends={end: state for end, state in self.told.items() if state != UP},
            dead=frozenset(self.dead),
            frozen=frozenset(self.frozen),
            not_running=frozenset(self.killed_programs | self.frozen_programs),
            told=tuple(costs),
            costs=dict(self.costs),
        )

    def _costs(self, at_ns: int, moment: CostEventSpec) -> Iterator[CostOrder]:
        """Apply a change of costs; yield the order for the router at each end."""
        for link, node, cost in moment.ends:
            members = self.links[link].members
            for member in members if node is None else [node]:
                # A link that stands for several may not have each of the nodes.
                if member in members:
                    self.costs[member, link] = cost
                    yield CostOrder(at_ns, member, link, cost)

    def _change(self, change: ChangeSpec) -> None:
        """Follow a change of conditions, if it names the state of its link."""
        if change.to is not None or change.conditions.state is None:
            return
        for node in members_meant(self.links[change.link], change.node):
            self.cables[node, change.link] = change.conditions.state
            self.told[node, change.link] = change.conditions.state

    def _node(self, at_ns: int, did: str, node: str, programs: list[str] | None) -> Iterator[Order]:
        """Follow an event of a node or of its programs; yield what is done to its programs."""
        if programs is not None:
            for program in programs:
                yield Order(at_ns, node, self._of_program(did, node, program), (program,))
            return
        is_up = node not in self.dead and node not in self.frozen
        if did == "start":
            if is_up:
                raise ValueError(f"`start` of node {node!r}, which runs")
            yield Order(at_ns, node, "continue" if node in self.frozen else "start")
            self.dead.discard(node)
            self.frozen.discard(node)
            self._forget_programs(node)
        elif did == "stop":
            if not is_up:
                raise ValueError(f"`stop` of node {node!r}, which does not run")
            yield Order(at_ns, node, "freeze")
            self.frozen.add(node)
        else:
            if node in self.dead:
                raise ValueError(f"`kill` of node {node!r}, which is dead already")
            yield Order(at_ns, node, "kill")
            self.frozen.discard(node)
            self.dead.add(node)

    def _of_program(self, did: str, node: str, program: str) -> Deed:
        """Follow an event of a program; return what is done to it."""
        end = node, program
        if node in self.dead or node in self.frozen:
            raise ValueError(f"`{did}` of program {program!r} of node {node!r}, which does not run")
        runs = end not in self.killed_programs and end not in self.frozen_programs
        if did == "start":
            if runs:
                raise ValueError(f"`start` of program {program!r} of node {node!r}, which runs")
            deed: Deed = "continue" if end in self.frozen_programs else "start"
            self.killed_programs.discard(end)
            self.frozen_programs.discard(end)
            return deed
        if end in self.killed_programs or (did == "stop" and not runs):
            what = f"`{did}` of program {program!r} of node {node!r}, which does not run"
            raise ValueError(what)
        self.frozen_programs.discard(end)
        (self.killed_programs if did == "kill" else self.frozen_programs).add(end)
        return "kill" if did == "kill" else "freeze"

    def _forget_programs(self, node: str) -> None:
        """Note that all programs of a node run again."""
        self.killed_programs = {end for end in self.killed_programs if end[0] != node}
        self.frozen_programs = {end for end in self.frozen_programs if end[0] != node}

    def _states(self, at_ns: int, touched: set[str]) -> Iterator[ChangeSpec]:
        """Yield the changes of the ends of links that have another state than they were told."""
        for name in self.links:
            if name not in touched:
                continue
            link = self.links[name]
            for node in link.members:
                state = self._state_of(link, name, node)
                if state != self.told[node, name]:
                    self.told[node, name] = state
                    conditions = ConditionsSpec(state=state)
                    yield ChangeSpec(
                        at=Duration(at_ns), link=name, node=node, conditions=conditions
                    )

    def _state_of(self, link: Joining, name: str, node: str) -> LinkState:
        """Return the state of a node's end of a link.

        A cable between two has no carrier at either end if one of them is without power; others
        are on a switch.
        """
        without_power = self.dead & (set(link.members) if link.is_pair else {node})
        if without_power:
            return "down"
        cable = self.cables[node, name]
        return "silent" if node in self.frozen and cable == UP else cable
