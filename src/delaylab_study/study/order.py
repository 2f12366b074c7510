"""A study: factors × levels -> trials in a seeded random order, and the study's record."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from delaylab.api.documents import Document
from delaylab.api.errors import BadInput
from delaylab.api.files import empty_folder, new_folder, side_by_side
from delaylab.api.lab_files import MachineSpec
from delaylab.api.machines import LOCAL
from delaylab.api.records import MachineRecord
from delaylab.api.running import check_packages
from delaylab_study import loads
from delaylab_study.dataset import store
from delaylab_study.dataset.records.study import Extension, Origin, StudyRecord
from delaylab_study.study.identity import identity
from delaylab_study.study.study_lab import StudyLab
from delaylab_study.study_file.check_event_claims import check_event_claims
from delaylab_study.study_file.combine import Combination, StudyFile, combinations
from delaylab_study.study_file.load import study_from
from delaylab_study.study_file.scale import repeats

LONGEST_ID = 240
"""The longest id of a trial, in characters: it names the trial's directory."""
Placed = tuple[StudyLab, int, Combination]
"""A combination with its lab, and its place in the order of the file."""


@dataclass(frozen=True)
class Planned:
    """One trial to run; `place` is that of its combination in the order of the file.

    `lab` is shared by all trials whose labs are equal. `seed` is the study's.
    """

    id: str
    index: int
    repeat: int
    combination: Combination
    lab: StudyLab
    place: int = 0
    seed: int = 0

    @property
    def identity(self) -> str:
        """Return the hash of all that decides what is measured, and the repeat and the seed."""
        return identity(self.combination, self.repeat, self.seed)


def plan_trials(
    study: StudyFile, scale: str, only: dict[str, set[str]], repeat: int | None = None
) -> list[Planned]:
    """Return the trials to run, in running order: by repeat, shuffled by the seed.

    Within a repeat, trials of the same lab stay together so that they can share it: the labs are
    shuffled, and the trials of each lab. `only` has the wanted levels of some factors. Trials of
    other levels are left out of the whole study's order, which stays as it is. `repeat` is the
    number of trials of each combination if it is not that of the study: the order of the first
    repeats does not depend on how many follow.
    """
    _check_only(study, only)
    every = list(combinations(study, scale))
    check_event_claims(study.spec.claims, every, study.document)
    groups = _by_lab(every)
    order = random.Random(study.spec.seed)
    in_order = [
        (block, *each)
        for block in range(1, (repeat or repeats(study.spec, study.document, scale)) + 1)
        for each in _shuffled(groups, order)
    ]
    return [
        Planned(
            id=_id(study, block, each),
            index=index,
            repeat=block,
            combination=each,
            lab=lab,
            place=place,
            seed=study.spec.seed,
        )
        for index, (block, lab, place, each) in enumerate(in_order)
        if all(each.levels[factor] in levels for factor, levels in only.items())
    ]


def _id(study: StudyFile, repeat: int, combination: Combination) -> str:
    levels = [f"{factor}={level}" for factor, level in combination.levels.items()]
    name = ",".join([*levels, f"repeat={repeat}"])
    if len(name) > LONGEST_ID:
        what = f"a trial's id has {len(name)} characters, longer than {LONGEST_ID}"
        raise BadInput(what, study.document.name, "shorten factors' or levels' names")
    return name


def _by_lab(combinations: list[Combination]) -> list[list[Placed]]:
    """Return the combinations of each lab, in the order of the file."""
    groups: dict[str, list[Placed]] = {}
    for place, combination in enumerate(combinations):
        group = groups.setdefault(combination.lab.written.model_dump_json(), [])
        lab = group[0][0] if group else StudyLab(combination.lab)
        group.append((lab, place, combination))
    return list(groups.values())


def _shuffled(groups: list[list[Placed]], order: random.Random) -> Iterator[Placed]:
    labs = [list(group) for group in groups]
    order.shuffle(labs)
    for group in labs:
        order.shuffle(group)
        yield from group


def _check_only(study: StudyFile, only: dict[str, set[str]]) -> None:
    for factor, levels in only.items():
        known = study.spec.factors.get(factor)
        if known is None:
            names = ", ".join(study.spec.factors)
            what = f"study {study.spec.study!r} has no factor {factor!r}"
            raise BadInput(what, fix=f"one of: {names}")
        for level in sorted(levels - set(known)):
            what = f"factor {factor!r} has no level {level!r}"
            raise BadInput(what, fix=f"one of: {', '.join(known)}")


