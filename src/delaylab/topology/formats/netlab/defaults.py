"""Files of defaults that netlab reads beside a topology."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from delaylab.errors import BadInput
from delaylab.io.files import read_bytes
from delaylab.spec import source as yaml_source
from delaylab.topology.formats.containerlab.tree import tree_of
from delaylab.topology.formats.folder import is_beside
from delaylab.topology.formats.netlab.shape import Leaves, leaves
from delaylab.topology.source import MOST_BYTES

DEFAULTS = "topology-defaults.yml"
"""The file of defaults that netlab reads without being told of it."""


def beside(name: str, extra: Sequence[str]) -> Leaves:
    """Return what the files of defaults beside a topology say."""
    found: Leaves = {}
    for each in (DEFAULTS, *(file for file in extra if file and "/" not in file)):
        path = Path(name).with_name(each)
        if is_beside(path):
            source = _file_beside(path)
            found |= leaves(tree_of(yaml_source.parse(source, str(path)), source))
    found.pop((), None)
    return found


def _file_beside(path: Path) -> str:
    try:
        return read_bytes(path, MOST_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput("cannot be read: it is not UTF-8", str(path)) from None
