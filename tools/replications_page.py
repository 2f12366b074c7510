"""Generator of docs/replications.md from the evidence of studies, which is kept beside it.

`python -m tools.replications_page DATASET …` reads datasets of the papers' studies, keeps their
evidence in docs/replications/STUDY.json (effects with their intervals, and no packets), and writes
the page. Without a dataset it writes the page from what is kept.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import fill

from delaylab_study.analysis.claims.finding import Finding, JudgedCriterion
from delaylab_study.charts import words
from delaylab_study.papers.loading import claims
from tools.kept_findings import EARLIER_RULE, KEPT, KeptStudy, Shown, kept, read, shown

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "replications.md"
HEAD = """\
# Replications

What trials here said to every claim of the papers. Each study names the machine and the day of its
run. Sentences, quantities and rules are in [Claims](claims.md); [Method](method.md#claims) says how
a claim is judged. The page is made by `.venv/bin/python -m tools.replications_page DATASET …` from
docs/replications, which keeps what each verdict is derived from: effects with their intervals, and
the doubts about the trials. A claim that is not testable here names what is missing. A verdict by
an earlier rule is not shown: the claim is to be measured again. [Coverage](coverage/README.md) says
what the verdict on each claim is worth.
"""
NOT_RUN = "Not run yet"
NOT_TESTABLE = "not testable here"
UNDECIDED = ("open", NOT_TESTABLE)
COLUMNS = {
    "reproduced, or holds": ("reproduced", "holds"),
    "contradicted, or does not hold": ("contradicted", "does not hold"),
    "open": ("open",),
    NOT_TESTABLE: (NOT_TESTABLE,),
    EARLIER_RULE: (EARLIER_RULE,),
}
"""The columns of the overview, and the verdicts that each counts."""
WIDTH = 100


def page(kept_in: Path = KEPT) -> str:
    """Return the page's text, from what is kept."""
    studies = [(study, shown(study)) for study in read(kept_in)]
    parts = [line for study, found in studies for line in _study(study, found)]
    return "\n".join([HEAD, *_overview(studies), *parts]) + _missing(studies)


def _overview(studies: Sequence[tuple[KeptStudy, list[Shown]]]) -> Iterator[str]:
    yield f"| study | {' | '.join(COLUMNS)} | trials | minutes |"
    yield "|---|" + "---:|" * (len(COLUMNS) + 2)
    for study, found in studies:
        counts = Counter(each.verdict for each in found)
        cells = " | ".join(str(sum(counts[one] for one in each)) for each in COLUMNS.values())
        trials = f"{study.measured} of {study.planned}"
        yield f"| [{study.study}](#{study.study}) | {cells} | {trials} | {study.minutes:g} |"
    yield ""


def _study(study: KeptStudy, found: Sequence[Shown]) -> Iterator[str]:
    yield f"## {study.study}"
    yield ""
    command = f"delaylab run {study.study} --scale {study.scale}"
    yield _wrapped(f"`{command}`, {study.created}, on {study.machine}.")
    yield ""
    yield "| claim | verdict | here [95 %] | paper |"
    yield "|---|---|---|---|"
    known = claims()
    for each in found:
        # A study's own claims are in its file, not on the page of the papers' claims.
        name = f"[{each.id}](claims.md#{each.id})" if each.id in known else f"`{each.id}`"
        yield f"| {name} | {each.verdict} | {_effects(each.finding)} |"
    yield ""
    for each in found:
        yield f"### {each.id}: {each.verdict}"
        yield ""
        yield from _details(each.finding) if each.finding else _changed()


def _effects(found: Finding | None) -> str:
    if found is None:
        return "– | –"
    here = words.with_interval(found.effect, found.interval, found.unit)
    return f"{here} | {words.published(found.published, found.unit)}"


def _changed() -> Iterator[str]:
    yield "The rule, or what it is about, was changed after this run."
    yield ""


def _details(found: Finding) -> Iterator[str]:
    if not found.criteria:
        yield f"| why |\n|---|\n| {_cell(found.why)} |"
        yield ""
    if reason := _undecided_because(found):
        yield _wrapped(f"{found.verdict.capitalize()} because: {reason}.")
        yield ""
    for criterion in found.criteria:
        yield f"| {_cell(criterion.quantity)}: {criterion.rule} | here [95 %] | paper | says |"
        yield "|---|---|---|---|"
        yield from _scenarios(criterion, own=found.own)
        yield ""


def _scenarios(criterion: JudgedCriterion, *, own: bool) -> Iterator[str]:
    for each in criterion.scenarios:
        effect = words.with_interval(each.effect, each.interval, criterion.unit)
        published = words.published(each.published, criterion.unit)
        says = "aside" if each.aside else words.stand(each.stand, own=own)
        yield f"| {_cell(each.name)} | {effect} | {published} | {says} |"


def _undecided_because(found: Finding) -> str:
    """Return the reason why a claim is undecided, "" for a decided one."""
    if found.verdict not in UNDECIDED:
        return ""
    if found.out_of_reach:
        return found.out_of_reach
    undermining = [doubt.text for doubt in found.doubts if doubt.undermines]
    needed = dict.fromkeys(each.needed for each in found.criteria if each.needed)
    return "; ".join([*undermining, *needed])


def _missing(studies: Sequence[tuple[KeptStudy, list[Shown]]]) -> str:
    """Return a line on the claims that no kept study judged, "" if there are none."""
    judged = {each.id for _, found in studies for each in found}
    without = [name for name in claims() if name not in judged]
    said = _wrapped(f"{NOT_RUN}: {', '.join(without)}.")
    return f"\n{said}\n" if without else ""


def _wrapped(text: str) -> str:
    return fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").rstrip(".")


def main(arguments: Sequence[str]) -> None:
    """Keep the evidence of datasets, and write the page."""
    KEPT.mkdir(exist_ok=True)
    for dataset in arguments:
        found = kept(Path(dataset))
        (KEPT / f"{found.study}.json").write_text(found.model_dump_json(indent=1) + "\n")
    PAGE.write_text(page())
    print(f"{PAGE} written")


if __name__ == "__main__":
    main(sys.argv[1:])
