"""The command line: verbs parse their arguments and call `delaylab.verbs`."""

from __future__ import annotations

import errno
import sys
from copy import copy

import typer
from typer.main import get_command_name

# Importing a module registers its verbs.
from delaylab.cli import breaking, checking, inside, mapping, pinging, running, watching  # noqa: F401
from delaylab.cli.groups import put_into_groups
from delaylab.cli.options import app
from delaylab.errors import DelaylabError
from delaylab.extras import needed
from delaylab.io.terminal import give_up_output, print_error

__all__ = ["app", "main", "whole"]
put_into_groups(app)
OUT_OF_MEMORY = "there is not enough memory for this (free some, or raise the limit: ulimit -v)"
MOST_ERRORS = 20
"""The most errors of one file that are printed."""


def main() -> None:
    """Run the command line; print errors that a user can correct, a line each."""
    try:
        try:
            with needed(" ".join(["`delaylab", *sys.argv[1:2]]) + "`"):
                _with_verb(sys.argv[1:])(prog_name="delaylab")
        finally:
            sys.stdout.flush()
    except DelaylabError as error:
        for one in error.all[:MOST_ERRORS]:
            print_error(f"delaylab: {one}")
        if len(error.all) > MOST_ERRORS:
            print_error(f"delaylab: and {len(error.all) - MOST_ERRORS} more errors")
        sys.exit(error.exit_code)
    except MemoryError:
        print_error(f"delaylab: {OUT_OF_MEMORY}")
        sys.exit(1)
    except OSError as error:
        give_up_output()
        if not isinstance(error, BrokenPipeError):
            print_error(f"delaylab: {_of_system(error)}")
        sys.exit(1)


def _with_verb(words: list[str]) -> typer.Typer:
    """Return the application with only the verb that the words begin with, if they do.

    Typer reads the signatures of all verbs that the application has, which takes 20 ms: a sixth of
    the time of `delaylab --version`.
    """
    first = words[0] if words else ""
    one = _only(first)
    if first == "--version" or _has_verbs(one):
        return one
    add_others(first)
    one = _only(first)
    return one if _has_verbs(one) else app


def _only(verb: str) -> typer.Typer:
    """Return the application with the verb of this name alone, if it is registered."""
    one = copy(app)
    one.registered_commands = [
        command
        for command in app.registered_commands
        if verb == (command.name or get_command_name(getattr(command.callback, "__name__", "")))
    ]
    one.registered_groups = [each for each in app.registered_groups if each.name == verb]
    return one


def _has_verbs(one: typer.Typer) -> bool:
    """Return True if an application has a verb."""
    return bool(one.registered_commands or one.registered_groups)


def whole() -> typer.Typer:
    """Return the application with all verbs, also those that other packages add."""
    add_others()
    return app


def add_others(verb: str = "") -> None:
    """Register the verb of this name that another package adds; without one, register all."""
    # Most verbs are the laboratory's, and to look for others takes 10 ms.
    from delaylab import extensions

    if extensions.load(extensions.Additions.VERBS, verb) is None:
        extensions.load_all(extensions.Additions.VERBS)


def _of_system(error: OSError) -> str:
    """Return an error of the system that no verb explained, in one line."""
    why = error.strerror or str(error)
    if error.errno in (errno.EMFILE, errno.ENFILE):
        why += " (raise the limit on open files: ulimit -n)"
    return f"{error.filename}: {why}" if error.filename else why
