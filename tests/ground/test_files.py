"""Files that conditions name: read exactly, refused with file and line, needed once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from delaylab.errors import BadInput
from delaylab.resolve.load import load_lab
from delaylab.spec.conditions.directions import conditions_of
from delaylab.spec.conditions.files import READERS
from delaylab.spec.conditions.trace import TraceSpec, read_trace
from delaylab.spec.lab import LabSpec
from delaylab.units import Rate
from delaylab_study.study_file.combine import combinations
from delaylab_study.study_file.load import load_study
from tests.plain import plain

ONCE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
LAB = "lab: x\nnodes: {a: {}, b: {}}\nlinks:\n  - between: [a, b]\n    name: wan\n"


def write(folder: Path, text: str, name: str = "file.txt") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_trace_of_mahimahi(tmp_path: Path) -> None:
    path = write(tmp_path, "0\n5\n5\n\n# one more\n12\n")
    assert read_trace(path) == {
        "kind": "opportunities",
        "at_ns": [0, 5_000_000, 5_000_000, 12_000_000],
        "period_ns": 12_000_000,
        "bytes": 1504,
    }


@pytest.mark.parametrize(
    ("text", "kind", "points"),
    [
        ("seconds,rate\n0,10Mbit\n1.5,250kbit\n", "rate", [[0, 10**7], [15 * 10**8, 250_000]]),
        ("seconds,bps\n0,1000\n", "rate", [[0, 1000]]),
        ("Seconds, Delay\n0, 20ms\n0.25, 1us\n", "delay", [[0, 2 * 10**7], [25 * 10**7, 1000]]),
        ("seconds,ms\n0,1.5\n", "delay", [[0, 1_500_000]]),
    ],
)
def test_a_trace_in_csv(tmp_path: Path, text: str, kind: str, points: list[list[int]]) -> None:
    found = read_trace(write(tmp_path, text))
    assert found == {"kind": kind, "points": points, "period_ns": None}


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("", None, "the trace is empty"),
        ("1\ntwo\n", 2, "expected milliseconds such as 17"),
        ("1\n-2\n", 2, "expected milliseconds"),
        ("5\n4\n", 2, "earlier than the one before"),
        ("0\n0\n", None, "lasts no time"),
        ("time,rate\n0,1Mbit\n", 1, "expected a header: seconds,rate"),
        ("seconds,rate\n", None, "a header and no lines"),
        ("seconds,rate\n0,1Mbit\n1,fast\n", 3, "expected a rate such as 100Mbit, got 'fast'"),
        ("seconds,rate\n0,1Mbit,2\n", 2, "expected seconds,rate; got '0,1Mbit,2'"),
        ("seconds,rate\n0,1Mbit\n\n-1,1Mbit\n", 4, "is not negative"),
        ("seconds,delay\n0,1ms\n1,1ms\n1,1ms\n", 4, "not later than the one before"),
        ("seconds,rate\n0,1Mbit\n1,0\n", None, "ends at a rate of 0"),
        ("99999999999\n", None, "within 31 days"),
        ("seconds,delay\n1,1ms\n", 2, "has to be at 0 seconds"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, text: str, line: int | None, says: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(BadInput) as caught:
        read_trace(path)
    place = f"{path}:{line}" if line else str(path)
    assert str(caught.value).startswith(f"{place}: ")
    assert says in str(caught.value)


def test_a_byte_order_mark_is_left_out(tmp_path: Path) -> None:
    """Spreadsheets write one in front, and lines that end with CR and LF."""
    trace, lab = tmp_path / "way.csv", tmp_path / "lab.yaml"
    trace.write_bytes(b"\xef\xbb\xbfseconds,rate\r\n0,10Mbit\r\n0.5,2Mbit\r\n")
    assert read_trace(trace)["points"] == [[0, 10**7], [5 * 10**8, 2 * 10**6]]
    lab.write_bytes(b"\xef\xbb\xbf" + LAB.replace("\n", "\r\n").encode())
    assert load_lab(lab).name == "x"


def test_a_trace_repeats_after_its_end_or_not_at_all(tmp_path: Path) -> None:
    write(tmp_path, "seconds,ms\n0,1\n2,5\n", "trace.csv")
    lab = write(tmp_path, LAB + "    trace: {file: trace.csv, repeat: 3s}\n", "lab.yaml")
    assert (
        plain(conditions_of(load_lab(lab).written.links[0], "a").message())["trace"]["period_ns"]
        == 3 * 10**9
    )
    lab.write_text(LAB + "    trace: {file: trace.csv, repeat: 1s}\n")
    with pytest.raises(BadInput, match="`repeat: 1s` is not after its last line"):
        load_lab(lab)
    lab.write_text(LAB + "    trace: {file: trace.csv, repaet: 1s}\n")
    with pytest.raises(BadInput, match=r"lab.yaml:6: unknown field 'repaet'"):
        load_lab(lab)


times = st.sets(st.integers(1, 10**12)).map(lambda later: [0, *sorted(later)])
points = times.flatmap(
    lambda at: st.tuples(*[st.integers(1, 10**11)] * len(at)).map(
        lambda bps: list(zip(at, bps, strict=True))
    )
)


@ONCE
@given(points)
def test_what_is_written_as_csv_reads_back(tmp_path: Path, points: list[tuple[int, int]]) -> None:
    lines = [f"{at // 10**9}.{at % 10**9:09d},{Rate(bps)}" for at, bps in points]
    found = read_trace(write(tmp_path, "\n".join(["seconds,rate", *lines])))
    assert found["points"] == [list(point) for point in points]
    TraceSpec.model_validate(found)


@ONCE
@given(st.text(alphabet="0123456789,.-\n abcdeMbitsecondrate#", max_size=80))
def test_any_file_is_a_trace_or_one_line(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    answer = f"{path}: it is one"
    try:
        TraceSpec.model_validate(read_trace(path))
    except BadInput as error:
        answer = str(error)
    assert answer.startswith(str(path))
    assert "\n" not in answer


@ONCE
@given(st.text(alphabet="01", min_size=1, max_size=60), st.integers(1, 7))
def test_a_pattern_is_its_runs(tmp_path: Path, fates: str, width: int) -> None:
    lines = [fates[i : i + width] for i in range(0, len(fates), width)]
    read = READERS["pattern"](write(tmp_path, "# 1: lost\n" + "\n".join(lines)), {})
    runs = TypeAdapter(dict[str, list[int]]).validate_python(read)["runs"]
    assert len(runs) % 2 == 0
    assert "".join("01"[i % 2] * count for i, count in enumerate(runs)) == fates
    assert all(runs[1:-1])
    as_runs = "kept,lost\n" + "\n".join(
        f"{kept},{lost}" for kept, lost in zip(runs[::2], runs[1::2], strict=True)
    )
    assert READERS["pattern"](write(tmp_path, as_runs), {}) == {"runs": runs}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("01\n012\n", ":2: expected 0"),
        ("kept,lost\n1\n", ":2: expected kept,lost such as 95,5"),
        ("kept,lost\n0,0\n", "has no packets"),
        ("# nothing\n", "the file is empty"),
    ],
)
def test_a_bad_pattern_is_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        READERS["pattern"](write(tmp_path, text), {})


def test_a_table_of_netem_counts_in_its_own_scale(tmp_path: Path) -> None:
    text = "# two\n-8192 0\n4096\n"
    assert READERS["table"](write(tmp_path, text, "my.dist"), {}) == [-1.0, 0.0, 0.5]
    assert READERS["table"](write(tmp_path, "-1, 0, 0.5"), {}) == [-1.0, 0.0, 0.5]
    with pytest.raises(BadInput, match=r":2: expected numbers, got 'x'"):
        READERS["table"](write(tmp_path, "1\nx\n"), {})


def test_files_are_found_beside_the_lab_and_needed_once(tmp_path: Path) -> None:
    write(tmp_path, "1\n2\n", "up.trace")
    write(tmp_path, "0001", "bursts.txt")
    write(tmp_path, "-1 0 1", "shape.txt")
    path = write(
        tmp_path,
        LAB + "    trace: up.trace\n    loss: {pattern: bursts.txt}\n    delay: 1ms\n"
        "    jitter: {spread: 1ms, distribution: {table: shape.txt}}\n",
        "lab.yaml",
    )
    lab = load_lab(path)
    for name in ("up.trace", "bursts.txt", "shape.txt"):
        (tmp_path / name).unlink()
    again = LabSpec.model_validate_json(lab.written.model_dump_json(by_alias=True))
    found = plain(conditions_of(again.links[0], "b").message())
    assert found["trace"]["at_ns"] == [1_000_000, 2_000_000]
    assert found["loss"]["runs"] == [3, 1]
    assert found["jitter"]["distribution"]["table"] == [-1.0, 0.0, 1.0]


def test_a_study_changes_conditions_by_the_links_name(tmp_path: Path) -> None:
    write(tmp_path, "3\n", "slow.trace")
    study = write(
        tmp_path,
        "study: s\nlab:\n  lab: x\n  nodes: {a: {}, b: {}}\n"
        "  links: [{between: [a, b], name: wan, delay: 1ms}]\n"
        "factors:\n  link:\n    long: {links.wan.delay: 9ms}\n"
        "    slow: {links.0.trace: slow.trace}\n"
        "probe: {from: a, to: b}\n",
        "study.yaml",
    )
    found = load_study(study)
    (tmp_path / "slow.trace").unlink()
    long, slow = (
        plain(conditions_of(each.lab.written.links[0], "a").message())
        for each in combinations(found, "quick")
    )
    assert long == {"delay_ns": 9_000_000}
    assert slow["trace"]["at_ns"] == [3_000_000]
    assert slow["delay_ns"] == 1_000_000


@pytest.mark.parametrize(
    ("trace", "says"),
    [
        ({"kind": "opportunities", "at_ns": [0, 7], "period_ns": 7}, "between 1 bit/s and 1 Tbit"),
        ({"kind": "rate", "points": [[0, 10**12 + 1]]}, "a rate of more than 1 Tbit/s"),
        ({"kind": "delay", "points": [[0, 3601 * 10**9]]}, "a delay of more than an hour"),
    ],
)
def test_a_trace_beyond_what_the_engine_takes(trace: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        TraceSpec.model_validate(trace)
