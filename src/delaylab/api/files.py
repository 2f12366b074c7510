"""Files, written whole or not at all, and the types of JSON values."""

from __future__ import annotations

from delaylab.io.columns import columns
from delaylab.io.files import (
    check_file,
    check_own_folder,
    empty_folder,
    new_folder,
    own_folder,
    read_text,
    write_new,
    write_text,
)
from delaylab.io.interrupts import deferred
from delaylab.io.printable import is_name, one_line, printable
from delaylab.io.programs import started
from delaylab.io.removal import remove_tree
from delaylab.io.side_by_side import side_by_side
from delaylab.io.values import Json, JsonObject

__all__ = [
    "Json",
    "JsonObject",
    "check_file",
    "check_own_folder",
    "columns",
    "deferred",
    "empty_folder",
    "is_name",
    "new_folder",
    "one_line",
    "own_folder",
    "printable",
    "read_text",
    "remove_tree",
    "side_by_side",
    "started",
    "write_new",
    "write_text",
]
