"""Generator of docs/replications.md from the findings of datasets, which are kept beside it.

`python -m tools.replications_page DATASET …` reads datasets of the papers' studies, keeps their
findings in docs/replications/STUDY.json (verdicts and effects, no packets), and writes the page.
Without a dataset it writes the page from what is kept.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from delaylab.analysis.claims.finding import Finding
from delaylab.analysis.group import groups
from delaylab.charts import words
from delaylab.dataset.store import read_study
from delaylab.papers.findings import findings
from delaylab.papers.loading import claims

DOCS = Path(__file__).parent.parent / "docs"
PAGE, KEPT = DOCS / "replications.md", DOCS / "replications"
HEAD = """\
# Replications

What this machine said to every claim of the papers. Sentences, quantities and rules are in
[Claims](claims.md); [Method](method.md#claims) says how a claim is judged. This page is made from
the findings of whole studies by `.venv/bin/python -m tools.replications_page DATASET …`. A claim
that is not testable here names what is missing.
"""
NOT_RUN = "not run yet"


class KeptClaim(BaseModel):
    """One finding, in words."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    verdict: str
    quantity: str
    rule: str
    effect: str
    published: str
    why: str


class KeptStudy(BaseModel):
    """The findings of one study, with the machine and the command that made them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    study: str
    command: str
    machine: str
    created: str
    trials: str
    claims: list[KeptClaim]


def kept(dataset: Path) -> KeptStudy:
    """Return what is kept of a dataset."""
    study = read_study(dataset)
    record = study.record
    found = findings(study, list(groups(study)))
    done = sum(trial.status == "ok" for trial in study.trials)
    machine = record.machine
    return KeptStudy(
        study=record.study,
        command=f"delaylab run {record.study} --scale {record.scale}",
        machine=f"{machine.cpu}, {machine.cores} CPUs, Linux {machine.kernel}",
        created=record.created[:10],
        trials=f"{done} of {len(record.planned)}",
        claims=[_claim(each) for each in found],
    )


def _claim(found: Finding) -> KeptClaim:
    return KeptClaim(
        id=found.id,
        verdict=found.verdict,
        quantity=found.of,
        rule=found.rule,
        effect=words.effect(found),
        published=words.published(found.published, found.unit),
        why=found.why,
    )


def page() -> str:
    """Return the page's text, from what is kept."""
    studies = [
        KeptStudy.model_validate_json(path.read_text()) for path in sorted(KEPT.glob("*.json"))
    ]
    return (
        HEAD
        + "\n"
        + "\n".join(line for study in studies for line in _study(study))
        + _missing(studies)
    )


def _study(study: KeptStudy) -> Iterator[str]:
    yield f"## {study.study}"
    yield ""
    yield f"`{study.command}`: {study.trials} trials, {study.machine}, {study.created}."
    yield ""
    yield "| claim | verdict | here [95 %] | paper | decided by |"
    yield "|---|---|---|---|---|"
    for each in study.claims:
        decided = f"{each.quantity}: {each.rule}" if each.quantity else _cell(each.why)
        link = f"[{each.id}](claims.md#{each.id})"
        yield f"| {link} | {each.verdict} | {each.effect} | {each.published} | {decided} |"
    yield ""
    for each in study.claims:
        yield f"- **{each.id}**: {_cell(each.why)}."
    yield ""


def _missing(studies: Sequence[KeptStudy]) -> str:
    """Return a line on the claims that no kept study judged, "" if there are none."""
    judged = {each.id for study in studies for each in study.claims}
    without = [name for name in claims() if name not in judged]
    return f"\n{NOT_RUN}: {', '.join(without)}.\n" if without else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").rstrip(".")


def main(datasets: Sequence[str]) -> None:
    """Keep the findings of datasets, and write the page."""
    KEPT.mkdir(exist_ok=True)
    for dataset in datasets:
        found = kept(Path(dataset))
        text = json.dumps(found.model_dump(mode="json"), indent=1, ensure_ascii=False)
        (KEPT / f"{found.study}.json").write_text(text + "\n")
    PAGE.write_text(page())


if __name__ == "__main__":
    main(sys.argv[1:])
