"""Verbs `delaylab ps` and `down`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from rich.console import Console

from delaylab.errors import BadInput, DelaylabError
from delaylab.io.columns import columns
from delaylab.io.terminal import print_lines
from delaylab.io.values import JsonObject
from delaylab.lab.description import LabDescription, describe
from delaylab.lab.running import LiveLab
from delaylab.machines import LOCAL, DescribedLab, SweepResult, find, on, running_labs
from delaylab.progress import Progress

if TYPE_CHECKING:
    from delaylab.verbs.link_states import EngineState

TITLES = ("LAB", "NODE", "KIND", "HOST", "PID", "INTERFACE", "LINK", "TO", "ADDRESSES")
MOST_LISTED = 100
"""The most nodes of a lab that `up` lists: it is to be seen whether the lab is as it should be."""
MOST_PROGRAMS = 20
"""The most running programs of a lab that have a line each."""
NAMED = 3
"""The most peers of an interface that are named."""


def described(one: LiveLab) -> JsonObject:
    """Return the description of a lab that `ps --json` prints."""
    return {**asdict(describe(one)), "engines": [asdict(state) for state in _states(one)]}


def find_on(machines: Sequence[str], *, sudo: bool = False) -> None:
    """Find the labs over several machines that these, reached by ssh, have a part of.

    Raises DelaylabError, with all others found, if a lab there has the name of one known here.
    """
    for target, others in _found_on(machines, sudo=sudo).items():
        for part in others:
            what = (
                f"its part of a lab {part.name!r} is not of the lab of this name that is known here"
            )
            fix = f"delaylab down {part.name} --machine {target} takes it down"
            raise DelaylabError(what, f"machine {target}", fix)


def _found_on(machines: Sequence[str], *, sudo: bool) -> dict[str, list[DescribedLab]]:
    """Find labs by their parts on machines; return the parts of labs of known names, by machine."""
    if not machines:
        return {}
    from delaylab.machines import adoption  # noqa: PLC0415  few labs are over several machines

    return {target: adoption.adopt(target, sudo=sudo) for target in machines}


def print_started(lab: LiveLab, console: Console) -> None:
    """Print a lab that has just been started: its nodes unless they are many, its links' state."""
    if len(lab.spec.nodes) <= MOST_LISTED:
        print_labs([lab], console)
        return
    console.print(
        f"{lab.name}: {len(lab.spec.nodes)} nodes and {len(lab.spec.links)} links are up; "
        "`delaylab ps` lists them",
        soft_wrap=True,
    )
    _print_states([lab], [describe(lab, addresses=False)], console)


def print_labs(labs: list[LiveLab], console: Console) -> None:
    """Print running labs, their nodes, and the state of their links."""
    if not labs:
        console.print("no lab is up")
        return
    known = [describe(one) for one in labs]
    rows = [TITLES, *(row for about in known for row in _rows(about))]
    print_lines(columns(rows, console.width), console.file)
    _print_states(labs, known, console)


def _print_states(labs: list[LiveLab], known: list[LabDescription], console: Console) -> None:
    """Print what does not run as it should, the programs, and the state of the links."""
    for one, about in zip(labs, known, strict=True):
        for machine, why in about.unreachable.items():
            console.print(f"{one.name}: machine {machine}: {why}", style="red", soft_wrap=True)
        if about.unreachable and (error := one.why_not_whole()) is not None:
            console.print(f"{one.name}: {error.fix}", soft_wrap=True)
        for agent, why in about.dead.items():
            console.print(f"{one.name}: agent {agent} is dead: {why}", style="red")
        if about.dead:
            again = f"take it down, then up again: delaylab down {one.name}"
            console.print(f"{one.name}: {again}")
        running = sum(each.state == "running" for node in about.nodes for each in node.programs)
        many = running > MOST_PROGRAMS
        if many:
            console.print(f"{one.name}: {running} programs run")
        for node in about.nodes:
            for each in node.programs:
                if each.state == "running" and many:
                    continue
                style = "red" if each.dead else None
                text = f"{one.name}: program {each.name} of {node.name} (pid {each.pid}): "
                console.print(text + each.state, style=style, soft_wrap=True)
                if each.dead:
                    console.print(f"  its output: delaylab logs {node.name} {each.name}")
        for state in _states(one):
            console.print(f"{one.name}: {state.line()}", soft_wrap=True)


