"""Limits of what a study file expands to, checked before anything is expanded."""

from __future__ import annotations

import itertools
from math import prod

from delaylab.api.documents import Document, Location
from delaylab.api.errors import BadInput
from delaylab_study.study_file.model import StudySpec
from delaylab_study.study_file.scale import REPEAT, Scaled, repeats

MOST_COMBINATIONS = 500_000
"""The most combinations of levels, including those that a design leaves out."""
MOST_TRIALS = 100_000


def check_trials(spec: StudySpec, document: Document, scale: str, scaled: Scaled) -> None:
    """Raise BadInput for a study of more trials than can be listed, without listing them."""
    made = prod(len(levels) for levels in scaled.factors.values())
    if made > MOST_COMBINATIONS:
        what = f"the factors have {_few(made)} combinations; at most {MOST_COMBINATIONS}"
        raise document.refuse(what, ("factors",), "take out factors or levels")
    if scaled.design:
        names = itertools.product(*scaled.factors.values())
        made = sum(scaled.runs(dict(zip(scaled.factors, each, strict=True))) for each in names)
    times = repeats(spec, document, scale)
    if made * times > MOST_TRIALS:
        raise _too_many(made, times, spec, document, scale)


def _too_many(made: int, times: int, spec: StudySpec, document: Document, scale: str) -> BadInput:
    what = f"{_few(made)} combinations, each {_few(times)} times, are {_few(made * times)} trials"
    said: Location = (
        ("scales", scale, REPEAT) if REPEAT in spec.scales.get(scale, {}) else (REPEAT,)
    )
    at = said if times > made else ("factors",)
    return document.refuse(f"{what}; at most {MOST_TRIALS}", at, "take out levels or repeats")


def _few(number: int) -> str:
    """Return a number, however large, as a short text."""
    return str(number) if number < 10**12 else f"over 10^{len(f'{number:x}') * 6 // 5 - 2}"
