"""An agent in a guest is the guest's: whatever it sends costs one line, and bounded memory."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from itertools import count, islice, repeat
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from delaylab.agent import bounded_json
from delaylab.agent.frames import Frame, FrameKind
from delaylab.agent.measuring_requests import Probe, Tap
from delaylab.agent.result import AgentError, Result
from delaylab.agent.table_schemas import SCHEMAS, width
from delaylab.agent.wire.sessions import Hello, LivePacket
from delaylab.agent.wire.tapping import TapFilter, TapInterface
from delaylab_study.trial.frames import frame
from tests.ground import hostile_agent as hostile
from tests.ground.hostile_agent import CHANGES, PACKETS, REQUESTS, STAMPS, Columns

ROOT = Path(__file__).parents[2]
PROBE, _, DONE = REQUESTS[0]
FILTER = TapFilter(protocol="udp", ip=4, probe=1, packets=9)
OBSERVED = REQUESTS[-1][1]
MIB_ABOVE = 500
MOST_ITEMS = bounded_json.MOST_BYTES // bounded_json.BYTES_OF_ITEM


def tables_of(stamps: Columns = STAMPS) -> dict[str, bytes]:
    return {"stamps": hostile.table("stamps", stamps), "packets": hostile.table("packets", PACKETS)}


def with_column(name: str, kind: str, values: list[Any]) -> dict[str, bytes]:
    return tables_of([(n, kind, values) if n == name else (n, k, v) for n, k, v in STAMPS])


@pytest.mark.parametrize(("request_", "tables", "done"), REQUESTS, ids=range(len(REQUESTS)))
def test_what_is_whole_is_read(request_: Any, tables: dict[str, Columns], done: Any) -> None:
    parts = {name: hostile.table(name, columns) for name, columns in tables.items()}
    result = hostile.read_all(request_, hostile.sent(parts, done))
    for name, columns in tables.items():
        found = frame(result, name)
        assert found.width == len(SCHEMAS[name])
        for column, _, values in columns:
            assert (
                found[column].cast(pl.String).to_list()
                == pl.Series(values).cast(pl.String).to_list()
            )


def test_a_row_is_as_wide_as_its_columns() -> None:
    assert {name: width(SCHEMAS[name]) for name in ("stamps", "packets", "changes")} == {
        "stamps": 4 + 4 + 1 + 4 + 8,
        "packets": 4 + 4 + 8 + 9 + 4 + 2 + 1 + 4,
        "changes": 8 + 4 + 1 + 4 + 5,
    }


WRONG: dict[str, tuple[str, dict[str, bytes]]] = {
    "leg-7": (
        "column 'leg' has values that are not from 0 to 1",
        with_column("leg", "u8", [7] * 4),
    ),
    "another-type": (
        "column 'time_ns' is not of type i64",
        with_column("time_ns", "f64", [float("nan")] * 4),
    ),
    "before-1970": ("column 'time_ns' has values", with_column("time_ns", "i64", [-1] * 4)),
    "after-2116": ("column 'time_ns' has values", with_column("time_ns", "i64", [2**62 + 1] * 4)),
    "a-column-less": ("other columns than probe, seq", tables_of(STAMPS[:-1])),
    "a-column-more": (
        "other columns than probe, seq",
        tables_of([*STAMPS, ("evil", "u8", [1] * 4)]),
    ),
    "a-column-twice": ("other columns than probe, seq", tables_of([*STAMPS[:-1], STAMPS[0]])),
    "no-point": ("column 'point' is empty", with_column("point", "label", [None] * 4)),
    "a-point-of-others": (
        "'point' has 'vif', which is not one of app, qdisc, stack",
        with_column("point", "label", ["vif"] * 4),
    ),
    "a-packet-of-others": ("column 'probe' has values", with_column("probe", "u32", [2] * 4)),
    "a-packet-never-sent": ("column 'seq' has values", with_column("seq", "u32", [0, 0, 9, 9])),
    "a-long-point": ("which is not one of", with_column("point", "label", ["x" * 301] * 4)),
    "half-a-character": ("which is not one of", with_column("point", "label", ["\ud800"] * 4)),
    "no-such-table": (
        "'evil', for which 'probe' does not ask",
        {"e": hostile.table("evil", STAMPS)},
    ),
    "a-table-of-others": ("'repeats', for which", {"e": hostile.table("repeats", STAMPS)}),
    "no-header": ("it has no header", {"stamps": b"\x06stampsab"}),
    "a-header-without-an-end": ("ends in its header", {"stamps": b"\x06stamps\xff\xff\xff\xff"}),
    "no-name": ("'', for which", {"stamps": b""}),
    "nothing": ("no table 'packets'", {}),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_table_that_breaks_its_schema_is_one_line(case: str) -> None:
    says, tables = WRONG[case]
    with pytest.raises(AgentError, match=r"^node\.b: ") as caught:
        frame(hostile.read_all(PROBE, hostile.sent(tables, DONE)), "stamps")
    assert says in str(caught.value)


@pytest.mark.parametrize("rows", ["-1", "5", "true", "1e3", "null", "1" + "0" * 30, "9" * 5000])
def test_rows_are_those_that_came(rows: str) -> None:
    whole = hostile.table("stamps", STAMPS)
    changed = whole.replace(b'"rows": 4', f'"rows": {rows}'.encode())
    at = 1 + whole[0]
    length = int.from_bytes(whole[at : at + 4], "little") + len(changed) - len(whole)
    changed = changed[:at] + length.to_bytes(4, "little") + changed[at + 4 :]
    with pytest.raises(AgentError, match=r"node\.b: the agent sent a malformed table 'stamps'"):
        hostile.read_all(PROBE, hostile.sent({"stamps": changed}, DONE))


def test_more_rows_than_were_asked_for_are_refused() -> None:
    assert isinstance(PROBE, Probe)
    most = 2 * len(PROBE.stamps) * PROBE.count
    one = hostile.frame(hostile.table("stamps", STAMPS))
    end = hostile.sent({"packets": hostile.table("packets", PACKETS)}, DONE)
    hostile.read_all(PROBE, one + end)
    with pytest.raises(AgentError, match=r"packet \d of probe 1 is stamped 3 times at '\w+'$"):
        hostile.read_all(PROBE, most // 4 * one + end)
    with pytest.raises(AgentError, match=r"^node\.b: it sent more of the table 'stamps'"):
        hostile.read_all(PROBE, (most // 4 + 1) * one + end)


def test_a_packet_is_stamped_once_at_each_interface_of_a_point() -> None:
    twice = Result(
        Tap(interfaces=[TapInterface("e0", "app"), TapInterface("e1", "app")], filter=FILTER)
    )
    once = Result(
        Tap(interfaces=[TapInterface("e0", "app"), TapInterface("e1", "stack")], filter=FILTER),
        label="node.b",
    )
    at_app = [(n, k, ["app"] * 4 if n == "point" else v) for n, k, v in STAMPS]
    for result, times in ((once, 1), (twice, 2)):
        for _ in range(times):
            result.keep_table(hostile.table("stamps", at_app))
            result.keep_table(hostile.table("repeats", at_app))
        assert frame(result, "stamps").height == 4 * times
    once.keep_table(hostile.table("repeats", at_app))
    assert frame(once, "repeats").height == 8, "a packet may come again and again"
    once.keep_table(hostile.table("stamps", at_app))
    with pytest.raises(AgentError, match=r"^node\.b: .* packet \d of probe 1 is stamped 2 times"):
        frame(once, "stamps")


def test_a_tap_answers_of_its_own_points() -> None:
    request, _, done = REQUESTS[2]
    others = [{**each, "point": "vif"} for each in done["interfaces"]]
    result = Result(request, {**done, "interfaces": others}, label="node.b")
    with pytest.raises(
        AgentError, match=r"^node\.b: .* malformed answer to 'tap': it is not of app"
    ):
        _ = result.done


def test_numbers_that_were_not_explained_are_one_line() -> None:
    request, tables, done = REQUESTS[-1]
    for at, value in (("node", 9), ("what", 77), ("value", 77)):
        changed = [(n, k, [value] * 3 if n == at else v) for n, k, v in CHANGES]
        parts = {name: hostile.table(name, columns) for name, columns in tables.items()}
        parts["changes"] = hostile.table("changes", changed)
        with pytest.raises(AgentError, match=r"^node\.b: .* that it did not explain"):
            hostile.read_all(request, hostile.sent(parts, done))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sent", -1),
        ("clock", "../../x"),
        ("clock", "<script>"),
        ("neighbour_ns", 1.5),
        ("warnings", [DONE["warnings"][0]] * 20_000),
        ("realtime", "\ud800"),
    ],
)
def test_an_answer_out_of_range_is_one_line(name: str, value: Any) -> None:
    with pytest.raises(AgentError, match=rf"^node\.b: .* malformed answer to 'probe': {name}"):
        hostile.read_all(PROBE, hostile.sent(tables_of(), {**DONE, name: value}))


@pytest.mark.parametrize("source", ["fe80::1%eth0", "192.0.2.1", None])
def test_the_address_that_answered_may_have_a_zone(source: str | None) -> None:
    packet = {"seq": 1, "outcome": "replied", "from": source}
    assert LivePacket.model_validate(packet).source == source


@pytest.mark.parametrize("source", ["u8", "", "192.0.2", "\x1b[2J", "::1%" + "x" * 100])
def test_what_answered_is_an_address(source: str) -> None:
    said = hostile.message(event={"packet": {"seq": 1, "outcome": "replied", "from": source}})
    with pytest.raises(AgentError, match=r"^node\.b: .* it sent a malformed event: "):
        hostile.read_all(PROBE, said)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b'{"done": {"x": NaN}}', "NaN is not a number"),
        (b'{"done": {"x": 1' + b"0" * 40 + b"}}", "a number is beyond 2⁶²"),
        (b'{"done": {"x": 1' + b"0" * 9000 + b"}}", "malformed message"),
        (b'{"done": {"x": -Infinity}}', "-Infinity is not a number"),
        (b'{"done": {"x": 1e999}}', "a number is too large"),
        (b'{"done": ' + b"[" * 200_000, "nested too deep"),
        (b'{"done": [' + b"{}," * MOST_ITEMS + b"{}]}", "values"),
        (b"[1]", "not a JSON object"),
    ],
    ids=range(8),
)
def test_a_message_that_is_too_much_is_one_line(said: bytes, why: str) -> None:
    ready = hostile.message(event={"ready": True})
    with pytest.raises(AgentError, match=r"^node\.b: does not speak the protocol: ") as caught:
        hostile.read_all(Hello(), ready + Frame(FrameKind.MESSAGE, said).encode())
    assert why in str(caught.value)


def judge(seed: int) -> None:
    """Check that a mutated answer is read, or is one line that names the agent."""
    request, said = hostile.scene(seed)
    try:
        hostile.read_all(request, said)
    except AgentError as error:
        where = error.where
    else:
        return
    assert where == "node.b"


@pytest.mark.parametrize("tens", range(20))
def test_a_mutated_answer_is_a_result_or_one_error(tens: int) -> None:
    for seed in range(10 * tens, 10 * tens + 10):
        judge(seed)


@pytest.mark.slow
def test_many_mutated_answers_are_results_or_errors() -> None:
    for seed in range(200, 20_000):
        judge(seed)


def test_the_seeds_reach_both_ends() -> None:
    """Some mutations are harmless, most are not: else nothing was mutated, or nothing read."""
    failed = 0
    for seed in range(200):
        try:
            hostile.read_all(*hostile.scene(seed))
        except AgentError:
            failed += 1
    assert 100 < failed < 200


def objects(count: int) -> bytes:
    """Return a message of so many objects, of three bytes each."""
    return Frame(FrameKind.MESSAGE, b'{"done":[' + b"{}," * count + b"0]}").encode()


EMPTY = {
    "rows": 0,
    "columns": [
        {"name": n, "type": k, "values": ["app"] * 5000} if k == "label" else {"name": n, "type": k}
        for n, k, _ in STAMPS
    ],
}
FLOODS = {
    "objects": lambda: objects(5 << 20),
    "many-objects": lambda: objects(21 << 20),
    "one-letter": lambda: Frame(
        FrameKind.MESSAGE, b'{"done":{"x":"' + b"a" * (15 << 20) + "\U0001f600".encode() + b'"}}'
    ).encode(),
    "wrong-items": lambda: hostile.message(done={**DONE, "warnings": [7] * 500_000}),
    "large-texts": lambda: hostile.frame(
        hostile.table(
            "stamps", [(n, k, ["x" * 200_000] * 4 if k == "label" else v) for n, k, v in STAMPS]
        )
    ),
    "empty-tables": lambda: hostile.frame(hostile.payload("stamps", EMPTY, b"")) * 2_000,
    "tables": lambda: hostile.frame(hostile.table("stamps", STAMPS)) * 300_000,
    "columns": lambda: hostile.frame(
        hostile.payload("stamps", {"rows": 0, "columns": [{"name": "a"}] * 2_000_000}, b"")
    ),
    "outputs": lambda: Frame(FrameKind.STDOUT, b"x").encode() * 500_000,
}


def observed(name: str, parts: int, **columns: Iterable[Any]) -> bytes:
    """Return parts of a table of an observation, with the texts and next hops that they need.

    They all have the values of these columns, which are without end.
    """
    sent = dict(OBSERVED)
    rows, whole = 1 << 18, b""
    kinds = {column: kind for column, kind, _ in sent.pop(name)}
    values = {column: iter(each) for column, each in columns.items()}
    for _ in range(parts):
        part = [(c, k, list(islice(values[c], rows))) for c, k in kinds.items()]
        whole += hostile.frame(hostile.table(name, part))
    return b"".join(hostile.frame(hostile.table(n, c)) for n, c in sent.items()) + whole


def observing(name: str, parts: int, **columns: Iterable[Any]) -> Callable[[], bytes]:
    return lambda: observed(name, parts, **columns)


LINKS: dict[str, Iterable[Any]] = {
    **{"time_ns": repeat(hostile.T), "node": repeat(0), "kind": repeat(1)},
    **{"what": repeat(1), "value": repeat(3)},
}
OF_ROUTES = {
    "prefixes": observing(
        "texts",
        9,
        number=count(2),
        text=(f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}/32" for i in count()),
    ),
    "next-hops": observing("hops", 9, set=count(2), device=repeat(1), gateway=repeat(None)),
    "links": observing("changes", 9, **LINKS),
    "as-many-links-as-there-may-be": observing("changes", 3, **LINKS),
}


@pytest.mark.parametrize("name", [*FLOODS, *OF_ROUTES])
def test_a_flood_takes_bounded_memory(name: str, tmp_path: Path) -> None:
    """Measured in a process of its own: its peak is that of its whole life."""
    flood = tmp_path / "flood"
    end = hostile.message(done=REQUESTS[-1][2]) if name in OF_ROUTES else b""
    flood.write_bytes(hostile.message(event={"ready": True}) + (FLOODS | OF_ROUTES)[name]() + end)
    done = subprocess.run(
        [sys.executable, "-m", "tests.ground.test_hostile_agent", name, str(flood)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    refused = name != "as-many-links-as-there-may-be"
    assert told["error"].startswith("node.b: ") == refused, told
    assert told["mib"] < MIB_ABOVE, told


def flooded(name: str, flood: Path) -> None:
    """Print the error of reading a flood, and the memory that reading it took."""
    request, tables, done = REQUESTS[-1] if name in OF_ROUTES else REQUESTS[0]
    parts = {name: hostile.table(name, columns) for name, columns in tables.items()}
    hostile.read_all(request, hostile.sent(parts, done))

    def peak() -> float:
        # What getrusage(2) says includes the process before exec(2): pytest's.
        (line,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
        return int(line) / 1024

    before, told = peak(), ""
    try:
        with flood.open("rb") as said:
            hostile.read_all(request, said)
    except AgentError as error:
        told = str(error)[:300]
    print(json.dumps({"mib": peak() - before, "error": told}))


if __name__ == "__main__":
    flooded(sys.argv[1], Path(sys.argv[2]))
