"""Maps of networks for the API: imported and generated labs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from delaylab.api.loading import File, Lab
from delaylab.errors import BadInput
from delaylab.resolve.load import lab_from
from delaylab.topology.generators import NetworkRequest
from delaylab.topology.lab import MapLab
from delaylab.topology.options import Coordinates, Costs, Options, Shape
from delaylab.topology.summary import summary
from delaylab.topology.text import text_of
from delaylab.units import Duration
from delaylab.verbs import maps


@dataclass(frozen=True, slots=True)
class LabFile:
    """A lab that was made of a map: the lab, its file's text, and what the making remarks.

    The remarks are those that `delaylab import` prints: numbers, assumptions, malformed lines.
    """

    lab: Lab
    text: str
    remarks: tuple[str, ...]


def import_map(  # noqa: PLR0913  one for each option of the verb
    source: File,
    *,
    name: str | None = None,
    format: str | None = None,
    kind: str = "netns",
    km_delay: str = "5us",
    delay_unit: str | None = None,
    delay: str | None = None,
    rate: bool = False,
    cost: Literal["source", "delay", "hops"] | None = None,
    coordinates: Literal["degrees", "plane"] | None = None,
    one_way: bool | None = None,
    shape: Literal["mesh", "star"] = "mesh",
) -> LabFile:
    """Return the lab of a published map, as `delaylab import` does.

    `source` is a file, a folder of Rocketfuel's, or a name such as `topohub:backbone/europe`. A
    latency matrix needs `one_way`: False if it counts round trips. Raise BadInput, with file and
    line, for a source that cannot be read, and NotHere if a collection is not installed.
    """
    options = Options(
        km_delay=_duration(km_delay, "km_delay"),
        delay_unit=None if delay_unit is None else _duration(delay_unit, "delay_unit"),
        delay=None if delay is None else _duration(delay, "delay"),
        rate=rate,
        cost=None if cost is None else Costs(cost),
        kind=kind,
        one_way=one_way,
        shape=Shape(shape),
        coordinates=None if coordinates is None else Coordinates(coordinates),
    )
    return _file(maps.imported(os.fspath(source), name, format, options))


def generate(  # noqa: PLR0913  as above
    shape: str,
    sizes: Mapping[str, float] | None = None,
    *,
    name: str | None = None,
    kind: str = "netns",
    seed: int = 1,
    delay: str | None = None,
    rate: str | None = None,
    cost: Literal["delay", "hops"] = "hops",
) -> LabFile:
    """Return a generated lab, as `delaylab generate` does: `generate("fat-tree", {"k": 4})`.

    A `delay` or a `rate` may be a range (`1ms..10ms`), from which each link draws its own. Raise
    BadInput for an unknown shape, and for sizes that it does not have.
    """
    request = NetworkRequest(shape, sizes or {}, seed, delay, rate)
    options = Options(cost=Costs(cost), kind=kind, rate=rate is not None)
    return _file(maps.generated(request, name, options))


def _duration(text: str, what: str) -> Duration:
    try:
        return Duration.parse(text)
    except ValueError as error:
        raise BadInput(str(error), what) from None


def _file(made: MapLab) -> LabFile:
    return LabFile(lab_from(made.document()), text_of(made), tuple(summary(made)))
