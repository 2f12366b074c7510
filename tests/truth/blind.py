"""Blind runs: a plan is drawn and sealed, carried out, and opened after the causes were named."""

from __future__ import annotations

import hashlib
import json
import random
import secrets
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass

from tests.truth.cases import Together
from tests.truth.injecting.servers import SERVER_PORT
from tests.truth.judging import Judged, judge
from tests.truth.scene import Pairs, Scene, Seen, run, scene

LEAST_NS, MOST_NS = 50_000, 20_000_000
"""The strengths that are drawn."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The moments and lengths of injections in ns, the moments from the first possible one on.

    Each cause that is injected has its own.
    """

    injections: Sequence[Pairs]
    salt: str

    @property
    def seal(self) -> str:
        """Return a hash that binds the plan without telling it."""
        text = json.dumps([self.injections, self.salt])
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def end_ns(self) -> int:
        """Return the moment of the last injection."""
        return max(injections[-1][0] for injections in self.injections)


def draw(cases: Together, count: int) -> Plan:
    """Draw a plan of so many injections, of lengths that are spread evenly over their logarithm."""
    salt = secrets.token_hex(16)
    drawn = random.Random(salt)
    ratio = MOST_NS / LEAST_NS
    spacing_ns, fewer = (max(getattr(each, of) for each in cases) for of in ("spacing_ns", "fewer"))
    injections = [
        [
            (
                number * spacing_ns + drawn.randrange(spacing_ns // 2),
                round(LEAST_NS * ratio ** drawn.random()),
            )
            for number in range(count // fewer)
        ]
        for _ in cases
    ]
    return Plan(injections, salt)


def blind(cases: Together, plan: Plan) -> Judged:
    """Carry a plan out, and judge what was named."""
    return judge(cases, carried_out(cases, plan))


def carried_out(cases: Together, plan: Plan) -> Seen:
    """Carry a plan out; return what was seen."""
    with _scene(cases) as made, ExitStack() as stack:
        by = [stack.enter_context(each.injected(made)) for each in cases]
        return run(made, by, plan.injections, plan.end_ns, realtime=_realtime(cases))


def left_out(cases: Together, plan: Plan) -> Seen:
    """Send the packets of a plan, and inject nothing; return what was seen."""
    with _scene(cases) as made, ExitStack() as stack:
        # A server answers all the same.
        by = [stack.enter_context(each.injected(made)) for each in cases if each.serves]
        nothing = [[(plan.end_ns, 0)] for _ in by]
        return run(made, by, nothing, plan.end_ns, realtime=_realtime(cases))


def _scene(cases: Together) -> AbstractContextManager[Scene]:
    first = cases[0]
    port = SERVER_PORT if first.serves else None
    return scene(first.link, first.responder_cpu, port, first.kind)


def _realtime(cases: Together) -> bool:
    return all(each.realtime for each in cases)