def _rows(about: LabDescription) -> Iterator[tuple[str, ...]]:
    """Yield a row for each interface of each node; what was said in the row before is left out."""
    lab = about.lab
    for node in about.nodes:
        pid = str(node.pid) if node.state == "running" else node.state
        head: tuple[str, ...] = (lab, node.name, node.kind, node.host + on(node.machine), pid)
        for each in node.interfaces:
            addresses = " ".join([*each.addresses, *(f"{lost} (lost)" for lost in each.lost)])
            yield (*head, each.name, each.link, _few(each.peers), addresses)
            head = ("",) * len(head)
        if not node.interfaces:
            yield (*head, "", "", "", "")
        lab = ""


def _few(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" + {more}" if more > 0 else "")


def _states(one: LiveLab) -> list[EngineState]:
    if not one.plan.engines:
        return []
    from delaylab.verbs.link_states import states  # noqa: PLC0415  verdicts are slow to import

    return states(one)


@dataclass(frozen=True)
class Down:
    """The outcome of `down`: labs that are down, those that are not, and remains of killed labs.

    `parts` says what happened on each machine of a lab over several.
    """

    labs: list[str]
    parts: dict[str, dict[str, str]]
    failed: list[DelaylabError]
    left: SweepResult


def down(
    name: str | None,
    progress: Progress,
    *,
    everything: bool,
    machines: Sequence[str] = (),
    sudo: bool = False,
    forgotten: Sequence[str] = (),
) -> Down:
    """Take one lab down, or all labs of this user.

    A lab that was started elsewhere is found by its part on one of `machines`, as ssh reaches them.
    Its machines that are `forgotten` are given up if they cannot be reached.
    """
    if everything and (name is not None or forgotten):
        what = f"--all stops every lab, not only {name}" if name else "--forget is for one lab"
        raise BadInput(what, fix="give either NAME or --all")
    others = _found_on(machines, sudo=sudo)
    older = {
        target: part for target, parts in others.items() for part in parts if part.name == name
    }
    if older:
        return _older_down(older)
    labs = running_labs() if everything else [_named(name)]
    gone, parts, failed = [], {}, []
    for done, one in enumerate(labs):
        progress(f"stopping {one.name}", done / len(labs))
        try:
            parts[one.name] = one.take_down(forgotten)
            gone.append(one.name)
        except BadInput:
            raise
        except DelaylabError as error:
            failed.append(error)
    return Down(gone, {lab: said for lab, said in parts.items() if said}, failed, LOCAL.sweep())


def _named(name: str | None) -> DescribedLab:
    """Return a running lab, which another machine may have started with a part on this one."""
    labs = running_labs()
    if name is not None and name not in {lab.name for lab in labs}:
        here = {lab.name for lab in LOCAL.labs() if lab.is_part}
        if name in here:
            from delaylab.machines import adoption  # noqa: PLC0415  few labs are over several

            adoption.adopt_here()
            labs = running_labs()
    return find(labs, name, "say which: --lab NAME, or --all")


def _older_down(parts: Mapping[str, DescribedLab]) -> Down:
    """Take down parts of labs whose name is that of a lab that is known here, which stays."""
    said = {}
    for target, part in parts.items():
        part.access.stop()
        said[target] = "an older lab of this name: taken down; the one that is up stays"
    (name,) = {part.name for part in parts.values()}
    return Down([], {name: said}, [], LOCAL.sweep())
