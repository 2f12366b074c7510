"""Verb `delaylab up`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

from delaylab.errors import DelaylabError
from delaylab.lab import health
from delaylab.lab.attach import attach_all
from delaylab.lab.running import LiveLab
from delaylab.lab.start import starting
from delaylab.progress import Progress
from delaylab.records.doubts import DoubtKind, doubt
from delaylab.resolve.lab import Lab

MOST_NAMED = 3
"""The most differences that a message names."""


@contextmanager
def up(spec: Lab, name: str | None, progress: Progress) -> Iterator[LiveLab]:
    """Bring a lab up; of one that is up, bring up those links that are down.

    A lab that was brought up goes down again if the block ends with an exception; one that was up
    stays. Raise DelaylabError if the lab of this name that is up is of another file, has dead
    agents, or has lost a machine. One that has ended on all of its machines is started anew.
    """
    lab = {one.name: one for one in attach_all()}.get(spec.name if name is None else name)
    if lab is not None and not lab.is_over():
        if (why := lab.why_not_whole()) is not None:
            raise why
        gone = health.dead(lab)
        if gone:
            again = f"take it down, then up again: delaylab down {lab.name}"
            raise DelaylabError(f"lab {lab.name!r} is up, but {_gone(gone)}", fix=again)
        if changed := list(islice(differences(lab.spec, spec), MOST_NAMED)):
            what = f"lab {lab.name!r} is up and differs from this file: {'; '.join(changed)}"
            again = f"delaylab down {lab.name}, then up again; or give it another --name"
            raise DelaylabError(what, fix=again)
        from delaylab.lab.links import link_changes  # noqa: PLC0415  most labs are not up yet

        revived = link_changes.revive(lab)
        said = "its links were down and are up again" if revived else "nothing was changed"
        lab.notes = (*lab.notes, doubt(DoubtKind.FABRIC, f"lab {lab.name} was up: {said}", ""))
        yield lab
        return
    with starting(spec, name=name, progress=progress) as started:
        yield started


def differences(running: Lab, wanted: Lab) -> Iterator[str]:
    """Yield what differs between a running lab and a file: `nodes.a.kind: netns, not lxc`."""
    before, after = (
        each.written.model_dump(mode="json", by_alias=True) for each in (running, wanted)
    )
    yield from _differing(before, after, "")


def _differing(before: object, after: object, at: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys([*before, *after]):
            yield from _differing(before.get(key), after.get(key), f"{at}.{key}".lstrip("."))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, pair in enumerate(zip(before, after, strict=True)):
            yield from _differing(*pair, f"{at}.{number}")
    elif before != after:
        yield f"{at}: {_short(before)}, not {_short(after)}"


def _short(value: object) -> str:
    """Return a value for a message: structures only by their size."""
    if isinstance(value, dict | list):
        return f"{len(value)} entries"
    return "nothing" if value is None else str(value)[:40]


def _gone(gone: dict[str, str]) -> str:
    """Return a lab's dead agents as part of a sentence."""
    first, why = next(iter(gone.items()))
    more = f", and {len(gone) - 1} more" if len(gone) > 1 else ""
    return f"agent {first} is dead: {why}{more}"
