"""Tables that an agent sends: what a dataset could not hold is refused, and named."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from delaylab.agent.measuring_requests import Probe, Tap, Watch
from delaylab.agent.observed_tables import ObservedTables
from delaylab.agent.requests import Request
from delaylab.agent.result import AgentError, Result
from delaylab.agent.table_schemas import SCHEMAS, Schema
from delaylab.agent.tables import decode as plain_values
from delaylab.agent.wire.measuring import WatchPlace
from delaylab.agent.wire.tapping import TapFilter, TapInterface
from delaylab.records.base import LARGEST
from delaylab.verbs.ping.tables import packets_of
from delaylab_study.trial.asked import asked_packets
from delaylab_study.trial.frames import decode, frame

TYPES = {
    pl.UInt8: ("u8", "<u1"),
    pl.UInt16: ("u16", "<u2"),
    pl.UInt32: ("u32", "<u4"),
    pl.Int64: ("i64", "<i8"),
    pl.Float64: ("f64", "<f8"),
    pl.Boolean: ("bool", "?"),
}
NULLABLE = (("sent_ns", "i64"), ("value", "u32"))


def encoded(table: pl.DataFrame) -> bytes:
    """A table as an agent sends it (docs/protocol.md, "Tables")."""
    columns, data = list[dict[str, object]](), b""
    for values in table:
        if values.dtype == pl.String:
            texts = values.unique(maintain_order=True).drop_nulls().to_list()
            kind = "label" if values.name == "point" else "text"
            columns.append({"name": values.name, "type": kind, "values": texts})
            places = (0xFFFFFFFF if text is None else texts.index(text) for text in values)
            data += struct.pack(f"<{len(values)}I", *places)
            continue
        kind, form = TYPES[type(values.dtype)]
        column: dict[str, object] = {"name": values.name, "type": kind}
        if values.null_count() or (values.name, kind) in NULLABLE:
            column["nullable"] = True
            data += values.is_not_null().to_numpy().tobytes()
        columns.append(column)
        data += values.fill_null(0).to_numpy().astype(form).tobytes()
    header = json.dumps({"rows": len(table), "columns": columns}).encode()
    return struct.pack("<I", len(header)) + header + data


def stamps(seqs: range = range(4), point: str = "app") -> pl.DataFrame:
    return pl.DataFrame({"seq": seqs}, {"seq": pl.UInt32}).select(
        pl.lit(7, pl.UInt32).alias("probe"),
        "seq",
        pl.lit(0, pl.UInt8).alias("leg"),
        pl.lit(point).alias("point"),
        pl.lit(1_700_000_000_000_000_000, pl.Int64).alias("time_ns"),
    )


def packets(seqs: range = range(4)) -> pl.DataFrame:
    return pl.DataFrame({"seq": seqs}, {"seq": pl.UInt32}).select(
        pl.lit(7, pl.UInt32).alias("probe"),
        "seq",
        pl.lit(5, pl.Int64).alias("intended_ns"),
        pl.when(pl.col("seq") > 0).then(pl.lit(6, pl.Int64)).alias("sent_ns"),
        pl.lit("replied").alias("outcome"),
        pl.lit(0, pl.UInt16).alias("duplicates"),
        pl.lit(value=False).alias("reordered"),
        pl.lit(None, pl.String).alias("error"),
    )


PROBE = Probe(
    probe=7,
    protocol="icmp",
    to="192.0.2.1",
    count=4,
    interval_ns=1,
    size=56,
    linger_ns=1,
    late_ns=1,
)
FILTER = TapFilter(protocol="icmp", ip=4)
HOSTS = pl.DataFrame({"time_ns": [5], "place": ["a"], "metric": ["cpus"], "value": [0.5]})
VALID = {"stamps": stamps(), "repeats": stamps(), "packets": packets(), "hosts": HOSTS}
REQUESTS: dict[str, Request[Any]] = {
    "stamps": PROBE,
    "repeats": Tap(interfaces=[TapInterface("e", "app")], filter=FILTER),
    "packets": PROBE,
    "hosts": Watch(interval_ns=1, places=[WatchPlace("a", 1, {})]),
}


@pytest.mark.parametrize("name", VALID)
def test_a_table_of_its_form_is_read(name: str) -> None:
    table = frame(Result(REQUESTS[name], {}, {name: [encoded(VALID[name])]}), name)
    assert table.columns == list(SCHEMAS[name])
    assert table.with_columns(pl.col(pl.Categorical).cast(pl.String)).equals(VALID[name])


FORGED: list[tuple[str, str, pl.Expr, str]] = [
    ("stamps", "probe", pl.lit("x"), "column 'probe' is not of type u32"),
    ("stamps", "probe", pl.lit(8, pl.UInt32), "'probe' has values that are not from 7 to 7"),
    ("stamps", "seq", pl.lit(4, pl.UInt32), "'seq' has values that are not from 0 to 3"),
    ("stamps", "time_ns", pl.lit(-1, pl.Int64), "not from 0 to"),
    ("stamps", "time_ns", pl.lit(LARGEST + 1, pl.Int64), f"not from 0 to {LARGEST}"),
    ("stamps", "time_ns", pl.lit(None, pl.Int64), "'time_ns' is not of type i64"),
    ("stamps", "leg", pl.lit(2, pl.UInt8), "'leg' has values that are not from 0 to 1"),
    ("stamps", "point", pl.lit("a\x1b[2Jb"), "'point' has"),
    ("stamps", "point", pl.lit("a\u202eb"), "'point' has"),
    ("stamps", "point", pl.lit("x" * 101), "'point' has"),
    ("stamps", "point", pl.lit("vif"), "'point' has 'vif', which is not one of app, qdisc, stack"),
    ("packets", "outcome", pl.lit("<script>"), "'outcome' has '<script>'"),
    ("packets", "sent_ns", pl.lit(-(2**63), pl.Int64), "not from 0 to"),
    ("packets", "outcome", pl.lit(None, pl.String), "is empty in some rows"),
    ("packets", "reordered", pl.lit(1, pl.UInt8), "is not of type bool"),
    ("hosts", "value", pl.lit(float("nan")), "not numbers"),
    ("hosts", "value", pl.lit(float("-inf")), "not numbers"),
    ("hosts", "metric", pl.lit("program.1.</script> x"), "'metric' has"),
    ("hosts", "place", pl.lit("b"), "'place' has 'b', which is not one of a, machine"),
]


@pytest.mark.parametrize(("name", "column", "value", "told"), FORGED, ids=range(len(FORGED)))
def test_a_forged_column_is_named(name: str, column: str, value: pl.Expr, told: str) -> None:
    part = encoded(VALID[name].with_columns(value.alias(column)))
    result = Result(REQUESTS[name], {}, {name: [part]}, label="node.a")
    with pytest.raises(
        AgentError, match=f"^node.a: the agent sent a malformed table '{name}'"
    ) as e:
        frame(result, name)
    assert told in str(e.value)


@pytest.mark.parametrize("name", VALID)
def test_columns_are_those_of_the_table(name: str) -> None:
    valid = VALID[name]
    others = [valid.drop(column) for column in valid.columns]
    others += [valid.with_columns(pl.lit(1.0).alias("more")), valid[valid.columns[::-1]]]
    for other in others:
        with pytest.raises(ValueError, match=f"it has other columns than {valid.columns[0]}, "):
            decode(SCHEMAS[name], encoded(other))


@pytest.mark.parametrize(
    "sent",
    [
        packets(range(3)),
        packets(range(5)),
        packets(range(1, 5)),
        pl.concat([packets(range(3)), packets(range(1))]),
        packets().with_columns(pl.lit(8, pl.UInt32).alias("probe")),
    ],
    ids=["fewer", "more", "others", "twice", "of-another-probe"],
)
def test_a_probe_accounts_for_the_packets_that_were_asked(sent: pl.DataFrame) -> None:
    right = Result(PROBE, {}, {"packets": [encoded(packets())]})
    assert asked_packets(right).height == 4
    wrong = Result(PROBE, {}, {"packets": [encoded(sent)]}, label="node.a")
    told = r"^node\.a: .*(other packets than the 4|'(probe|seq)' has)"
    with pytest.raises(AgentError, match=told):
        asked_packets(wrong)


def test_a_tap_stamps_at_its_own_points_alone() -> None:
    request = Tap(interfaces=[TapInterface("e", "wire")], filter=FILTER)
    table = pl.concat([stamps(point="wire"), stamps(point="sender.app")])
    result = Result(request, {}, {"stamps": [encoded(table)]}, label="host.a")
    told = r"^host\.a: .* column 'point' has 'sender\.app', which is not one of wire$"
    with pytest.raises(AgentError, match=told):
        frame(result, "stamps")


BYTES = st.lists(
    st.tuples(st.integers(0, 1 << 16), st.sampled_from([0, 1, 2, 0x7F, 0x80, 0xFF])), max_size=3
)
"""Bytes that are damaged, each with its place from the end and its new value."""


@settings(max_examples=300)
@given(st.sampled_from(sorted(VALID)), st.integers(0, 3), BYTES, st.integers(0, 2))
@example(name="hosts", rows=1, damage=[(0, 0x7F), (1, 0xFF)], cut=0)
@example(name="packets", rows=2, damage=[(30, 2)], cut=0)
def test_plain_values_and_frames_are_of_the_same_parts(
    name: str, rows: int, damage: list[tuple[int, int]], cut: int
) -> None:
    """Numpy checks millions of stamps, plain Python what a lab asks: neither may let more pass."""
    part = bytearray(encoded(VALID[name].head(rows)))
    for place, value in damage:
        part[-1 - place % len(part)] = value
    schema = REQUESTS[name].schema(name)
    sent = bytes(part[: len(part) - cut])
    assert outcome(lambda: plain_table(schema, sent)) == outcome(lambda: framed(schema, sent))


def outcome(read: Callable[[], object]) -> object:
    try:
        return read()
    except ValueError as error:
        return str(error)


def framed(schema: Schema, part: bytes) -> dict[str, list[object]]:
    return decode(schema, part).to_dict(as_series=False)


def plain_table(schema: Schema, part: bytes) -> dict[str, list[object]]:
    rows = plain_values(schema, part)
    kinds = (rows.numbers, rows.fractions, rows.texts, rows.some_numbers, rows.some_texts)
    found = {name: [*values] for columns in kinds for name, values in columns.items()}
    return {name: found[name] for name in schema}


@pytest.mark.parametrize("times", [1, 2, 3])
def test_both_forms_refuse_a_packet_that_is_stamped_too_often(times: int) -> None:
    request = Tap(
        interfaces=[TapInterface(name, "app") for name in ("e0", "e1")],
        filter=replace(FILTER, probe=7),
    )
    result = Result(request, {}, {"stamps": [encoded(stamps(range(5, 6)))] * times})
    told = []
    for read in (lambda: frame(result, "stamps"), lambda: result.rows("stamps")):
        try:
            read()
        except AgentError as error:
            told.append(str(error))
    what = "packet 5 of probe 7 is stamped 3 times at 'app'"
    assert told == [f"the agent sent a malformed table 'stamps': {what}"] * 2 * (times > 2)


def test_later_rows_of_a_packet_count() -> None:
    """A packet that was lost has another row once its reply comes."""
    late = packets(range(1, 2)).with_columns(pl.lit("late").alias("outcome"))
    first = packets(range(3)).with_columns(pl.lit("lost").alias("outcome"))
    sent = {"packets": [*map(encoded, (first, late))], "stamps": [encoded(stamps(range(3)))]}
    result = Result(PROBE, {}, sent)
    fates = ["lost", "late", "lost"]
    assert frame(result, "packets")["outcome"].to_list() == fates
    found = packets_of(result)
    assert [(each.seq, each.outcome, each.slip_ns) for each in found] == [
        *((seq, fate, slip) for seq, fate, slip in zip(range(3), fates, (None, 1, 1), strict=True))
    ]
    assert {each.rtt_user_ns for each in found} == {None}


TEXTS = pl.DataFrame(
    {"number": [0, 1], "text": ["e\x1b[2J 0", "192.0.2.0/24"]},
    {"number": pl.UInt32, "text": pl.String},
)
HOPS = pl.DataFrame(
    {"set": [1], "device": [0], "gateway": ["192.0.2.1"]},
    {"set": pl.UInt32, "device": pl.UInt32, "gateway": pl.String},
)
CHANGES = pl.DataFrame(
    {"time_ns": [5], "node": [0], "kind": [0], "what": [1], "value": [1]},
    {
        "time_ns": pl.Int64,
        "node": pl.UInt32,
        "kind": pl.UInt8,
        "what": pl.UInt32,
        "value": pl.UInt32,
    },
)


def observed(**tables: pl.DataFrame) -> ObservedTables:
    found = ObservedTables([["r"]])
    sent = {"texts": TEXTS, "hops": HOPS, "changes": CHANGES} | tables
    assert found.take({name: [encoded(table)] for name, table in sent.items()})
    return found


def test_a_device_of_an_odd_name_has_one_that_a_dataset_can_hold() -> None:
    (change,) = ObservedTables([["r"]]).take(
        {name: [encoded(t)] for name, t in (("texts", TEXTS), ("hops", HOPS), ("changes", CHANGES))}
    )
    assert [hop.device for hop in change.hops or ()] == ["e_[2J_0"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("texts", "text", pl.lit("not/a/prefix")),
        ("texts", "number", pl.lit(9, pl.UInt32)),
        ("hops", "gateway", pl.lit("\x1b[2J")),
        ("hops", "device", pl.lit(99, pl.UInt32)),
        ("changes", "what", pl.lit(99, pl.UInt32)),
        ("changes", "value", pl.lit(99, pl.UInt32)),
        ("changes", "node", pl.lit(99, pl.UInt32)),
        ("changes", "time_ns", pl.lit(-1, pl.Int64)),
    ],
)
def test_forged_routes_are_one_error(table: str, column: str, value: pl.Expr) -> None:
    given = {"texts": TEXTS, "hops": HOPS, "changes": CHANGES}[table]
    assert observed()
    with pytest.raises(AgentError, match="malformed table of routes"):
        observed(**{table: given.with_columns(value.alias(column))})
