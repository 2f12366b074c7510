"""The decoder of table frames: the bytes that the agent writes, and damaged ones."""

from __future__ import annotations

import struct

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from delaylab.agent.tables import decode

HEADER = (
    '{"rows":2,"columns":[{"name":"n","type":"u16"},'
    '{"name":"o","type":"i64","nullable":true},{"name":"f","type":"bool"},'
    '{"name":"x","type":"text","values":["é"]},'
    '{"name":"l","type":"label","values":["a","b"]}]}'
).encode()
BODY = (
    b"\x01\0\x03\x02"
    b"\x01\0\xfe\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0\0\0"
    b"\x01\0"
    b"\xff\xff\xff\xff\0\0\0\0"
    b"\x01\0\0\0\0\0\0\0"
)
PART = struct.pack("<I", len(HEADER)) + HEADER + BODY
"""The same bytes stand in crates/proto/src/table.rs, for the encoder."""


def test_what_the_agent_writes_is_read() -> None:
    table = decode(PART)
    assert dict(table.schema) == {
        "n": pl.UInt16,
        "o": pl.Int64,
        "f": pl.Boolean,
        "x": pl.String,
        "l": pl.Categorical,
    }
    assert table.rows() == [(1, -2, True, None, "b"), (515, None, False, "é", "a")]


def test_a_table_without_rows_has_its_columns() -> None:
    header = HEADER.replace(b'"rows":2', b'"rows":0')
    table = decode(struct.pack("<I", len(header)) + header)
    assert table.columns == ["n", "o", "f", "x", "l"]
    assert table.height == 0


@given(st.integers(0, len(PART) - 1))
def test_a_table_that_is_cut_is_refused(length: int) -> None:
    with pytest.raises((ValueError, struct.error)):
        decode(PART[:length])


def test_bytes_behind_the_last_column_are_refused() -> None:
    with pytest.raises(ValueError, match="1 bytes are behind the last column"):
        decode(PART + b"\0")
