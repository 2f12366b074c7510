"""Study file for `delaylab run`, loaded without the analysis, which is slow to import."""

from __future__ import annotations

from collections.abc import Iterable

from delaylab.errors import BadInput
from delaylab.papers.studies import find
from delaylab.spec import StudyFile, load_study


def parse_only(pairs: Iterable[str]) -> dict[str, set[str]]:
    """Read `factor=level` arguments; several levels of one factor add up.

    Raise BadInput for an argument of another form.
    """
    only: dict[str, set[str]] = {}
    for pair in pairs:
        factor, equals, level = pair.partition("=")
        if not equals or not factor or not level:
            raise BadInput(f"--only wants factor=level, got {pair!r}")
        only.setdefault(factor, set()).add(level)
    return only


def load(name: str) -> StudyFile:
    """Load a shipped study or a file; raise BadInput for an unknown claim."""
    loaded = load_study(find(name))
    if not loaded.spec.claims:
        return loaded
    # Analyses are slow to import: errors in the file are reported before.
    from delaylab.papers.registry import CLAIMS  # noqa: PLC0415

    for position, claim in enumerate(loaded.spec.claims):
        if claim not in CLAIMS:
            known = ", ".join(CLAIMS)
            raise loaded.document.refuse(f"no claim {claim!r}", ("claims", position), known)
    return loaded
