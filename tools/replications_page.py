"""Generator of docs/replications.md from the findings of datasets, which are kept beside it.

`python -m tools.replications_page DATASET …` reads datasets of the papers' studies, keeps their
findings in docs/replications/STUDY.json (verdicts and effects by scenario, no packets), and writes
the page. Without a dataset it writes the page from what is kept.

`python -m tools.replications_page --rejudge` first takes back kept verdicts that their studies
cannot give: those on claims that trials drawn from the paper's own numbers, at the levels and with
the packets of the study at the scale that ran, do not show as reproduced. What was measured stays.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from textwrap import fill

from delaylab.progress import silent
from delaylab_study.analysis.analyse import groups
from delaylab_study.analysis.claims.finding import (
    OWN_VERDICTS,
    VERDICTS,
    Finding,
    JudgedCriterion,
)
from delaylab_study.analysis.claims.judge import WOULD
from delaylab_study.charts import words
from delaylab_study.dataset.store import Study, read_study
from delaylab_study.papers.findings import findings
from delaylab_study.papers.loading import claims
from delaylab_study.papers.studies import find
from delaylab_study.study import fits, order
from delaylab_study.study_file.load import load_study
from delaylab_study.verbs.foreseen import foreseen
from tools.kept_findings import (
    EARLIER_RULE,
    KEPT,
    KeptClaim,
    KeptCriterion,
    KeptScenario,
    KeptStudy,
    read,
)

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "replications.md"
HEAD = """\
# Replications

