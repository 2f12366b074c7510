"""Maps and generators that a document names in place of a lab, as the `lab:` of a study may."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from delaylab.errors import BadInput
from delaylab.io.files import check_file, is_folder
from delaylab.topology import collections, formats
from delaylab.topology.generators import NetworkRequest, generate
from delaylab.topology.lab import MapLab, lab_of
from delaylab.topology.model import Map
from delaylab.topology.names import slug
from delaylab.topology.options import Costs, Options
from delaylab.topology.source import MOST_BYTES, read_source

OF_LINKS = ("seed", "delay", "rate", "cost", "name")
"""Settings of a generated lab that are no sizes of its shape."""


def named(name: str, folder: Path) -> MapLab | None:
    """Return the lab of a map, by a collection's name for it or its file; None for a lab file."""
    options = Options()
    if collections.is_named(name):
        return _made(collections.read_named(name, options), None, options)
    path = folder / name
    if not is_folder(path):
        try:
            check_file(path, MOST_BYTES)
        except BadInput:
            return None  # what reads lab files says what is wrong
    source = read_source(path)
    if formats.is_lab(source):
        return None
    return _made(formats.read(source, options), None, options)


def generated(given: object) -> MapLab:
    """Return the lab of a generator: one shape with its sizes. Raise BadInput if it has none."""
    if not isinstance(given, dict) or len(given) != 1:
        fix = "such as `{generate: {fat-tree: {k: 4, delay: 1ms}}}`"
        raise BadInput("`generate` has one shape, with its sizes", "", fix)
    ((shape, said),) = given.items()
    sizes: Mapping[str, object] = said if isinstance(said, dict) else {}
    plain = {key: value for key, value in sizes.items() if key not in OF_LINKS}
    delay, rate = (_text(sizes.get(key)) for key in ("delay", "rate"))
    seed = sizes.get("seed", 1)
    if not isinstance(seed, int) or seed < 0:
        raise BadInput(f"`seed` is a whole number, got {str(seed)[:40]!r}")
    cost = sizes.get("cost", Costs.HOPS)
    if cost not in (Costs.HOPS, Costs.DELAY):
        raise BadInput(f"`cost` is hops or delay, got {str(cost)[:40]!r}")
    request = NetworkRequest(str(shape), plain, seed, delay, rate)
    options = Options(cost=Costs(str(cost)), rate=rate is not None)
    return _made(generate(request), _text(sizes.get("name")), options)


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _made(found: Map, name: str | None, options: Options) -> MapLab:
    return lab_of(found, name or slug(found.name) or "map", options)
