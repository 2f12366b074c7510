"""The check of claims about events by what happens in the combinations that they are about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from delaylab.api.documents import Document, Problems
from delaylab_study.study_file.claims import ClaimSpec
from delaylab_study.study_file.combine import Combination


def check_event_claims(
    claims: Sequence[ClaimSpec | str], combinations: Sequence[Combination], document: Document
) -> None:
    """Raise BadInput for claims about events that no routers follow at the levels they name."""
    problems = Problems()
    for position, claim in enumerate(claims):
        if isinstance(claim, ClaimSpec) and claim.of_events:
            what, fix = next(_missing(claim, combinations), ("", ""))
            if what:
                problems.errors.append(document.refuse(what, ("claims", position), fix))
    problems.report()


def _missing(claim: ClaimSpec, combinations: Sequence[Combination]) -> Iterator[tuple[str, str]]:
    """Yield what a claim's trials lack, and what to do."""
    name, number = claim.claim, claim.event or 1
    for levels in (claim.group, *([] if claim.against is None else [claim.against])):
        words = " ".join(f"{factor}={level}" for factor, level in levels.items())
        where = f" with {words}" if words else ""
        meant = [each for each in combinations if _has(each, levels)]
        if not any(each.lab.has_daemons for each in meant):
            fix = "add `routing: ospf`, or `routing: {expect: quiet}` for daemons of your own"
            yield f"claim {name!r} is about routers, and the lab{where} has no `routing`", fix
        most = max((each.events for each in meant), default=0)
        if number > most:
            fix = "add the event to the timeline, or name another by `event:`"
            has = f"has {most or 'no'} event{'s' * (most != 1)}"
            yield f"claim {name!r} is about event {number}, and the timeline{where} {has}", fix


def _has(combination: Combination, levels: Mapping[str, str]) -> bool:
    return all(combination.levels.get(factor) == level for factor, level in levels.items())
