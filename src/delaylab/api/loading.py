"""Lab files for the API."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from delaylab.errors import BadInput
from delaylab.resolve.lab import Lab
from delaylab.resolve.load import lab_from
from delaylab.spec.source import of_data, read

__all__ = ["Lab", "load"]

File = str | os.PathLike[str]
Data = Mapping[str, object]
"""A lab or a study as Python objects, in the form of its file."""


def load(path: File | Data) -> Lab:
    """Return the checked lab of a file, or of the same data as Python objects.

    Raise BadInput, with file and line, for an invalid file. `delaylab_study.load` reads studies.
    """
    if isinstance(path, Mapping):
        document = of_data("the given data", dict(path))
    else:
        document = read(Path(path))
    if isinstance(document.data, dict) and "study" in document.data:
        raise BadInput("it is a study, not a lab", document.name, "delaylab_study.run")
    return lab_from(document)


def lab_of(given: Lab | File) -> Lab:
    """Return a lab that is given as such or by its file; raise BadInput for a study."""
    return load(given) if isinstance(given, str | os.PathLike) else given
