"""Verb `delaylab up`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from delaylab.errors import DelaylabError
from delaylab.lab import health, link_changes
from delaylab.lab.attach import attach_all
from delaylab.lab.running import Lab
from delaylab.lab.start import starting
from delaylab.progress import Progress
from delaylab.spec.lab import LabSpec


@contextmanager
def up(spec: LabSpec, name: str | None, progress: Progress) -> Iterator[Lab]:
    """Bring a lab up; if it is up but its links are down, bring only these up again.

    A lab that was brought up goes down again if the block ends with an exception. Raise
    DelaylabError if a lab of this name is up with nothing to bring up, or has dead agents.
    """
    lab = {one.name: one for one in attach_all()}.get(spec.lab if name is None else name)
    if lab is not None:
        gone = health.dead(lab)
        if gone:
            again = f"take it down, then up again: delaylab down {lab.name}"
            raise DelaylabError(f"lab {lab.name!r} is up, but {_gone(gone)}", fix=again)
        if link_changes.revive(lab):
            yield lab
            return
    with starting(spec, name=name, progress=progress) as started:
        yield started


def _gone(gone: dict[str, str]) -> str:
    """Return a lab's dead agents as part of a sentence."""
    first, why = next(iter(gone.items()))
    more = f", and {len(gone) - 1} more" if len(gone) > 1 else ""
    return f"agent {first} is dead: {why}{more}"
