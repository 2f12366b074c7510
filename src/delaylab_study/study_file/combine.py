"""A study's factors -> its combinations, each with its lab, loads, probe and work."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from delaylab.api.documents import Document, Location
from delaylab.api.lab import Lab
from delaylab.api.lab_files import checked_lab, links_of, named_links, names_in, resolve
from delaylab.api.timeline import EventSpec
from delaylab_study.study_file.changed_loads import (
    LOADS_ROOT,
    LoadChange,
    changed,
    load_change,
    loads_of,
)
from delaylab_study.study_file.check_probe import is_counted, known_node, one_of, patient, probe_of
from delaylab_study.study_file.check_work import work_of
from delaylab_study.study_file.expand_jobs import expand_loads
from delaylab_study.study_file.loads import FramesLoad, HeldFramesLoad, LoadSpec, PairLoad
from delaylab_study.study_file.model import StudySpec
from delaylab_study.study_file.needs import needs
from delaylab_study.study_file.placed import StudyMachine, on_machine
from delaylab_study.study_file.probe import ProbeSpec
from delaylab_study.study_file.scale import changeable, scaled
from delaylab_study.study_file.trial_counts import check_trials
from delaylab_study.study_file.work import WorkSpec

if TYPE_CHECKING:
    from delaylab.api.files import JsonObject

SYSCTLS = "sysctls"
ROOTS = (
    *("nodes", "hosts", "links", "ip", "timeline", "routing", "engine", SYSCTLS),
    *("probe", "work"),
)
WHOLE = ("nodes", "links", "timeline")
"""Parts of a lab that a level may give as a whole: the nodes and links of another lab, events."""
OUTSIDE_OF_LAB = ("probe", "work")
"""Roots of paths that are the study's, not its lab's."""


@dataclass(frozen=True)
class Combination:
    """One level of every factor, with the lab, loads, probe (if any) and work that result."""

    levels: dict[str, str]
    lab: Lab
    loads: tuple[LoadSpec, ...]
    probe: ProbeSpec | None
    work: tuple[WorkSpec, ...] = ()

    @property
    def events(self) -> int:
        """Return the number of events: what the timeline has at one time is one."""
        return len({each.at.ns for each in self.lab.timeline if isinstance(each, EventSpec)})


@dataclass(frozen=True)
class StudyFile:
    """A study and the documents that it came from.

    `lab_document` is the lab's own file, or the study's where the lab is inline; `lab_at` is the
    lab's place in it. `machine` is the machine that is to carry the labs, None if they stay where
    they say.
    """

    spec: StudySpec
    document: Document
    lab_document: Document
    lab_at: Location
    machine: StudyMachine | None = None

    @property
    def lab_data(self) -> dict[str, object]:
        """Return the lab as plain data, before any factor changes it."""
        data: Any = self.lab_document.data
        for step in self.lab_at:
            data = data[step]
        return dict(data)


def combinations(study: StudyFile, scale: str) -> Iterator[Combination]:
    """Yield every combination of levels that a scale runs, in the order of the file.

    Raises BadInput if one of them is invalid.
    """

    def change(root: dict[str, object], path: str, value: object, at: Location) -> None:
        _change(root, path, value, study.document, at)

    this = scaled(study.spec, study.document, scale, change)
    check_trials(study.spec, study.document, scale, this)
    for names in itertools.product(*this.factors.values()):
        levels = dict(zip(this.factors, names, strict=True))
        if not this.runs(levels):
            continue
        lab = deepcopy(study.lab_data)
        probe, work = deepcopy(this.probe), deepcopy(this.work)
        lab.setdefault(SYSCTLS, {})
        loads: list[LoadSpec] = []
        of_loads: list[LoadChange] = []
        given: dict[Location, str] = {}
        for factor, level in levels.items():
            content = this.factors[factor][level]
            if isinstance(content, list):
                loads += content
                continue
            for path, value in content.items():
                at = ("factors", factor, level, path)
                if path == LOADS_ROOT:
                    loads += loads_of(value, study.document, at)
                elif path.startswith(f"{LOADS_ROOT}."):
                    of_loads.append(load_change(path, value, study.document, at))
                elif path in WHOLE:
                    lab[path] = deepcopy(value)
                    given[path,] = study.document.where(at)
                else:
                    parts = {**lab, **changeable(probe, work)}
                    place = _change(parts, path, value, study.document, at)
                    given[place] = study.document.where(at)
        loads = changed(loads, of_loads, study.document)
        if study.machine is not None:
            lab.update(on_machine(cast("JsonObject", lab), study.machine))
        yield _checked(
            study,
            levels,
            lab_data=lab,
            probe_data=probe,
            work_data=work,
            loads=tuple(loads),
            given=given,
        )


def _change(
    root: dict[str, object], path: str, value: object, document: Document, at: Location
) -> Location:
    """Change a value, and return its place."""
    *steps, last = _steps(path)
    place: Any = root
    location: list[str | int] = []
    try:
        for step in steps:
            key = _index(place, step) if isinstance(place, list) else step
            place = place[key]
            location.append(key)
        if steps and isinstance(place, dict):
            place[last] = deepcopy(value)  # later levels change it
            return (*location, last)
    except (KeyError, IndexError, ValueError, TypeError):
        pass
    raise document.refuse(
        f"{path!r} leads to nothing",
        at,
        f"begin with {', '.join(r + '.' for r in ROOTS if r in root)}",
    )


def _steps(path: str) -> list[str]:
    """Return the steps of a path.

    The name of a kernel setting, and the path of a node's file, have dots and are one step.
    """
    if path.startswith(f"{SYSCTLS}."):
        return path.split(".", 1)
    before, slash, file = path.partition("./")
    return [*before.split("."), *([f"/{file}"] if slash else [])]


def _index(items: list[object], step: str) -> int:
    """Return the index of an item of a list by its name, or else by its number."""
    named = (
        index
        for index, item in enumerate(items)
        if isinstance(item, dict) and item.get("name") == step
    )
    found = next(named, None)
    return int(step) if found is None else found


def _checked(
    study: StudyFile,
    levels: dict[str, str],
    *,
    lab_data: dict[str, object],
    probe_data: dict[str, object] | None,
    work_data: list[object],
    loads: tuple[LoadSpec, ...],
    given: dict[Location, str],
) -> Combination:
    """Return a combination; raise BadInput if it is invalid.

    `given` are the parts of lab, probe and work that its levels gave, each with its ``file:line``.
    """
    document = study.document
    lab_document = replace(
        study.lab_document,
        data=_put(study.lab_document.data, study.lab_at, lab_data),
        elsewhere={
            (*study.lab_at, *place): at
            for place, at in given.items()
            if place[0] not in OUTSIDE_OF_LAB
        },
    )
    lab = checked_lab(lab_document, study.lab_at)
    known, links = names_in(lab), links_of(lab, named_links(lab))
    probe = None if probe_data is None else probe_of(probe_data, given, lab, document)
    for load in loads:
        for node in load.nodes:
            known_node(lab, known, node, document, ("factors",))
    for load in loads:
        if isinstance(load, PairLoad) and is_counted(lab, load.to):
            raise document.refuse(f"{load.to!r} stands for many nodes (`count:`)", ("factors",))
        for link in (load.over or ()) if isinstance(load, FramesLoad) else ():
            one_of(link, list(links), document, "factors")
        for factor in (load.once_across or ()) if isinstance(load, HeldFramesLoad) else ():
            if factor not in levels:
                raise document.refuse(
                    f"`once_across` names no factor: {factor!r}",
                    ("factors",),
                    f"factors: {', '.join(levels)}",
                )
    work = work_of(work_data, given, lab, known, document)
    if (
        probe is None
        and not any(each.on for each in work)
        and not any(isinstance(each, EventSpec) for each in lab.timeline)
    ):
        what = (
            f"nothing is measured with {_named(levels)}: there is no probe, no node works, and the "
            "lab's timeline has no events"
        )
        fix = "give the study `probe` or `work`: loads alone have no end"
        raise document.refuse(what, ("work",), fix)
    whole = resolve(lab, needs(work))
    if probe is not None:
        probe = patient(probe, whole)
    return Combination(levels, whole, expand_loads(loads, known, links), probe, work)


def _named(levels: dict[str, str]) -> str:
    return ", ".join(f"{factor}={level}" for factor, level in levels.items()) or "these nodes"


def _put(data: Any, at: Location, value: object) -> object:
    if not at:
        return value
    return {**data, at[0]: _put(data[at[0]], at[1:], value)}
