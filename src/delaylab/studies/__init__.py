"""The studies that are shipped: papers as files."""

from __future__ import annotations

from pathlib import Path

from delaylab.errors import BadInput

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """The shipped studies."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def find(text: str) -> Path:
    """A shipped study by name, or a file by path."""
    shipped = FOLDER / f"{text}.yaml"
    if "/" not in text and shipped.exists():
        return shipped
    path = Path(text)
    if path.exists():
        return path
    raise BadInput(f"no study {text!r}", fix=f"a file, or one of: {', '.join(names())}")