What trials here said to every claim of the papers. Each study names the machine and the day of its
run. Sentences, quantities and rules are in [Claims](claims.md); [Method](method.md#claims) says how
a claim is judged. This page is made from the findings of whole studies by `.venv/bin/python -m
tools.replications_page DATASET …`. A claim that is not testable here names what is missing. A
verdict by an earlier rule is not shown: the claim is to be measured again.
[Coverage](coverage/README.md) says what the verdict on each claim is worth.
"""
NOT_RUN = "Not run yet"
NOT_TESTABLE = "not testable here"
UNDECIDED = ("open", NOT_TESTABLE)
REJUDGE = "--rejudge"
OWN_SAYS = {words.stand(False): words.stand(False, own=True)}
"""The words of scenarios that break the rule: of a paper's claim, and of a study's own."""
FAR_FROM_DECIDED = "over 1000 times as many trials would be needed"
COLUMNS = {
    "reproduced, or holds": ("reproduced", "holds"),
    "contradicted, or does not hold": ("contradicted", "does not hold"),
    "open": ("open",),
    NOT_TESTABLE: (NOT_TESTABLE,),
    EARLIER_RULE: (EARLIER_RULE,),
}
"""The columns of the overview, and the verdicts that each counts."""
WIDTH = 100


def kept(dataset: Path) -> KeptStudy:
    """Return what is kept of a dataset."""
    study = read_study(dataset)
    record = study.record
    found = findings(study, list(groups(study)))
    done = sum(trial.status == "ok" for trial in study.trials)
    machines = [
        f"{each.cpu}, {each.cores} CPUs, {words.system(each.kernel)}"
        for each in record.machines.values()
    ]
    return KeptStudy(
        study=record.study,
        command=f"delaylab run {record.study} --scale {record.scale}",
        machine="; ".join(machines),
        created=record.created[:10],
        minutes=_minutes(study),
        trials=f"{done} of {len(record.planned)}",
        claims=[_claim(each) for each in found],
    )


def _minutes(study: Study) -> float:
    """Return the minutes from the start of the study to the end of its last trial."""
    ends = [datetime.fromisoformat(trial.ended) for trial in study.trials if trial.ended]
    began = datetime.fromisoformat(study.record.created)
    return round((max(ends) - began).total_seconds() / 60, 1) if ends else 0.0


def _claim(found: Finding) -> KeptClaim:
    return KeptClaim(
        id=found.id,
        verdict=found.verdict,
        effect=words.with_interval(found.effect, found.interval, found.unit),
        published=words.published(found.published, found.unit),
        why=found.why,
        undecided_because=_undecided_because(found),
        criteria=[_criterion(each, own=found.own) for each in found.criteria],
    )


def _undecided_because(found: Finding) -> str:
    if found.verdict not in UNDECIDED:
        return ""
    if found.out_of_reach:
        return found.out_of_reach
    undermining = [doubt.text for doubt in found.doubts if doubt.undermines]
    needed = dict.fromkeys(each.needed for each in found.criteria if each.needed)
    return "; ".join([*undermining, *needed])


def _criterion(judged: JudgedCriterion, *, own: bool) -> KeptCriterion:
    return KeptCriterion(
        quantity=judged.quantity,
        rule=judged.rule,
        scenarios=[
            KeptScenario(
                name=each.name,
                effect=words.with_interval(each.effect, each.interval, judged.unit),
                published=words.published(each.published, judged.unit),
                says="aside" if each.aside else words.stand(each.stand, own=own),
            )
            for each in judged.scenarios
        ],
    )


def rejudged(study: KeptStudy) -> KeptStudy:
    """Return kept findings without the verdicts that the study cannot give (`papers.expected`).

    The study is planned anew, at the scale that ran, for this machine.
    """
    loaded = load_study(find(study.study))
    scale = study.command.rpartition(" ")[2]
    planned = order.plan_trials(loaded, scale, {})
    unfit, emulated = fits.unfit(planned), fits.emulated(planned)
    expected = foreseen(loaded, planned, unfit, emulated, None, silent)
    reasons = {each.claim: each.why for each in expected if each.verdict == NOT_TESTABLE}
    own = {spec.claim for spec in loaded.spec.claims if not isinstance(spec, str)}
    claims = [
        _as_own(each) if each.id in own else _taken_back(each, reasons.get(each.id, ""))
        for each in map(_without_limit, study.claims)
    ]
    return study.model_copy(update={"claims": claims})


def _without_limit(claim: KeptClaim) -> KeptClaim:
    """Return a finding without what older versions said of every effect that is little known."""
    cut = {
        name: getattr(claim, name).replace(
            f"{FAR_FROM_DECIDED}: the effect is at the limit", FAR_FROM_DECIDED
        )
        for name in ("why", "undecided_because")
    }
    return claim.model_copy(update=cut)


def _as_own(claim: KeptClaim) -> KeptClaim:
    """Return the finding on a claim that the study declares itself, which no paper makes."""
    verdicts: dict[str, str] = {VERDICTS[stand]: OWN_VERDICTS[stand] for stand in VERDICTS}
    criteria = [
        each.model_copy(
            update={
                "scenarios": [
                    one.model_copy(update={"says": OWN_SAYS.get(one.says, one.says)})
                    for one in each.scenarios
                ]
            }
        )
        for each in claim.criteria
    ]
    verdict = verdicts.get(claim.verdict, claim.verdict)
    return claim.model_copy(update={"verdict": verdict, "criteria": criteria})


def _taken_back(claim: KeptClaim, reason: str) -> KeptClaim:
    """Return a paper's claim as not testable for a reason, and as it was kept without one."""
    if not reason or claim.verdict == NOT_TESTABLE:
        return claim
    verdict = next(each for each in WOULD if each == claim.verdict)
    why = f"{reason}; as measured here it {WOULD[verdict]}: {claim.why}"
    update = {"verdict": NOT_TESTABLE, "why": why, "undecided_because": reason}
    return claim.model_copy(update=update)


def page(kept_in: Path = KEPT) -> str:
    """Return the page's text, from what is kept."""
    studies = read(kept_in)
    parts = [line for study in studies for line in _study(study)]
    return "\n".join([HEAD, *_overview(studies), *parts]) + _missing(studies)


def _overview(studies: Sequence[KeptStudy]) -> Iterator[str]:
    yield f"| study | {' | '.join(COLUMNS)} | trials | minutes |"
    yield "|---|" + "---:|" * (len(COLUMNS) + 2)
    for study in studies:
        counts = Counter(claim.verdict for claim in study.claims)
        cells = " | ".join(str(sum(counts[one] for one in each)) for each in COLUMNS.values())
        anchor = study.study.lower()
        yield f"| [{study.study}](#{anchor}) | {cells} | {study.trials} | {study.minutes:g} |"
    yield ""


def _study(study: KeptStudy) -> Iterator[str]:
    yield f"## {study.study}"
    yield ""
    yield _wrapped(f"`{study.command}`, {study.created}, on {study.machine}.")
    yield ""
    yield "| claim | verdict | here [95 %] | paper |"
    yield "|---|---|---|---|"
    known = claims()
    for each in study.claims:
        # A study's own claims are in its file, not on the page of the papers' claims.
        name = f"[{each.id}](claims.md#{each.id})" if each.id in known else f"`{each.id}`"
        yield f"| {name} | {each.verdict} | {each.effect} | {each.published} |"
    yield ""
    for each in study.claims:
        yield from _details(each)


def _details(claim: KeptClaim) -> Iterator[str]:
    yield f"### {claim.id}: {claim.verdict}"
    yield ""
    if not claim.criteria:
        yield f"| why |\n|---|\n| {_cell(claim.why)} |"
        yield ""
    if claim.undecided_because:
        yield _wrapped(f"{claim.verdict.capitalize()} because: {claim.undecided_because}.")
        yield ""
    for criterion in claim.criteria:
        yield f"| {_cell(criterion.quantity)}: {criterion.rule} | here [95 %] | paper | says |"
        yield "|---|---|---|---|"
        for each in criterion.scenarios:
            yield f"| {_cell(each.name)} | {each.effect} | {each.published} | {each.says} |"
        yield ""


def _missing(studies: Sequence[KeptStudy]) -> str:
    """Return a line on the claims that no kept study judged, "" if there are none."""
    judged = {each.id for study in studies for each in study.claims}
    without = [name for name in claims() if name not in judged]
    said = _wrapped(f"{NOT_RUN}: {', '.join(without)}.")
    return f"\n{said}\n" if without else ""


def _wrapped(text: str) -> str:
    return fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").rstrip(".")


def main(arguments: Sequence[str]) -> None:
    """Keep the findings of datasets, or judge those kept anew, and write the page."""
    KEPT.mkdir(exist_ok=True)
    if arguments == [REJUDGE]:
        for path in sorted(KEPT.glob("*.json")):
            _keep(rejudged(KeptStudy.model_validate_json(path.read_text())))
    else:
        for dataset in arguments:
            _keep(kept(Path(dataset)))
    PAGE.write_text(page())
    print(f"{PAGE} written")


def _keep(found: KeptStudy) -> None:
    text = json.dumps(found.model_dump(mode="json"), indent=1, ensure_ascii=False)
    (KEPT / f"{found.study}.json").write_text(text + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
