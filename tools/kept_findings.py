"""The evidence of whole studies that docs/replications keeps, a file for each study.

A file holds the numbers from which each verdict is derived (`papers.evidence`), so anyone can
derive it again. It also holds the rules and the verdicts of the day of the run. A claim whose rule
was changed since is to be measured again, so its verdict is not shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from delaylab_study.analysis.analyse import groups
from delaylab_study.analysis.claims.claim import Claim
from delaylab_study.analysis.claims.finding import Finding, Verdict
from delaylab_study.analysis.claims.observed import Observed
from delaylab_study.analysis.claims.own import claim_of
from delaylab_study.analysis.claims.words import rule_in_words
from delaylab_study.charts import words
from delaylab_study.dataset.store import Study, read_study
from delaylab_study.papers.evidence import Evidence, derived, evidence
from delaylab_study.papers.findings import named
from delaylab_study.papers.loading import claims
from delaylab_study.papers.studies import find, names
from delaylab_study.study_file.claims import ClaimSpec
from delaylab_study.study_file.load import load_study

KEPT = Path(__file__).parent.parent / "docs" / "replications"
EARLIER_RULE = "by an earlier rule"


class KeptClaim(BaseModel):
    """The evidence of a study for one claim, and the verdict by the rules of that day."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    id: str
    rules: tuple[str, ...]
    verdict: Verdict
    out_of_reach: str
    observed: Observed


class KeptStudy(BaseModel):
    """The evidence of one study, with the machine and the command that made it."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    study: str
    scale: str
    repeats: str
    machine: str
    created: str
    minutes: float
    measured: int
    planned: int
    skipped: str
    claims: tuple[KeptClaim, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """A kept claim and its finding, which is derived anew; None if the rule was changed since."""

    id: str
    finding: Finding | None

    @property
    def verdict(self) -> str:
        """Return the verdict, or that it was by an earlier rule."""
        return self.finding.verdict if self.finding else EARLIER_RULE


def kept(dataset: Path) -> KeptStudy:
    """Return what is kept of a dataset."""
    study = read_study(dataset)
    record = study.record
    found = evidence(study, list(groups(study)), named(record))
    own = own_claims(record.study)
    machines = [
        f"{each.cpu}, {each.cores} CPUs, {words.system(each.kernel)}"
        for each in record.machines.values()
    ]
    return KeptStudy(
        study=record.study,
        scale=record.scale,
        repeats=found[0].repeats if found else "",
        machine="; ".join(machines),
        created=record.created[:10],
        minutes=_minutes(study),
        measured=sum(trial.status == "ok" for trial in study.trials),
        planned=len(record.planned),
        skipped=found[0].skipped if found else "",
        claims=tuple(
            KeptClaim(
                id=finding.id,
                rules=rules_of(finding.id, own),
                verdict=finding.verdict,
                out_of_reach=each.out_of_reach,
                observed=each.observed,
            )
            for each, finding in zip(found, derived(found), strict=True)
        ),
    )


def read(kept_in: Path = KEPT) -> list[KeptStudy]:
    """Return the kept studies."""
    return [KeptStudy.model_validate_json(path.read_text()) for path in sorted(kept_in.glob("*"))]


def shown(study: KeptStudy) -> list[Shown]:
    """Return the findings on the claims of a kept study that still exist, derived anew."""
    own = own_claims(study.study)
    return [
        Shown(each.id, _finding(study, each, own) if each.rules == rules else None)
        for each in study.claims
        if (rules := rules_of(each.id, own))
    ]


def own_claims(study: str) -> dict[str, ClaimSpec]:
    """Return the claims that a study declares itself; none of a study that is not shipped."""
    if study not in names():
        return {}
    wanted = load_study(find(study)).spec.claims
    return {each.claim: each for each in wanted if isinstance(each, ClaimSpec)}


def rules_of(name: str, own: dict[str, ClaimSpec]) -> tuple[str, ...]:
    """Return the rules of a claim in words, with what they are about; none of an unknown claim."""
    known = claims()
    if name in own:
        claim: Claim = claim_of(own[name])
    elif name in known:
        claim = known[name][1]
    else:
        return ()
    return tuple(
        f"{each.quantity}: {rule_in_words(each.rule, each.unit)}{_about(each.about, claim.about)}"
        for each in claim.criteria
    )


def _about(of_criterion: Sequence[str] | None, of_claim: Sequence[str]) -> str:
    about = of_claim if of_criterion is None else of_criterion
    return f" (about {', '.join(about)})" if about else ""


def _finding(study: KeptStudy, claim: KeptClaim, own: dict[str, ClaimSpec]) -> Finding:
    found = Evidence(
        claim=own.get(claim.id, claim.id),
        repeats=study.repeats,
        observed=claim.observed,
        out_of_reach=claim.out_of_reach,
        skipped=study.skipped,
    )
    return derived([found])[0]


def _minutes(study: Study) -> float:
    """Return the minutes from the start of the study to the end of its last trial."""
    ends = [datetime.fromisoformat(trial.ended) for trial in study.trials if trial.ended]
    began = datetime.fromisoformat(study.record.created)
    return round((max(ends) - began).total_seconds() / 60, 1) if ends else 0.0
