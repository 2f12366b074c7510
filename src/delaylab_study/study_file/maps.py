"""Maps in study files: `lab:` may name a map or a generator, and so may the levels of a factor.

They become plain labs before the study is read. What a dataset keeps of a study therefore needs
neither the map nor the package that it came from.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from delaylab.api.documents import Document, Location
from delaylab.api.errors import DelaylabError
from delaylab.api.generated import MapLab, generated_lab, named_lab
from delaylab_study.study_file.series import levels_of

LAB, GENERATE = "lab", "generate"
PARAMETER = f"{LAB}.{GENERATE}."
"""The beginning of a level's path to a parameter of the study's generated network."""
WHOLE = ("nodes", "links")
"""The parts of a lab that a level with a map of its own replaces."""


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
        written = {
            factor: _written_out(levels, document, ("factors", factor))
            for factor, levels in factors.items()
        }
        _check_factors(written, document)
        found["factors"] = {
            factor: _levels(levels, document, ("factors", factor))
            for factor, levels in written.items()
        }
    return replace(document, data=found)


def _written_out(levels: object, document: Document, at: Location) -> object:
    """Return levels by name also where a file gives the values of one parameter of a generator."""
    if not isinstance(levels, dict) or not str(levels.get("set")).startswith(PARAMETER):
        return levels
    try:
        written: object = levels_of(levels)
    except ValueError as error:
        raise document.refuse(str(error), at) from None
    return written


def _check_factors(factors: Mapping[str, object], document: Document) -> None:
    """Refuse two factors of which one changes a parameter and the other the network, too.

    Each level is a network of its own, so one would replace what the other says.
    """
    parameters, whole = (
        [factor for factor, levels in factors.items() if _any_level(levels, is_one)]
        for is_one in (_is_parameter, LAB.__eq__)
    )
    both = list(dict.fromkeys([*parameters, *whole]))
    if parameters and len(both) > 1:
        what = f"factors {both[0]!r} and {both[1]!r} both change the generated network"
        fix = "put all its parameters into the levels of one factor"
        raise document.refuse(what, ("factors", both[1]), fix)


def _any_level(levels: object, is_one: Callable[[str], bool]) -> bool:
    contents = levels.values() if isinstance(levels, dict) else ()
    return any(is_one(str(path)) for each in contents if isinstance(each, dict) for path in each)


def _is_parameter(path: str) -> bool:
    return path.startswith(PARAMETER)


def _levels(levels: object, document: Document, at: Location) -> object:
    if not isinstance(levels, dict):
        return levels
    return {level: _level(content, document, (*at, level)) for level, content in levels.items()}


def _level(content: object, document: Document, at: Location) -> object:
    if not isinstance(content, dict):
        return content
    parameters = {path: value for path, value in content.items() if _is_parameter(str(path))}
    if parameters:
        return _with_parameters(content, parameters, document, at)
    if LAB not in content:
        return content
    made = _lab(content[LAB], document, (*at, LAB))
    if made is None:
        fix = "such as `{generate: {fat-tree: {k: 8}}}`"
        raise document.refuse("the `lab` of a level is a map or a generator", (*at, LAB), fix)
    return _in_place_of(made, content, {LAB})


def _with_parameters(
    content: Mapping[str, object],
    parameters: Mapping[str, object],
    document: Document,
    at: Location,
) -> dict[str, object]:
    """Return a level with the study's generated network, of which it changes parameters."""
    first = (*at, next(iter(parameters)))
    if LAB in content:
        fix = "give `lab` all parameters, or leave it out"
        raise document.refuse("the level has a `lab` of its own", first, fix)
    whole = document.data
    lab = whole.get(LAB) if isinstance(whole, dict) else None
    given = lab.get(GENERATE) if isinstance(lab, dict) and set(lab) == {GENERATE} else None
    if not isinstance(given, dict) or len(given) != 1:
        fix = "say `lab: {generate: {line: {nodes: 3}}}`"
        raise document.refuse("the study's `lab` is not generated", first, fix)
    ((shape, sizes),) = given.items()
    changed = {path.removeprefix(PARAMETER): value for path, value in parameters.items()}
    sizes = {**(sizes if isinstance(sizes, dict) else {}), **changed}
    made = _lab({GENERATE: {shape: sizes}}, document, first)
    assert made is not None
    return _in_place_of(made, content, parameters.keys())


def _in_place_of(
    made: MapLab, content: Mapping[str, object], paths: Collection[str]
) -> dict[str, object]:
    """Return a level with the nodes and links of a map in place of what it says at some paths."""
    others = {path: value for path, value in content.items() if path not in paths}
    return {**{part: made.data[part] for part in WHOLE}, **others}


def _lab(given: object, document: Document, at: Location) -> MapLab | None:
    """Return the lab of a map or a generator; None for a lab file, or a lab itself."""
    try:
        if isinstance(given, str):
            return named_lab(given, document.folder)
        if isinstance(given, dict) and set(given) == {GENERATE}:
            return generated_lab(given[GENERATE])
    except DelaylabError as error:
        # The line is that of the study, whose user may not know the map.
        place = f"{error.where}: " if error.where else ""
        kind = type(error)
        raise kind(f"{place}{error.what}", document.where(at), error.fix) from None
    return None
