"""The command line, for packages that add verbs (`delaylab.extensions`)."""

from __future__ import annotations

from delaylab.cli.groups import HelpGroup
from delaylab.cli.options import INTERRUPTED, Json, NamesLab, app, console, print_found, print_json
from delaylab.io.terminal import print_error

__all__ = [
    "INTERRUPTED",
    "HelpGroup",
    "Json",
    "NamesLab",
    "app",
    "console",
    "print_error",
    "print_found",
    "print_json",
]
