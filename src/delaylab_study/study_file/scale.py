"""Scales of a study: changes of the probe and of levels, and the combinations that are run."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace

from delaylab.api.documents import Document, Location, validate
from delaylab.api.errors import BadInput
from delaylab_study.study_file.model import Level, StudySpec
from delaylab_study.study_file.series import levels_of

Change = Callable[[dict[str, object], str, object, Location], None]
Block = dict[str, list[str]]
DESIGN, REPEAT = "design", "repeat"


@dataclass(frozen=True)
class Scaled:
    """A study at one scale: its probe and work as plain data, its factors, its design's blocks.

    `probe` is None if the study has none.
    """

    probe: dict[str, object] | None
    work: list[object]
    factors: dict[str, dict[str, Level]]
    design: list[Block]

    def runs(self, levels: dict[str, str]) -> bool:
        """Return True if a combination of levels is part of the design; without one, all are."""
        # Plain loops: a paper has thousands of combinations, of which few are run.
        for block in self.design:
            for factor, chosen in block.items():
                if levels[factor] not in chosen:
                    break
            else:
                return True
        return not self.design


def changeable(probe: dict[str, object] | None, work: list[object]) -> dict[str, object]:
    """Return the parts of a study that changes lead into, by name."""
    return {"work": work} if probe is None else {"probe": probe, "work": work}


def scaled(spec: StudySpec, document: Document, scale: str, change: Change) -> Scaled:
    """Return the study at a scale; raise BadInput for a scale that is unknown or invalid.

    A scale's entries are paths into the probe and the work, `factors.FACTOR.LEVEL` with the level's
    content at this scale, `repeat` (see `repeats`), and `design`: blocks of levels, of which every
    combination is run. A factor that a block leaves out contributes all its levels.
    """
    given = document.data.get("probe")
    probe = None if given is None else dict(given)
    work = deepcopy(document.data.get("work", []))
    if scale not in spec.scales:
        if scale == "quick":
            return Scaled(probe, work, spec.factors, [])
        known = ", ".join(dict.fromkeys(("quick", *spec.scales)))
        raise BadInput(f"study {spec.study!r} has no scale {scale!r}", fix=f"scales: {known}")
    given_factors = document.data.get("factors", {})
    factors = {name: dict(levels_of(levels)) for name, levels in given_factors.items()}
    design: list[Block] = []
    for path, value in spec.scales[scale].items():
        at: Location = ("scales", scale, path)
        if path == DESIGN:
            design = _design(value, spec, document, at)
        elif path == REPEAT:
            repeats(spec, document, scale)
        elif path.startswith("factors."):
            _, factor, level = (*path.split(".", 2), "", "")[:3]
            _known(factor, level, spec, document, at)
            factors[factor][level] = value
        else:
            change(changeable(probe, work), path, value, at)
    said = replace(document, data={**document.data, "factors": factors})
    return Scaled(probe, work, validate(StudySpec, said).factors, design)


def repeats(spec: StudySpec, document: Document, scale: str) -> int:
    """Return how often a scale runs each combination; raise BadInput if it is not at least 1."""
    found = spec.scales.get(scale, {}).get(REPEAT, spec.repeat)
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise document.refuse(f"{REPEAT}: {found!r} is not 1 or more", ("scales", scale, REPEAT))
    return found


def _design(value: object, spec: StudySpec, document: Document, at: Location) -> list[Block]:
    blocks = value if isinstance(value, list) else [value]
    found: list[Block] = []
    for index, block in enumerate(blocks):
        if not isinstance(block, dict) or not all(isinstance(v, list) for v in block.values()):
            fix = "- {factor: [level, level], factor: [level]}"
            raise document.refuse("a design is a list of blocks", (*at, index), fix)
        for factor, levels in block.items():
            for level in levels:
                _known(factor, str(level), spec, document, (*at, index, factor))
        found.append({factor: [str(level) for level in levels] for factor, levels in block.items()})
    return found


def _known(factor: str, level: str, spec: StudySpec, document: Document, at: Location) -> None:
    if factor not in spec.factors:
        raise document.refuse(f"no factor {factor!r}", at, ", ".join(spec.factors))
    if level not in spec.factors[factor]:
        known = ", ".join(spec.factors[factor])
        raise document.refuse(f"factor {factor!r} has no level {level!r}", at, known)
