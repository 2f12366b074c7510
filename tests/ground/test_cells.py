"""Cells of the earth, by which near nodes get near addresses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delaylab.resolve.cells import BITS, WINDOW, cell_of
from delaylab.spec.places import PlaceSpec

longitudes = st.floats(-180, 180, allow_nan=False)
latitudes = st.floats(-90, 90, allow_nan=False)


def place(longitude: float, latitude: float) -> PlaceSpec:
    return PlaceSpec(longitude=longitude, latitude=latitude)


@given(longitudes, latitudes)
def test_every_place_of_the_earth_has_a_cell(longitude: float, latitude: float) -> None:
    cell = cell_of([place(longitude, latitude)])
    assert cell is not None
    assert 0 <= cell < 1 << BITS


def test_the_first_bits_of_a_cell_quarter_the_window() -> None:
    """The first says which half of the longitudes it is, the second which of the latitudes."""
    east, north = (size / 2 + 0.1 for size in WINDOW)
    firsts = [
        (cell_of([place(x, y)]) or 0) >> BITS - 2
        for x, y in [(0, 0), (0, north), (east, 0), (east, north)]
    ]
    assert firsts == [0, 1, 2, 3]


def test_a_link_is_in_the_middle_of_its_nodes() -> None:
    ends = [place(10, 50), place(14, 48)]
    assert cell_of(ends) == cell_of([place(12, 49)]) != cell_of(ends[:1])


@pytest.mark.parametrize("other", [None, PlaceSpec(x=1, y=1)])
def test_a_node_without_a_place_on_the_earth_has_no_cell(other: PlaceSpec | None) -> None:
    assert cell_of([other]) is None
    assert cell_of([place(1, 1), other]) is None
