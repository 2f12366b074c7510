"""Places of nodes in drawings, kept from one drawing of a lab file to the next.

They are in the user's cache, not beside the lab file, which may be in a repository or read-only. A
node that is added finds its place among the others, which stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError

from delaylab import images
from delaylab.errors import DelaylabError
from delaylab.io.files import read_text, write_new
from delaylab.units import MEBIBYTE

LARGEST = 4 * MEBIBYTE
MOST = 500
"""The most lab files whose places are kept; those that were drawn last."""


class _Places(BaseModel):
    """Places by the names of nodes, in lengths of a link."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    places: dict[str, tuple[FiniteFloat, FiniteFloat]]


def read(source: Path) -> dict[str, tuple[float, float]]:
    """Return the places that were kept of a lab file; none if there are none, or damaged ones."""
    try:
        return _Places.model_validate_json(read_text(_file(source), LARGEST)).places
    except (OSError, DelaylabError, ValidationError):
        return {}


def write(source: Path, places: Mapping[str, tuple[float, float]]) -> None:
    """Keep places for the next drawing; a cache that cannot be written keeps none."""
    with suppress(OSError, DelaylabError):
        file = _file(source)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_new(file, _Places(places=dict(places)).model_dump_json().encode())
        kept = sorted(file.parent.glob("places-*.json"), key=lambda each: each.stat().st_mtime_ns)
        for old in kept[:-MOST]:
            old.unlink(missing_ok=True)


def _file(source: Path) -> Path:
    digest = sha256(str(source.resolve()).encode()).hexdigest()[:16]
    return images.folder() / f"places-{digest}.json"
