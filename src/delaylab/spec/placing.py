"""Form in which a lab file asks for a placement of its nodes."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from delaylab.spec.base import Name, Shorthand
from delaylab.units import Duration, Rate, Share

By = Literal["auto", "worst-fit", "metis", "exact"]


def _some(rate: Rate) -> Rate:
    if rate.bps == 0:
        raise ValueError("an interface of 0bit carries no link; leave it out")
    return rate


class InterfaceSpec(Shorthand):
    """An interface of a host towards other hosts, which the links that leave by it share."""

    MAIN: ClassVar[str] = "rate"
    rate: Annotated[Rate, AfterValidator(_some)] = Field(
        description="The rate of the interface in each direction, for all links together. A frame "
        "counts from its Ethernet header on, without preamble, check sequence and gap."
    )
    domain: Name = Field(
        "lan",
        description="The broadcast domain that the interface is in: only interfaces of one domain "
        "reach each other.",
    )
    queue: int = Field(
        1000,
        gt=0,
        le=1_000_000,
        description="The largest number of full-size frames of all links that wait for the rate, "
        "in each direction; frames beyond it are dropped.",
    )


class PlacementSpec(Shorthand):
    """The method by which nodes without a `host` get one."""

    MAIN: ClassVar[str] = "by"
    by: By = Field(
        "auto",
        description="The method. `worst-fit` is V-eM's: it evens out the load, whatever crosses "
        "between hosts. `metis` partitions the graph, so that little crosses. `exact` proves how "
        "good its answer is, for small labs. `auto` is `metis`, and `worst-fit` where hosts are in "
        "separate broadcast domains.",
    )
    slack: Share = Field(
        Share.of(0.1),
        description="How much more than the least possible load a host may carry, so that less "
        "traffic crosses between hosts. Not for `worst-fit`.",
    )
    together: Duration | None = Field(
        None,
        description="Nodes that a link with less one-way delay than this joins get the same host: "
        "between machines a link cannot be shorter than the network between them.",
    )
