"""Models of a lab's timeline: changes of conditions, and events of links, nodes and programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from delaylab.spec.base import LinkCost, Name, Names
from delaylab.spec.conditions.model import ConditionsSpec
from delaylab.spec.variants import Variants
from delaylab.units import Duration

LinkDeed = Literal["down", "silence", "up", "flap"]
LINK_DEEDS: tuple[LinkDeed, ...] = ("down", "silence", "up", "flap")
NodeDeed = Literal["stop", "kill", "start", "restart"]
NODE_DEEDS: tuple[NodeDeed, ...] = ("stop", "kill", "start", "restart")
COST_DEED: Literal["cost"] = "cost"
SECOND = Duration(1_000_000_000)
ProgramNames = Annotated[
    list[Annotated[str, StringConstraints(min_length=1, max_length=100)]], Field(min_length=1)
]


def _some(names: list[str] | None) -> bool:
    return names is not None


class MomentSpec(Variants):
    """A moment of the timeline: a change of a link's conditions, or an event of links or nodes.

    Moments of the same time are one: all of it happens at once.
    """

    at: Duration = Field(
        description="The time, counted from the start of the lab; in a trial from the start of the "
        "trial, and again from the start of the load. Of a lab with routing daemons or with events "
        "of nodes it counts from when the lab is ready, and in a trial from the start of the load."
    )

    @classmethod
    def variant_of(cls, said: Mapping[str, object]) -> type[MomentSpec]:
        """Return the class of a moment, by its fields."""
        links = [name for name in LINK_DEEDS if name in said]
        nodes = [name for name in NODE_DEEDS if name in said]
        others = ("link" in said or "set" in said) + (COST_DEED in said)
        if len(links) + len(nodes) + others != 1:
            deeds = ", ".join((*LINK_DEEDS, COST_DEED, *NODE_DEEDS))
            raise ValueError(f"a moment is `link` with `set`, or exactly one of {deeds}")
        if COST_DEED in said:
            return CostEventSpec
        return LinkEventSpec if links else NodeEventSpec if nodes else ChangeSpec

    @classmethod
    def refusal(cls, name: str) -> str:
        """Return the error text for a field that this moment does not have."""
        owners = {
            "for": "`flap` and `restart`",
            "programs": "`stop`, `kill`, `start` and `restart`",
        }
        return f"only {owners.get(name, 'a change with `link` and `set`')} may have `{name}`"


class ChangeSpec(MomentSpec):
    """A change of a link's conditions while the lab runs; conditions that it does not name stay."""

    link: Name = Field(description="The name of the link to change.")
    node: Name | None = Field(
        None, description="Change only the direction from this node; left out, all directions."
    )
    to: Name | None = Field(
        None,
        description="Change what this node receives, in place of what nodes send. The link must "
        "have conditions for it (`to`), or get them by the timeline.",
    )
    conditions: ConditionsSpec = Field(
        alias="set", description="The conditions to change; those that are not named stay."
    )

    @model_validator(mode="after")
    def _one_end(self) -> Self:
        if self.node is not None and self.to is not None:
            raise ValueError(
                "a change has either `node` (what it sends) or `to` (what it receives)"
            )
        return self


class EventSpec(MomentSpec):
    """An event of links or nodes."""

    length: Duration | None = Field(
        None,
        alias="for",
        description="Of `flap` and `restart`: how long links are down, nodes without power, "
        "programs not running; left out, 1 s.",
    )

    @property
    def back_after(self) -> Duration:
        """Return the time until what a `flap` or a `restart` took away is back."""
        return self.length or SECOND

    def _check_length(self, *, returns: bool) -> None:
        if self.length is not None and not returns:
            raise ValueError(self.refusal("for"))
        if self.length is not None and not self.length.ns:
            raise ValueError("`for` is more than 0")


