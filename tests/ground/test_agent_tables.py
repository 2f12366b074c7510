"""Tables that an agent sends: what a dataset could not hold is refused, and named."""

from __future__ import annotations

import json
import struct

import polars as pl
import pytest

from delaylab.agent.measuring_requests import Probe, Tap, TapFilter, TapInterface
from delaylab.agent.observed_tables import ObservedTables
from delaylab.agent.result import AgentError, Result
from delaylab.agent.table_forms import FORMS
from delaylab.agent.tables import decode
from delaylab.dataset.records.base import LARGEST
from delaylab.trial.asked import asked_packets, asked_stamps

TYPES = {
    pl.UInt8: ("u8", "<u1"),
    pl.UInt16: ("u16", "<u2"),
    pl.UInt32: ("u32", "<u4"),
    pl.Int64: ("i64", "<i8"),
    pl.Float64: ("f64", "<f8"),
    pl.Boolean: ("bool", "?"),
}


def encoded(table: pl.DataFrame) -> bytes:
    """A table as an agent sends it (docs/protocol.md, "Tables")."""
    columns, data = list[dict[str, object]](), b""
    for values in table:
        if values.dtype == pl.String:
            texts = values.unique(maintain_order=True).drop_nulls().to_list()
            columns.append({"name": values.name, "type": "text", "values": texts})
            places = (0xFFFFFFFF if text is None else texts.index(text) for text in values)
            data += struct.pack(f"<{len(values)}I", *places)
            continue
        kind, form = TYPES[type(values.dtype)]
        column: dict[str, object] = {"name": values.name, "type": kind}
        if values.null_count():
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


@pytest.mark.parametrize("name", VALID)
def test_a_table_of_its_form_is_read(name: str) -> None:
    table = decode(name, encoded(VALID[name].with_columns(pl.lit("later").alias("version"))))
    assert table.columns == list(FORMS[name])
    assert table.equals(VALID[name])


FORGED: list[tuple[str, str, pl.Expr, str]] = [
    ("stamps", "probe", pl.lit("x"), "column 'probe' is String, not u32"),
    ("stamps", "time_ns", pl.lit(-1, pl.Int64), "below 0"),
    ("stamps", "time_ns", pl.lit(LARGEST + 1, pl.Int64), "above 2⁶²"),
    ("stamps", "time_ns", pl.lit(None, pl.Int64), "has no value in a row"),
    ("stamps", "leg", pl.lit(2, pl.UInt8), "another value than 0 and 1"),
    ("stamps", "point", pl.lit("a\x1b[2Jb"), "'point' has"),
    ("stamps", "point", pl.lit("a\u202eb"), "'point' has"),
    ("stamps", "point", pl.lit("x" * 101), "'point' has"),
    ("stamps", "point", pl.lit("x" * 20_001), "longer than 20000 characters"),
    ("packets", "outcome", pl.lit("<script>"), "'outcome' has '<script>'"),
    ("packets", "sent_ns", pl.lit(-(2**63), pl.Int64), "below 0"),
    ("packets", "outcome", pl.lit(None, pl.String), "has no value"),
    ("packets", "reordered", pl.lit(1, pl.UInt8), "is UInt8, not bool"),
    ("hosts", "value", pl.lit(float("nan")), "not a number"),
    ("hosts", "value", pl.lit(float("-inf")), "not a number"),
    ("hosts", "metric", pl.lit("program.1.</script> x"), "'metric' has"),
    ("hosts", "place", pl.lit(""), "'place' has"),
]


@pytest.mark.parametrize(("name", "column", "value", "told"), FORGED, ids=range(len(FORGED)))
def test_a_forged_column_is_named(name: str, column: str, value: pl.Expr, told: str) -> None:
    part = encoded(VALID[name].with_columns(value.alias(column)))
    result = Result(PROBE, {}, {name: [part]}, label="node.a")
    with pytest.raises(
        AgentError, match=f"^node.a: the agent sent a malformed table '{name}'"
    ) as e:
        result.table(name)
    assert told in str(e.value)


@pytest.mark.parametrize("name", VALID)
def test_a_missing_column_is_named(name: str) -> None:
    for column in VALID[name].columns:
        with pytest.raises(ValueError, match=f"it has no column '{column}'"):
            decode(name, encoded(VALID[name].drop(column)))


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
    with pytest.raises(AgentError, match=r"^node\.a: the agent sent other packets than the 4"):
        asked_packets(wrong)


def test_a_tap_stamps_at_its_own_points_alone() -> None:
    request = Tap(interfaces=[TapInterface("e", "wire")], filter=FILTER)
    table = pl.concat([stamps(point="wire"), stamps(point="sender.app")])
    result = Result(request, {}, {"stamps": [encoded(table)]}, label="host.a")
    with pytest.raises(AgentError, match=r"^host\.a: the agent sent stamps of 'sender\.app', for"):
        asked_stamps(result, ["wire"])


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
