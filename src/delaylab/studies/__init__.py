"""Shipped studies: the papers as study files."""

from __future__ import annotations

from pathlib import Path

from delaylab.errors import BadInput

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Return the names of the shipped studies."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def find(text: str) -> Path:
    """Return the path of a shipped study, given by name, or of a file, given by path.

    Raise BadInput if there is neither.
    """
    shipped = FOLDER / f"{text}.yaml"
    if "/" not in text and shipped.exists():
        return shipped
    path = Path(text)
    if path.exists():
        return path
    raise BadInput(f"no study {text!r}", fix=f"a file, or one of: {', '.join(names())}")
