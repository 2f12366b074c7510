"""Growth of the work with the size of a lab: calls are counted, so no machine's speed matters."""

from __future__ import annotations

import io
import math
import sys
from collections.abc import Callable, Iterator
from types import FrameType

import pytest

from delaylab.kinds import KINDS
from delaylab.plan.build import build
from delaylab.plan.kind import Rights
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse
from delaylab.verbs.plans import print_plan

STEEPEST = 1.15
"""The largest exponent: n·log n of these sizes grows with 1.1, a quadratic part soon shows."""


def ring(size: int) -> Iterator[str]:
    yield "nodes:"
    yield from (f"  n{n}: {{}}" for n in range(size))
    yield "links:"
    yield from (f"  - {{between: [n{n}, n{(n + 1) % size}]}}" for n in range(size))


def star(size: int) -> Iterator[str]:
    yield "hosts: {one: {}}"
    yield "nodes:"
    yield "  hub: {forwards: true}"
    yield from (f"  n{n}: {{}}" for n in range(size))
    yield "links:"
    yield from (f"  - {{between: [hub, n{n}]}}" for n in range(size))


def broadcast(size: int) -> Iterator[str]:
    yield "hosts: {one: {}, two: {}}"
    yield "nodes:"
    yield from (f"  n{n}: {{host: {'one' if n % 2 else 'two'}}}" for n in range(size))
    yield "links:"
    yield f"  - join: [{', '.join(f'n{n}' for n in range(size))}]"
    yield "    delay: 1ms"


def changing(size: int) -> Iterator[str]:
    yield from ring(size)
    yield "timeline:"
    for n in range(size):
        yield f"  - {{at: {n}ms, link: n{n}-n{(n + 1) % size}, set: {{delay: 3ms}}}}"


def machines(size: int) -> Iterator[str]:
    yield "hosts: {one: {}}"
    yield "nodes:"
    yield from (f"  n{n}: {{kind: qemu}}" for n in range(size))
    yield "links:"
    yield from (f"  - {{between: [n{n}, n{(n + 1) % size}]}}" for n in range(size))


@pytest.mark.parametrize("shape", [ring, star, broadcast, changing, machines])
def test_checking_and_planning_are_linear(shape: Callable[[int], Iterator[str]]) -> None:
    small, large = 250, 1000
    work(shape, 20)  # fills caches
    exponent = math.log(work(shape, large) / work(shape, small)) / math.log(large / small)
    assert exponent < STEEPEST


def work(shape: Callable[[int], Iterator[str]], size: int) -> int:
    text = "\n".join(["lab: big", *shape(size)])

    def check_and_plan() -> None:
        lab = lab_from(parse(text, "big.yaml"))
        print_plan(build(lab, KINDS, Rights(root=True)), lab, io.StringIO())

    return calls(check_and_plan)


def calls(of: Callable[[], None]) -> int:
    """Count the calls of a function, of Python and of C, and each step of a generator."""
    count = 0

    def seen(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        of()
    finally:
        sys.setprofile(before)
    return count