def begin(
    study: StudyFile,
    scale: str,
    planned: list[Planned],
    out: Path | None,
    *,
    repeat: int | None = None,
    like: Origin | None = None,
) -> Path:
    """Create the dataset's directory and return it: `out`, or one in `results` with the time.

    `repeat` is the number of trials of each combination if it is not that of the study file, `like`
    the dataset whose study this one repeats. Raises BadInput if that is impossible, or if `out` is
    not empty.
    """
    spec = study.spec
    loads.require_tools(item.combination for item in planned)
    check_packages(item.combination.lab for item in planned)
    machines = {LOCAL.name: LOCAL.describe(), **_others(planned)}
    if out is None:
        stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
        out = new_folder(Path("results") / f"{spec.study}-{stamp}")
    else:
        empty_folder(out)
    record = store.study_record(
        {
            "format": store.FORMAT,
            "study": spec.study,
            "title": spec.title,
            "seed": spec.seed,
            "scale": scale,
            "spec": resolved(study),
            "factors": {factor: list(levels) for factor, levels in spec.factors.items()},
            "claims": [each if isinstance(each, str) else each.claim for each in spec.claims],
            "own_claims": [
                claim.model_dump(mode="json", by_alias=True, exclude_none=True)
                for claim in spec.claims
                if not isinstance(claim, str)
            ],
            "planned": [p.id for p in planned],
            "machines": machines,
            "created": now(),
            "repeat": repeat,
            "like": like,
        }
    )
    store.write_study(out, record)
    return out


def _others(planned: Iterable[Planned]) -> dict[str, MachineRecord]:
    """Return what the other machines of the trials' labs say of themselves, by name."""
    targets = {
        name: lab.machines[name]
        for lab in {id(each.combination.lab): each.combination.lab for each in planned}.values()
        for name in lab.machines_used
    }
    if not targets:
        return {}
    from delaylab.api.machines import SshMachine, reach_of  # noqa: PLC0415  few labs need it

    def described(machine: tuple[str, MachineSpec]) -> MachineRecord:
        name, spec = machine
        reached = SshMachine(name, reach_of(spec))
        try:
            return reached.describe()
        finally:
            reached.close()

    return dict(zip(targets, side_by_side(described, targets.items()), strict=True))


def extend(directory: Path, study: StudyFile, repeat: int) -> None:
    """Add repeats to a dataset: `repeat` trials of each combination that it has.

    The record says when they were added, and how many trials were finished then. Raise BadInput if
    the dataset has more repeats, DelaylabError if another run measures into it.
    """
    with store.locked(directory):
        record = store.read_study(directory).record
        before = record.repeat or repeats(study.spec, study.document, record.scale)
        if repeat < before:
            what = f"the study has {before} trials of each combination; --repeat {repeat} is fewer"
            raise BadInput(what, str(directory), "give a larger number, or leave --repeat out")
        if repeat == before:
            return
        planned = planned_like(study, record, repeat)
        more = Extension(
            added=now(),
            before=before,
            repeat=repeat,
            finished=len(store.finished(directory)),
            machine=LOCAL.describe(),
        )
        update = {
            "planned": [each.id for each in planned],
            "repeat": repeat,
            "extensions": [*record.extensions, more],
        }
        store.write_study(directory, record.model_copy(update=update))


def planned_like(study: StudyFile, record: StudyRecord, repeat: int | None = None) -> list[Planned]:
    """Return the trials with which a dataset was begun, or `repeat` of each of its combinations."""
    planned = plan_trials(study, record.scale, {}, repeat or record.repeat)
    wanted = set(record.planned)
    chosen = {each.place for each in planned if each.id in wanted}
    return [each for each in planned if each.place in chosen]


def study_in(record: StudyRecord, where: str) -> StudyFile:
    """Return the study that a record holds whole; `where` names the record in errors."""
    return study_from(Document(where, record.spec, {}))


def resolved(study: StudyFile) -> dict[str, object]:
    """Return the study as one document with its lab inline, which `--resume` reads back."""
    return {**study.document.data, "lab": study.lab_data}


def now() -> str:
    """Return the current time as records have it: ISO 8601, UTC, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
