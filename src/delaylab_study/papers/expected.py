"""Verdicts that a paper's claims can be expected to get, were all as the paper says.

A claim is judged on imagined trials: drawn from the paper's own numbers, at the levels and with the
packets and repeats of a study. What such trials do not show as reproduced, real ones cannot test:
the levels are not the paper's, or the packets too few. So a study's claim is judged here first.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Sequence
from zlib import crc32

import numpy as np

from delaylab_study.analysis.claims.claim import Claim
from delaylab_study.analysis.claims.finding import Finding, Verdict
from delaylab_study.analysis.claims.imagined import Design, Random
from delaylab_study.analysis.group import Group
from delaylab_study.charts.words import with_interval
from delaylab_study.papers import calls
from delaylab_study.papers.paper import Paper

DRAWS = 3
"""The number of times that each claim is judged; the most frequent verdict is the expected one."""
SEED = 1
REMEMBERED = 100
"""The number of findings that are remembered: a run prints, draws and writes the same ones."""
AT_THESE = "trials at these levels, drawn from the paper's own numbers,"


def random_of(design: Design, draw: int) -> Random:
    """Return the random numbers of a design: the same ones, whatever other designs there are."""
    levels = repr(sorted(design.levels.items()))
    return np.random.default_rng([SEED, draw, crc32(levels.encode())])


class Imagined:
    """Imagined trials of a study's designs, drawn once for all claims of a paper."""

    def __init__(self, designs: Sequence[Design]) -> None:
        """Take the designs; nothing is drawn before it is needed."""
        self._designs = designs
        self._drawn: dict[tuple[int, int], tuple[Paper, list[Group]]] = {}

    def expected(self, paper: Paper, claim: Claim) -> Finding | None:
        """Return the finding that a claim can be expected to get, None without published numbers.

        Raise BadInput if the function that draws the trials fails.
        """
        if paper.world is None:
            return None
        key = (id(paper), claim.id, repr(self._designs))
        if key not in _KNOWN:
            # The paper is kept with its finding, so that no other one can get its id.
            _KNOWN[key] = paper, self._judged(paper, claim)
            if len(_KNOWN) > REMEMBERED:
                _KNOWN.popitem(last=False)
        return _KNOWN[key][1]

    def drawn(self, paper: Paper, draw: int) -> list[Group]:
        """Return the groups of one draw, of the designs that the paper has numbers for.

        Raise BadInput if the paper's function fails.
        """
        if (id(paper), draw) not in self._drawn:
            groups = (calls.world(paper, each, random_of(each, draw)) for each in self._designs)
            known = [group for group in groups if group is not None]
            self._drawn[id(paper), draw] = paper, known
        return self._drawn[id(paper), draw][1]

    def _judged(self, paper: Paper, claim: Claim) -> Finding:
        judged: list[Finding] = []
        for draw in range(DRAWS):
            judged.append(calls.finding(paper, claim, self.drawn(paper, draw)))
            verdict, times = Counter(each.verdict for each in judged).most_common(1)[0]
            # A verdict of most draws is the most frequent one, whatever the others are.
            if 2 * times > DRAWS:
                break
        return next(each for each in judged if each.verdict == verdict)


_KNOWN: OrderedDict[tuple[int, str, str], tuple[Paper, Finding]] = OrderedDict()


def out_of_reach(expected: Finding | None) -> str:
    """Return the reason why a study cannot test a claim, from the finding expected; "" if it can.

    A claim whose paper brings no numbers is taken to be within reach.
    """
    if expected is None or expected.verdict == "reproduced":
        return ""
    if expected.effect is None:
        return expected.why
    what: dict[Verdict, str] = {
        "contradicted": f"needs other levels: {AT_THESE} contradict it",
        "open": f"needs more packets or repeats: as many {AT_THESE} leave it open",
    }
    said = what.get(expected.verdict)
    effect = with_interval(expected.effect, expected.interval, expected.unit)
    return f"{said} ({expected.of}: {effect})" if said else expected.why
