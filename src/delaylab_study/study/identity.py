"""Identity of a trial: a hash of all that decides what is measured.

Two trials of one identity are the same trial, whatever file and machine they come from. So to run a
study again into its dataset is to go on with it.
"""

from __future__ import annotations

import hashlib
import json

from pydantic import BaseModel

from delaylab_study.study_file.combine import Combination

LENGTH = 16
"""The number of hexadecimal digits: 64 bits, all of which no two trials of a study share."""


def identity(combination: Combination, repeat: int, seed: int) -> str:
    """Return the hash of a trial's resolved levels, its repeat and its study's seed."""
    parts = {
        "levels": combination.levels,
        "lab": _plain(combination.lab.written),
        "loads": [_plain(each) for each in combination.loads],
        "probe": None if combination.probe is None else _plain(combination.probe),
        "work": [_plain(each) for each in combination.work],
        "repeat": repeat,
        "seed": seed,
    }
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]


def _plain(model: BaseModel) -> object:
    return json.loads(model.model_dump_json())
