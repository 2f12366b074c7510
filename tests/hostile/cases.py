"""A case of this corpus: how it comes into a folder, and what the command line says of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests import synthetic
from tests.hostile.dataset import refused

Build = Callable[[Path], list[str]]
"""Put a case into a folder; return the command's arguments."""


@dataclass(frozen=True)
class Case:
    name: str
    says: str
    build: Build


def made_of(change: refused.Change, *verb: str) -> Build:
    def build(folder: Path) -> list[str]:
        place = folder / "run"
        shutil.copytree(valid(folder.parent), place)
        change(place)
        return [*verb, str(place)]

    return build


def valid(folder: Path) -> Path:
    """The dataset that all others are made of: made once, before them."""
    place = folder / "valid"
    if not place.exists():
        loads = ("rest", "cpu")
        synthetic.write(place, [synthetic.Condition(load=load, packets=20) for load in loads])
    return place


def written(text: str, *verb: str) -> Build:
    def build(folder: Path) -> list[str]:
        (folder / "file.yaml").write_text(text)
        return [*verb, str(folder / "file.yaml")]

    return build
