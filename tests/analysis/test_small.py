"""Delays that are kept of all groups take little memory, and are what they were."""

from __future__ import annotations

import polars as pl

from delaylab_study.analysis.packets.rtt import small


def test_delays_that_fit_take_half_the_memory_and_none_takes_nothing() -> None:
    most = 2**31 - 1
    given = {
        "fits": pl.Series([most, None, -most]),
        "too long": pl.Series([most + 1, None, 0]),
        "unknown": pl.Series([None, None, None], dtype=pl.Int64),
        "text": pl.Series(["a", "b", "c"]),
    }
    found = small([column.alias(name) for name, column in given.items()])
    assert found.schema == {
        "fits": pl.Int32,
        "too long": pl.Int64,
        "unknown": pl.Null,
        "text": pl.String,
    }
    assert {name: found[name].to_list() for name in given} == {
        name: column.to_list() for name, column in given.items()
    }
