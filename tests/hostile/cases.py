"""A case of this corpus: how it comes into a folder, and what the command line says of it."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests import synthetic
from tests.hostile.dataset import refused

Build = Callable[[Path], list[str]]
"""Put a case into a folder; return the command's arguments."""


MOST_READ = 10 << 20


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
        _sum_again(place)
        return [*verb, str(place)]

    return build


def _sum_again(place: Path) -> None:
    """Write the sums of the tables as they are now: a stranger's dataset has the right ones."""
    for file in place.glob("trials/*/*.parquet"):
        record = file.with_name("trial.json")
        if not (_is_small(file) and _is_small(record)):
            continue
        try:
            written = json.loads(record.read_text())
            tables = written["tables"]
        except (ValueError, TypeError, LookupError, RecursionError):
            continue
        if file.stem in tables:
            digest = hashlib.sha256(file.read_bytes()).hexdigest()
            tables[file.stem] = {"bytes": file.stat().st_size, "sha256": digest}
            record.write_text(json.dumps(written))


def _is_small(file: Path) -> bool:
    """Return True for a regular file that can be read whole; one is sparse, and of a terabyte."""
    return file.is_file() and file.stat().st_size < MOST_READ


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
