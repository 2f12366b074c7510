"""The command line: verbs parse their arguments and call `delaylab.verbs`."""

from __future__ import annotations

import sys

# Importing a module registers its verbs, in the order in which `--help` lists them.
from delaylab.cli import measuring, pinging, running  # noqa: F401
from delaylab.cli.options import app
from delaylab.errors import DelaylabError
from delaylab.io.terminal import print_error

__all__ = ["app", "main"]
MOST_ERRORS = 20
"""The most errors of one file that are printed."""


def main() -> None:
    """Run the command line; print errors that a user can correct, a line each."""
    try:
        app(prog_name="delaylab")
    except DelaylabError as error:
        for one in error.all[:MOST_ERRORS]:
            print_error(f"delaylab: {one}")
        if len(error.all) > MOST_ERRORS:
            print_error(f"delaylab: and {len(error.all) - MOST_ERRORS} more errors")
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.exit(1)
