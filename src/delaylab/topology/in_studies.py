"""Maps in study files: `lab:` may name a map or a generator, and so may the levels of a factor.

They become plain labs before the study is read. What a dataset keeps of a study therefore needs
neither the map nor the package that it came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from delaylab.errors import BadInput, DelaylabError
from delaylab.io.files import check_file, is_folder
from delaylab.spec.source import Document, Location
from delaylab.topology import collections, formats
from delaylab.topology.generators import Request, generate
from delaylab.topology.lab import MapLab, lab_of
from delaylab.topology.model import Map
from delaylab.topology.names import slug
from delaylab.topology.options import Costs, Options
from delaylab.topology.source import MOST_BYTES, read_source

LAB, GENERATE = "lab", "generate"
WHOLE = ("nodes", "links")
"""The parts of a lab that a level with a map of its own replaces."""
OF_LINKS = ("seed", "delay", "rate", "cost", "name")
"""Settings of a generated lab that are no sizes of its shape."""


def with_maps(document: Document) -> Document:
    """Return a study's document with a plain lab in place of each map; others as they are."""
    data = document.data
    if not isinstance(data, dict):
        return document
    found = dict(data)
    made = _lab(data.get(LAB), document, (LAB,))
    if made is not None:
        found[LAB] = made.data
    factors = data.get("factors")
    if isinstance(factors, dict):
        found["factors"] = {
            factor: _levels(levels, document, ("factors", factor))
            for factor, levels in factors.items()
        }
    return replace(document, data=found)


def _levels(levels: object, document: Document, at: Location) -> object:
    if not isinstance(levels, dict):
        return levels
    return {level: _level(content, document, (*at, level)) for level, content in levels.items()}


def _level(content: object, document: Document, at: Location) -> object:
    if not isinstance(content, dict) or LAB not in content:
        return content
    made = _lab(content[LAB], document, (*at, LAB))
    if made is None:
        fix = "such as `{generate: {fat-tree: {k: 8}}}`"
        raise document.refuse("the `lab` of a level is a map or a generator", (*at, LAB), fix)
    others = {path: value for path, value in content.items() if path != LAB}
    return {**{part: made.data[part] for part in WHOLE}, **others}


def _lab(given: object, document: Document, at: Location) -> MapLab | None:
    """Return the lab of a map or a generator; None for a lab file, or a lab itself."""
    try:
        if isinstance(given, str):
            return _named(given, document.folder)
        if isinstance(given, dict) and set(given) == {GENERATE}:
            return _generated(given[GENERATE])
    except DelaylabError as error:
        # The line is that of the study, whose user may not know the map.
        place = f"{error.where}: " if error.where else ""
        kind = type(error)
        raise kind(f"{place}{error.what}", document.where(at), error.fix) from None
    return None


def _named(name: str, folder: Path) -> MapLab | None:
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


def _generated(given: object) -> MapLab:
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
    request = Request(str(shape), plain, seed, delay, rate)
    options = Options(cost=Costs(str(cost)), rate=rate is not None)
    return _made(generate(request), _text(sizes.get("name")), options)


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _made(found: Map, name: str | None, options: Options) -> MapLab:
    return lab_of(found, name or slug(found.name) or "map", options)
