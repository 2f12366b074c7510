"""The study files of the papers, found by name."""

from __future__ import annotations

from pathlib import Path

from delaylab.errors import BadInput

FOLDER = Path(__file__).parent


def _shipped() -> dict[str, Path]:
    return {path.stem: path for path in FOLDER.glob("*/*.yaml")}


def names() -> list[str]:
    """Return the names of the shipped studies."""
    return sorted(_shipped())


def find(text: str) -> Path:
    """Return the path of a shipped study, given by name, or of a file, given by path.

    Raise BadInput if there is neither.
    """
    if text in (shipped := _shipped()):
        return shipped[text]
    path = Path(text)
    if path.exists():
        return path
    raise BadInput(f"no study {text!r}", fix=f"a file, or one of: {', '.join(names())}")
