"""Checks of the claims in a study file that concern the rest of it."""

from __future__ import annotations

from delaylab.spec.claims import ClaimSpec
from delaylab.spec.source import Document, Location, Problems
from delaylab.spec.study import StudySpec


def check_claims(spec: StudySpec, document: Document) -> None:
    """Raise BadInput for claims of one name, and for factors, levels or packets that are missing.

    Claims of a study file are about packets, so a study without a probe has none.
    """
    problems = Problems()
    names: set[str] = set()
    for position, claim in enumerate(spec.claims):
        at: Location = ("claims", position)
        name = claim if isinstance(claim, str) else claim.claim
        if name in names:
            problems.found.append(
                document.refuse(f"two claims are named {name!r}", at, "rename one")
            )
        names.add(name)
        if isinstance(claim, ClaimSpec) and spec.probe is None:
            what = f"claim {name!r} is about packets, and the study has no `probe`"
            problems.found.append(document.refuse(what, at, "add a probe, or leave the claim out"))
        if isinstance(claim, ClaimSpec):
            _check_levels(claim, spec, document, at, problems)
    problems.report()


def _check_levels(
    claim: ClaimSpec, spec: StudySpec, document: Document, at: Location, problems: Problems
) -> None:
    for field, levels in (("group", claim.group), ("against", claim.against or {})):
        for factor, level in levels.items():
            place = (*at, field, factor)
            known = spec.factors.get(factor)
            if known is None:
                fix = f"one of: {', '.join(spec.factors) or 'none'}"
                problems.found.append(document.refuse(f"no factor {factor!r}", place, fix))
            elif level not in known:
                what = f"factor {factor!r} has no level {level!r}"
                problems.found.append(document.refuse(what, place, f"one of: {', '.join(known)}"))
