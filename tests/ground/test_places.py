"""A node's place and a link's required bandwidth: read, kept, and without meaning for the plan."""

from __future__ import annotations

import pytest

from delaylab.errors import BadInput
from delaylab.kinds import KINDS
from delaylab.plan.build import build
from delaylab.plan.kind import Rights
from delaylab.resolve.lab import Lab
from delaylab.resolve.load import lab_from
from delaylab.spec.source import parse


def lab(at: str = "", link: str = "") -> Lab:
    text = f"lab: x\nnodes:\n  a: {{{at}}}\n  b: {{}}\nlinks:\n  - {{between: [a, b]{link}}}\n"
    return lab_from(parse(text, "x.yaml"))


@pytest.mark.parametrize(
    ("at", "found"),
    [
        ("longitude: -0.13, latitude: 51.5", {"longitude": -0.13, "latitude": 51.5}),
        ("x: 0, y: -4", {"x": 0.0, "y": -4.0}),
    ],
)
def test_a_place_is_read(at: str, found: dict[str, float]) -> None:
    place = lab(f"at: {{{at}}}").nodes["a"].at
    assert place is not None
    assert place.model_dump(exclude_none=True) == found


@pytest.mark.parametrize("at", ["x: 1", "x: 1, latitude: 1", "x: 1, y: 1, longitude: 0", ""])
def test_half_a_place_is_refused(at: str) -> None:
    with pytest.raises(BadInput, match=r"x\.yaml:3: .*a place is `longitude` and `latitude`, or"):
        lab(f"at: {{{at}}}")


@pytest.mark.parametrize("at", ["longitude: 181, latitude: 0", "x: .nan, y: 0", "x: 1e10, y: 0"])
def test_a_place_off_the_map_is_refused(at: str) -> None:
    with pytest.raises(BadInput, match=r"x\.yaml:3"):
        lab(f"at: {{{at}}}")


def test_neither_changes_the_plan() -> None:
    plain = build(lab(), KINDS, Rights(root=True))
    said = build(lab("at: {x: 1, y: 2}", ", bandwidth: 10Gbit"), KINDS, Rights(root=True))
    assert said == plain
