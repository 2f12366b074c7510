"""Fields of lab, probe, loads and work that a dataset's study file configured for its trials."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from delaylab.api.documents import Document
from delaylab.api.errors import BadInput
from delaylab.api.lab import Lab
from delaylab.api.models import Spec
from delaylab_study.analysis.usable import usable
from delaylab_study.dataset.store import Study
from delaylab_study.study_file.combine import Combination, combinations
from delaylab_study.study_file.load import study_from

Fields = dict[str, str]
"""The name of each field, such as `nodes.probe.cpus`, and its value in words."""
NOT_SET = "not set"
RECORDED = ("probe.protocol", "probe.size", "probe.interval")
"""Fields whose values are compared as trials recorded them: a search may have chosen them."""
OF_LAB = ("lab", "hosts", "nodes", "links")
"""Fields of a lab that are not compared as one: its name, and parts that have fields themselves."""


def configured(study: Study) -> list[tuple[Mapping[str, str], Fields]]:
    """Return the levels of each combination, with the fields that it was configured with.

    Return an empty list if this version cannot read the study file, which another one wrote.
    """
    document = Document(str(study.directory / "study.json"), study.record.spec, {})
    try:
        with usable(str(study.directory)):
            found = list(combinations(study_from(document), study.record.scale))
    except BadInput:
        return []
    return [(each.levels, dict(_fields(each))) for each in found]


def _fields(combination: Combination) -> Iterator[tuple[str, str]]:
    lab, probe = combination.lab, combination.probe
    recorded = set(RECORDED)
    if probe is not None:
        recorded |= {f"nodes.{node}.kind" for node in (probe.sender, probe.to)}
        yield from _known(_of_spec("probe", probe), recorded)
    yield from _known(_of_lab(lab), recorded)
    for index, load in enumerate(combination.loads, start=1):
        yield from _of_spec(f"load {index}", load)
    for work in combination.work:
        yield from _of_spec(f"work {work.name}", work)


def _known(fields: Iterator[tuple[str, str]], recorded: set[str]) -> Iterator[tuple[str, str]]:
    return ((name, value) for name, value in fields if name not in recorded)


def _of_lab(lab: Lab) -> Iterator[tuple[str, str]]:
    for name, host in lab.hosts.items():
        yield from _of_spec(f"hosts.{name}", host)
    for name, node in lab.nodes.items():
        yield from _of_spec(f"nodes.{name}", node)
    for name, link in zip(lab.links, lab.written.links, strict=True):
        yield from _of_spec(f"links.{name}", link)
    for name, value in _dumped(lab.written).items():
        if name not in OF_LAB:
            yield name, _in_words(value)


def _of_spec(of: str, spec: Spec) -> Iterator[tuple[str, str]]:
    return ((f"{of}.{name}", _in_words(value)) for name, value in _dumped(spec).items())


def _dumped(spec: Spec) -> dict[str, object]:
    return spec.model_dump(mode="json", by_alias=True)


def _in_words(value: object) -> str:
    """Write a field's value: words as they are, lists with commas, else as JSON."""
    if value is None or value in ([], {}):
        return NOT_SET
    if isinstance(value, str):
        return value
    if isinstance(value, list) and not any(isinstance(each, dict | list) for each in value):
        return ", ".join(map(str, value))
    return json.dumps(value, ensure_ascii=False)
