"""Tables of plain text: aligned, folded at the width, nothing left out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from delaylab.io.columns import columns

TITLES = ("NODE", "KIND", "INTERFACES")


def test_columns_are_aligned_and_the_last_is_folded() -> None:
    rows = [TITLES, ("a", "netns", "eth0 198.18.0.0/31, eth1 198.18.0.2/31"), ("router", "lxc", "")]
    assert [*columns(rows, 40)] == [
        "NODE    KIND   INTERFACES",
        "a       netns  eth0 198.18.0.0/31, eth1",
        "               198.18.0.2/31",
        "router  lxc",
    ]


def test_a_cell_of_spaces_is_a_cell() -> None:
    assert [*columns([("a", " " * 30)], 5)] == ["a  "]


def test_a_cell_cannot_control_the_terminal() -> None:
    assert [*columns([("a\x1b[2J\nb", "c")], 80)] == ["a\\x1b[2J\\nb  c"]


@given(
    st.lists(st.tuples(*[st.text("abc ,/é\n", max_size=60)] * 3), min_size=1, max_size=5),
    st.integers(1, 200),
)
def test_no_text_is_lost(rows: list[tuple[str, ...]], width: int) -> None:
    def bare(text: str) -> str:
        return text.replace(" ", "").replace("\n", "\\n")

    shown = "".join(columns(rows, width))
    assert bare(shown) == bare("".join("".join(row) for row in rows))