class LinkEventSpec(EventSpec):
    """An event of links."""

    down: Names | None = Field(
        None,
        min_length=1,
        description="These links lose their carrier at all ends, as if the cable were pulled.",
    )
    silence: Names | None = Field(
        None,
        min_length=1,
        description="What is sent over these links vanishes, and their carrier stays.",
    )
    up: Names | None = Field(None, min_length=1, description="These links are whole again.")
    flap: Names | None = Field(
        None, min_length=1, description="These links go down, and up again after the time `for`."
    )

    @model_validator(mode="after")
    def _length(self) -> Self:
        self._check_length(returns=self.flap is not None)
        return self

    @property
    def did(self) -> LinkDeed:
        """Return what happens."""
        return next(name for name in LINK_DEEDS if _some(getattr(self, name)))

    @property
    def links(self) -> list[str]:
        """Return the links that it happens to."""
        return list(getattr(self, self.did))

    @property
    def words(self) -> str:
        """Return it in words: `down north, east`."""
        return f"{self.did} {', '.join(self.links)}"


class CostEventSpec(EventSpec):
    """A change of links' costs in routing daemons of OSPF and IS-IS."""

    cost: dict[Name, LinkCost | dict[Name, LinkCost]] = Field(
        min_length=1,
        description="The cost of each of these links from now on: `{l12: 100}`; of single ends "
        "`{l12: {r1: 100}}`.",
    )

    @model_validator(mode="after")
    def _length(self) -> Self:
        self._check_length(returns=False)
        return self

    @property
    def did(self) -> Literal["cost"]:
        """Return what happens."""
        return COST_DEED

    @property
    def links(self) -> list[str]:
        """Return the links that it happens to."""
        return list(self.cost)

    @property
    def ends(self) -> list[tuple[str, str | None, int]]:
        """Return each link, the node of an end of it or None for all ends, and the cost."""
        found: list[tuple[str, str | None, int]] = []
        for link, said in self.cost.items():
            if isinstance(said, dict):
                found += [(link, node, cost) for node, cost in said.items()]
            else:
                found.append((link, None, said))
        return found

    @property
    def names(self) -> list[str]:
        """Return the links with their costs: `l12=100`, of one end `l12:r1=100`."""
        return [
            f"{link}{'' if node is None else f':{node}'}={cost}" for link, node, cost in self.ends
        ]

    @property
    def words(self) -> str:
        """Return it in words: `cost l12=100`."""
        return f"{self.did} {', '.join(self.names)}"


class NodeEventSpec(EventSpec):
    """An event of nodes, or of their programs."""

    stop: Names | None = Field(
        None,
        min_length=1,
        description="Freeze these nodes: their programs do not run, and nothing that they send "
        "arrives, although their links keep the carrier.",
    )
    kill: Names | None = Field(
        None,
        min_length=1,
        description="Kill these nodes: their programs end at once, and their links lose the "
        "carrier, as without power.",
    )
    start: Names | None = Field(
        None,
        min_length=1,
        description="Start these nodes, which were stopped or killed: their links come back, and "
        "their programs go on or start again.",
    )
    restart: Names | None = Field(
        None,
        min_length=1,
        description="Kill these nodes, and start them again after the time `for`.",
    )
    programs: ProgramNames | None = Field(
        None,
        description="Of a node's event: it happens to these programs of the nodes alone, such as "
        "`[ospfd]`. The links stay as they are.",
    )

    @model_validator(mode="after")
    def _length(self) -> Self:
        self._check_length(returns=self.restart is not None)
        return self

    @property
    def did(self) -> NodeDeed:
        """Return what happens."""
        return next(name for name in NODE_DEEDS if _some(getattr(self, name)))

    @property
    def nodes(self) -> list[str]:
        """Return the nodes that it happens to."""
        return list(getattr(self, self.did))

    @property
    def words(self) -> str:
        """Return it in words: `kill r-1 (ospfd)`."""
        of = f" ({', '.join(self.programs)})" if self.programs else ""
        return f"{self.did} {', '.join(self.nodes)}{of}"


HappeningSpec = LinkEventSpec | NodeEventSpec | CostEventSpec
"""An event of one of the kinds."""
