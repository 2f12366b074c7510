"""Blind runs: a plan is drawn and sealed, carried out, and opened after the causes were named."""

from __future__ import annotations

import hashlib
import json
import random
import secrets
from dataclasses import dataclass

from tests.truth.cases import Case
from tests.truth.judging import Judged, judge
from tests.truth.scene import Pairs, run, scene

SERVER_PORT = 7007
"""The port of a server that injects (injector.py)."""
LEAST_NS, MOST_NS = 500_000, 20_000_000
"""The strengths that are drawn; what is shorter makes no packet late by half a millisecond."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The moments and lengths of injections in ns, the moments from the first possible one on."""

    injections: Pairs
    salt: str

    @property
    def seal(self) -> str:
        """Return a hash that binds the plan without telling it."""
        text = json.dumps([self.injections, self.salt])
        return hashlib.sha256(text.encode()).hexdigest()


def draw(case: Case, count: int) -> Plan:
    """Draw a plan of so many injections, of lengths that are spread evenly over their logarithm."""
    salt = secrets.token_hex(16)
    drawn = random.Random(salt)
    ratio = MOST_NS / LEAST_NS
    injections = [
        (
            number * case.spacing_ns + drawn.randrange(case.spacing_ns // 2),
            round(LEAST_NS * ratio ** drawn.random()),
        )
        for number in range(count // case.fewer)
    ]
    return Plan(injections, salt)


def blind(case: Case, plan: Plan) -> Judged:
    """Carry a plan out, and judge what was named."""
    port = SERVER_PORT if case.serves else None
    with scene(case.link, case.responder_cpu, port) as made, case.injected(made) as by:
        seen = run(made, by, plan.injections, realtime=case.realtime)
    return judge(case, seen)
