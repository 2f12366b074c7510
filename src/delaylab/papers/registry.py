"""The papers that delaylab knows, by the `source` that a study names."""

from __future__ import annotations

from delaylab.analysis.claims.claim import Claim
from delaylab.dataset.records.study import StudyRecord
from delaylab.papers import dantas2015, oliveira2022, vem2006, whiteaker2011
from delaylab.papers.paper import Paper

PAPERS: dict[str, Paper] = {
    "whiteaker2011": whiteaker2011.PAPER,
    "dantas2015": dantas2015.PAPER,
    "oliveira2022": oliveira2022.PAPER,
    "vem2006": vem2006.PAPER,
}
USUAL = whiteaker2011.PAPER
"""The report of studies that repeat no paper: this project uses the terms of whiteaker2011."""
CLAIMS: dict[str, Claim] = {
    name: claim
    for paper in ("dantas2015", "oliveira2022", "vem2006", "whiteaker2011")
    for name, claim in PAPERS[paper].claims.items()
}


def paper(study: StudyRecord) -> Paper:
    """Return the paper that a study repeats."""
    return PAPERS.get(str(study.spec.get("source", "")), USUAL)
