"""Changes of links' conditions by timelines, as a study file configured them."""

from __future__ import annotations

import json

from delaylab.api.documents import Document
from delaylab.api.errors import BadInput
from delaylab.api.timeline import ChangeSpec, HappeningSpec, MomentSpec
from delaylab_study.analysis.over_time.changes import NONE, ChangeInWords, Changes, may_have_changes
from delaylab_study.analysis.usable import usable
from delaylab_study.dataset.store import Study
from delaylab_study.study_file.combine import combinations
from delaylab_study.study_file.load import study_from

SECOND_NS = 10**9


def changes(study: Study) -> Changes:
    """Return a study's changes; none if this version cannot read its study file."""
    if not may_have_changes(study):  # to work out all combinations takes time
        return NONE
    document = Document(str(study.directory / "study.json"), study.record.spec, {})
    try:
        with usable(str(study.directory)):
            found = list(combinations(study_from(document), study.record.scale))
    except BadInput:
        return NONE
    return Changes(
        [(each.levels, [_moment(moment) for moment in each.lab.timeline]) for each in found]
    )


def _moment(spec: MomentSpec) -> ChangeInWords:
    if isinstance(spec, HappeningSpec):
        return ChangeInWords(spec.at.ns / SECOND_NS, spec.words)
    assert isinstance(spec, ChangeSpec)
    return _change(spec)


def _change(spec: ChangeSpec) -> ChangeInWords:
    conditions = spec.conditions.model_dump(mode="json", by_alias=True, exclude_unset=True)
    said = ", ".join(f"{name} {_in_words(value)}" for name, value in conditions.items())
    link = f"{spec.link} from {spec.node}" if spec.node else spec.link
    return ChangeInWords(spec.at.ns / SECOND_NS, f"{link}: {said}")


def _in_words(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, dict):
        # The share of a loss is what its short form gives: `loss: 1%`.
        parts = (
            _in_words(part) if name == "share" else _part(name, part)
            for name, part in value.items()
        )
        return " ".join(parts)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _part(name: str, value: object) -> str:
    return name if value is None else f"{name} {_in_words(value)}"
