"""The application that carries all verbs, and the options that several of them have."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
import typer.core
from typer.core import TyperCommand
from typer.main import get_command

from delaylab.cli.groups import place
from delaylab.errors import BadInput, did_you_mean, is_near
from delaylab.io.terminal import json_text, print_error

if TYPE_CHECKING:
    from rich.console import Console

INTERRUPTED = 130
T = TypeVar("T")


class Verbs(typer.core.TyperGroup):
    """The group of all verbs: Ctrl-C ends a verb with one line and the usual exit code."""

    def main(self, *args: Any, **more: Any) -> Any:
        """Parse the command line and run its verb; print the line for Ctrl-C if no verb did."""
        try:
            return super().main(*args, **more)
        except SystemExit as end:
            # Typer turns Ctrl-C into exit code 130, and prints nothing.
            if end.__context__ and isinstance(end.__context__.__cause__, KeyboardInterrupt):
                print_error("delaylab: interrupted")
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run the verb that the command line names."""
        with near_options_only():
            return super().invoke(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the verb that the command line names; suggest one only if it is near."""
        known = self.list_commands(ctx)
        if args[0] not in known and not args[0].startswith("-"):
            ctx.fail(f"No such command {args[0]!r}{did_you_mean(args[0], known) or '.'}")
        return super().resolve_command(ctx, args)


class AllVerbs(Verbs):
    """The group of all verbs of the command line, which has an order of its own."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the verbs by their groups."""
        names = super().list_commands(ctx)
        panels = {name: getattr(self.commands[name], "rich_help_panel", None) for name in names}
        return sorted(names, key=lambda name: place(name, panels[name]))


@contextmanager
def near_options_only() -> Iterator[None]:
    """Let the error for an unknown option suggest an option only if it is near."""
    try:
        yield
    except Exception as error:
        # typer does not export the class of this error.
        name, suggested = getattr(error, "option_name", ""), getattr(error, "possibilities", None)
        if suggested:
            error.possibilities = [each for each in suggested if is_near(name, each)]  # type: ignore[attr-defined]
        raise


app = typer.Typer(
    name="delaylab",
    cls=AllVerbs,
    help="A laboratory for packet delay: build networks of containers and virtual machines, and "
    "measure which layer added each microsecond.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from delaylab.version import VERSION

        sys.stdout.write(f"delaylab {VERSION}\n")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print the version and exit.",
            callback=_print_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    """Take the options that stand before the verb."""


link = typer.Typer(
    cls=Verbs, help="Show or change the conditions of a running lab's links.", no_args_is_help=True
)
app.add_typer(link, name="link")


@cache
def console(*, stderr: bool = False) -> Console:
    """Return the console of standard output, or of standard error."""
    from delaylab.io.console import terminal

    return terminal(stderr=stderr)


Json = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]
LabFile = Annotated[Path, typer.Argument(metavar="LAB.yaml", help="The lab file.")]
LAB_OPTION = ("--lab", "-l")
LabOption = Annotated[
    str | None,
    typer.Option(*LAB_OPTION, help="The name of the lab; not needed if only one is up."),
]
OneLab = Annotated[
    str | None,
    typer.Argument(metavar="LAB", help="The name of the lab; not needed if only one is up."),
]
Sudo = Annotated[
    bool,
    typer.Option("--sudo", help="Start the agent on --machine as root by sudo (`sudo: true`)."),
]


class WithCommand(TyperCommand):
    """A verb that ends in a command with options of its own: what follows the node belongs to it.

    Only before `--` may the verb's own options come after the node.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments of the verb."""
        ctx.allow_interspersed_args = "--" in args
        return super().parse_args(ctx, args)


@cache
def _lab_option() -> Any:
    """Return the option `--lab` of a verb that has the lab as an argument."""
    one = typer.Typer(add_completion=False)

    @one.command()
    def _(
        lab: Annotated[
            str | None,
            typer.Option(
                *LAB_OPTION,
                metavar="LAB",
                help="The name of the lab, in place of the argument.",
                expose_value=False,
            ),
        ] = None,
    ) -> None:
        """Give the option."""

    return get_command(one).params[0]


class NamesLab(TyperCommand):
    """A verb whose first argument is a lab, which `--lab` may name as well, as for all verbs."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.params.append(_lab_option())

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments of the verb; a lab that the option names is the first of them."""
        given, _, _ = self.make_parser(ctx).parse_args(args=[*args])
        lab = given.get(_lab_option().name)
        if not isinstance(lab, str):
            lab = None if given.get("help") or ctx.resilient_parsing else self.left_out(given)
        elif lab.startswith("-"):
            ctx.fail(f"Option '--lab' needs the name of a lab, not {lab!r}.")
        return super().parse_args(ctx, args if lab is None else [lab, *args])

    def left_out(self, given: Mapping[str, object]) -> str | None:
        """Return the name of the lab if its argument was left out before others."""
        return None


class NamesLabFirst(NamesLab):
    """A verb that needs more arguments than the lab, which may be left out if only one is up."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.params[0].required = False

    def left_out(self, given: Mapping[str, object]) -> str | None:
        """Return the only lab that is up, unless the first argument is a lab's name.

        Raise BadInput if several are up and arguments are missing.
        """
        from delaylab.machines import running_labs

        first, second = (given.get(str(each.name)) for each in self.params[:2])
        if not isinstance(first, str):
            return None
        names = [lab.name for lab in running_labs()]
        if len(names) > 1 and first not in names and second is None:
            what = f"several labs are up: {', '.join(names)}"
            raise BadInput(what, fix="say which: --lab NAME")
        if first in names or len(names) != 1:
            return None
        return names[0]


class InOrder(NamesLab):
    """A verb whose options act in the order of the command line, which it finds in `ctx.meta`."""

    WORDS = "delaylab.words"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments of the verb, and keep them."""
        ctx.meta[self.WORDS] = tuple(args)
        return super().parse_args(ctx, args)


def in_order(words: Sequence[str], options: Collection[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the values of options by the order of the words, each value once.

    An option that is repeated at once has several; after another one it comes anew.
    """
    found: list[tuple[str, tuple[str, ...]]] = []
    left = iter(words)
    for word in left:
        if word == "--":
            break
        option, given, value = word.partition("=")
        if option not in options:
            continue
        value = value if given else next(left, "")
        if found and found[-1][0] == option:
            found[-1] = option, tuple(dict.fromkeys((*found[-1][1], value)))
        else:
            found.append((option, (value,)))
    return found


class PlaceBy(StrEnum):
    """The methods of `place`."""

    AUTO = "auto"
    WORST_FIT = "worst-fit"
    METIS = "metis"
    EXACT = "exact"


class ImageAction(StrEnum):
    """The actions of `image`."""

    LIST = "list"
    BUILD = "build"
    CLEAN = "clean"


def print_json(value: object) -> None:
    """Print a value as JSON to standard output."""
    sys.stdout.write(json_text(value) + "\n")


def print_found(
    value: T,
    to_json: Callable[[T], object],
    to_words: Callable[[T, Console], None],
    *,
    as_json: bool,
) -> None:
    """Print what a verb found to standard output: as JSON, or in words."""
    print_json(to_json(value)) if as_json else to_words(value, console())
