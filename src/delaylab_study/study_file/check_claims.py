"""Checks of the claims in a file that concern the rest of the study."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from delaylab.api.documents import Document, Location, Problems, validate
from delaylab.api.models import Spec
from delaylab_study.study_file.claims import ClaimSpec

Factors = Mapping[str, Collection[str]]
"""The levels of each factor of a study."""


class ClaimsFile(Spec):
    """Claims to test on a dataset that exists; a study file has them, too."""

    claims: list[ClaimSpec | str]


def claims_from(document: Document, factors: Factors, *, probed: bool) -> list[ClaimSpec | str]:
    """Return the claims of a file, which may be a study file; the rest of it is not read.

    `factors` are those of the dataset; `probed` is True if it has packets. Raise BadInput if a
    claim is invalid, or is about levels that the dataset does not have.
    """
    data = document.data
    if not isinstance(data, dict) or not data.get("claims"):
        fix = "claims: [{claim: …, of: rtt.app, median: {less-than: …}}]"
        raise document.refuse("no claims are in this file", (), fix)
    alone = Document(document.name, {"claims": data["claims"]}, document.lines, document.folder)
    claims = validate(ClaimsFile, alone).claims
    check_claims(claims, factors, document, probed=probed)
    return claims


def check_claims(
    claims: Sequence[ClaimSpec | str], factors: Factors, document: Document, *, probed: bool
) -> None:
    """Raise BadInput for claims of one name, and for factors, levels or packets that are missing.

    A study without a probe has no claims about packets.
    """
    problems = Problems()
    names: set[str] = set()
    for position, claim in enumerate(claims):
        at: Location = ("claims", position)
        name = claim if isinstance(claim, str) else claim.claim
        if name in names:
            problems.errors.append(
                document.refuse(f"two claims are named {name!r}", at, "rename one")
            )
        names.add(name)
        if isinstance(claim, ClaimSpec) and not probed and not claim.of_events:
            what = f"claim {name!r} is about packets, and the study has no `probe`"
            problems.errors.append(document.refuse(what, at, "add a probe, or leave the claim out"))
        if isinstance(claim, ClaimSpec):
            _check_levels(claim, factors, document, at, problems)
    problems.report()


def _check_levels(
    claim: ClaimSpec, factors: Factors, document: Document, at: Location, problems: Problems
) -> None:
    for field, levels in (("group", claim.group), ("against", claim.against or {})):
        for factor, level in levels.items():
            place = (*at, field, factor)
            known = factors.get(factor)
            if known is None:
                fix = f"one of: {', '.join(factors) or 'none'}"
                problems.errors.append(document.refuse(f"no factor {factor!r}", place, fix))
            elif level not in known:
                what = f"factor {factor!r} has no level {level!r}"
                problems.errors.append(document.refuse(what, place, f"one of: {', '.join(known)}"))
