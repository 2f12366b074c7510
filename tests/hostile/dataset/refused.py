"""Datasets that are refused: each a valid one with one change, and what its error says.

Add an attack by adding a line to `CASES`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

TRIAL = "environment=netns,load=rest,repeat=1"
OTHER = "environment=netns,load=cpu,repeat=1"
MANY = 20_000
Change = Callable[[Path], object]


def study(**fields: Any) -> Change:
    """Change fields of study.json."""
    return lambda place: _json(place / "study.json", fields)


def trial(**fields: Any) -> Change:
    """Change fields of a trial.json."""
    return lambda place: _json(place / "trials" / TRIAL / "trial.json", fields)


def text(content: str | bytes, name: str = f"trials/{TRIAL}/trial.json") -> Change:
    """Replace a file's content."""
    raw = content.encode() if isinstance(content, str) else content
    return lambda place: (place / name).write_bytes(raw)


def within(old: str, new: str, name: str = f"trials/{TRIAL}/trial.json") -> Change:
    """Replace text in a file."""

    def change(place: Path) -> None:
        content = (place / name).read_text()
        assert old in content
        (place / name).write_text(content.replace(old, new, 1))

    return change


def table(name: str, *columns: pl.Expr) -> Change:
    """Change columns of a trial's table."""
    return frame(name, lambda given: given.with_columns(*columns))


def frame(name: str, of: Callable[[pl.DataFrame], pl.DataFrame]) -> Change:
    """Change a trial's table."""

    def change(place: Path) -> None:
        file = place / "trials" / TRIAL / f"{name}.parquet"
        of(pl.read_parquet(file)).write_parquet(file)

    return change


def link(name: str, to: str) -> Change:
    """Put a link in a file's place."""

    def change(place: Path) -> None:
        (place / name).unlink()
        (place / name).symlink_to(to)

    return change


def pipe(name: str) -> Change:
    """Put a named pipe that nobody writes to in a file's place."""

    def change(place: Path) -> None:
        (place / name).unlink()
        os.mkfifo(place / name)

    return change


def renamed(name: str) -> Change:
    """Rename a trial's directory."""
    return lambda place: (place / "trials" / TRIAL).rename(place / "trials" / name)


def asked(**conditions: Any) -> Change:
    """Give the trial a link of these conditions."""
    direction = {"link": "lan", "node": "probe", "port": "p", "asked": conditions}
    return trial(links=[{"host": "sut", "state": "running", "directions": [direction]}])


def _json(place: Path, fields: dict[str, Any]) -> None:
    place.write_text(json.dumps({**json.loads(place.read_text()), **fields}))


def _large(place: Path) -> None:
    with (place / "study.json").open("r+b") as file:
        file.truncate(1 << 40)


def _folder(place: Path) -> None:
    (place / "study.json").unlink()
    (place / "study.json").mkdir()


def _bomb(place: Path) -> None:
    """Three million rows in a file of a few kilobytes."""
    file = place / "trials" / TRIAL / "hosts.parquet"
    row = pl.read_parquet(file).head(1)
    pl.concat([row.sample(1_000_000, with_replacement=True)] * 3).write_parquet(file)


STUDY, STAMPS = "study.json", f"trials/{TRIAL}/stamps.parquet"
NS = pl.col("time_ns")
WAY = ["sender.app", "sender.stack"]
TRY = {"interval_ns": 0, "packets": 1, "lost": 0, "sent_in_ns": 1, "took_ns": 1, "held": True}
FLOOD = {"kind": "x", "message": "x", "remedy": "x"}

CASES: dict[str, tuple[str, Change]] = {
    # JSON itself
    "study-of-deep-lists": ("nested more than", text("[" * 100_000, STUDY)),
    "study-of-deep-objects": (
        "nested more than",
        within("{", '{"x":' + '{"a":' * 70 + "1" + "}" * 70 + ",", STUDY),
    ),
    "study-cut-short": ("damaged: ", text('{"format": 1, "study"', STUDY)),
    "study-of-a-list": ("not a JSON object", text("[1]", STUDY)),
    "study-of-nothing": ("damaged: ", text("", STUDY)),
    "study-not-utf-8": ("is not UTF-8", text(b'{"format": 1, "study": "\xff"}', STUDY)),
    "study-of-a-terabyte": ("larger than", _large),
    "study-with-a-key-twice": ("is there twice", within("{", '{"format": 2,', STUDY)),
    "study-of-many-digits": (
        "more than 40 digits",
        within('"seed": 1', '"seed": ' + "1" * 5000, STUDY),
    ),
    "study-not-a-number": ("is not a number", within('"seed": 1', '"seed": NaN', STUDY)),
    "study-of-infinity": ("is not a number", within('"seed": 1', '"seed": -Infinity', STUDY)),
    "study-beyond-doubles": (
        "more than can be counted",
        within('"seed": 1', '"seed": 1e999', STUDY),
    ),
    "trial-of-deep-lists": ("nested more than", text("[" * 100_000)),
    "trial-not-a-number": ("is not a number", within('"repeat": 1', '"repeat": NaN')),
    "trial-of-text": ("not a JSON object", text('"../../etc/passwd"')),
    # what is no file
    "study-a-pipe": ("no regular file", pipe(STUDY)),
    "study-a-device": ("no regular file", link(STUDY, "/dev/zero")),
    "study-a-link-to-itself": ("", link(STUDY, "study.json")),
    "study-a-folder": (
        "no regular file",
        _folder,
    ),
    "trial-a-pipe": ("no regular file", pipe(f"trials/{TRIAL}/trial.json")),
    "trial-a-device": ("no regular file", link(f"trials/{TRIAL}/trial.json", "/dev/zero")),
    "table-a-pipe": ("no regular file", pipe(STAMPS)),
    "table-a-device": ("no regular file", link(STAMPS, "/dev/zero")),
    "table-missing": ("the file is missing", lambda place: (place / STAMPS).unlink()),
    # the study's record
    "format-of-the-future": ("format 99", study(format=99)),
    "format-of-an-escape": ("format ", study(format="\x1b[31m")),
    "factors-a-list": ("factors", study(factors=[1])),
    "factors-others-than-the-trials": ("its factors are", study(factors={"colour": ["red"]})),
    "factor-of-a-path": ("factors", study(factors={"../x": ["a"]})),
    "planned-a-path": ("planned", study(planned=["../../x"])),
    "planned-a-dot": ("planned", study(planned=["."])),
    "planned-endless": ("planned", study(planned=["a=1,repeat=1"] * 100_001)),
    "claims-endless": ("claims", study(claims=["x"] * 2000)),
    "title-endless": ("title", study(title="x" * 30_000)),
    "title-a-number": ("title", study(title=5)),
    "machine-without-a-name": ("machines.local.hostname", study(machines={"local": {}})),
    "cores-beyond-64-bits": (
        "machines.local.cores",
        within('"cores": 2', '"cores": ' + "9" * 30, STUDY),
    ),
    # a trial's record
    "id-of-another": ("not its directory's name", trial(id=OTHER)),
    "id-a-path": ("id: ", trial(id="../../x")),
    "id-an-escape": ("id: ", trial(id="\x1b[2J")),
    "directory-renamed": ("not its directory's name", renamed("x")),
    "directory-named-by-an-escape": ("not its directory's name", renamed("\x1b[31mx")),
    "directory-named-by-a-newline": ("not its directory's name", renamed("a\nb")),
    "directory-not-utf-8": ("not its directory's name", renamed(os.fsdecode(b"\xff"))),
    "status-unknown": ("status", trial(status="great")),
    "kind-a-path": ("sender.kind", trial(sender={"node": "a", "host": "h", "kind": "../../x"})),
    "kind-an-element": ("sender.kind", trial(sender={"node": "a", "host": "h", "kind": "<b>"})),
    "sender-missing": ("has either a sender", trial(sender=None)),
    "path-missing": (
        "has either a sender, a responder and a way",
        trial(ways=[{"request": [], "reply": []}]),
    ),
    "path-without-a-start": (
        "begins at sender.app",
        trial(ways=[{"request": ["wire"], "reply": []}]),
    ),
    "path-without-an-end": ("ends at sender.app", trial(ways=[{"request": WAY, "reply": WAY}])),
    "path-in-a-circle": ("twice", trial(ways=[{"request": [*WAY, "sender.app"], "reply": []}])),
    "path-of-an-unknown-point": (
        "ways.0.request.1",
        trial(ways=[{"request": ["sender.app", "moon"], "reply": []}]),
    ),
    "path-of-an-endless-way": (
        "ways.0.request",
        trial(ways=[{"request": [f"hop{i}.near" for i in range(1, 900)], "reply": []}]),
    ),
    "warnings-endless": ("warnings", trial(warnings=[FLOOD] * MANY)),
    "interval-negative": ("interval_ns", trial(interval_ns=-5)),
    "search-at-no-interval": (
        "rate_search",
        trial(rate_search={"asked_interval_ns": 0, "interval_ns": 0, "tries": [TRY]}),
    ),
    "readings-beyond-64-bits": (
        "clock_readings",
        trial(
            clock_readings=[
                {"clock": "a", "reference": "b", "before_ns": 10**30, "other_ns": 1, "after_ns": 2}
            ]
        ),
    ),
    "counters-of-words": ("responder_icmp", trial(responder_icmp={"OutErrors": "many"})),
    # conditions of its links
    "loss-of-no-model": ("asked.loss", asked(loss={"share": 0.1})),
    "loss-of-an-unknown-model": ("asked.loss", asked(loss={"model": "luck"})),
    "loss-above-all": ("asked.loss", asked(loss={"model": "independent", "share": 7})),
    "loss-that-repeats-for-ever": (
        "asked.loss",
        asked(loss={"model": "independent", "share": 0.5, "correlation": -1}),
    ),
    "pattern-of-no-packets": ("has no packets", asked(loss={"model": "pattern", "runs": [0, 0]})),
    "rate-of-nothing": ("asked.rate", asked(rate={"bps": 0})),
    "rate-of-words": ("asked.rate", asked(rate={"bps": "fast"})),
    "queue-of-nothing": ("the queue says nothing", asked(queue={})),
    "trace-of-nothing": ("asked.trace", asked(trace={"kind": "rate"})),
    "condition-unknown": ("asked.gravity", asked(gravity=9.81)),
    # tables
    "table-of-text": ("damaged: ", text("PAR1 not a table", STAMPS)),
    "table-cut-short": ("damaged: ", lambda place: os.truncate(place / STAMPS, 100)),
    "table-empty-file": ("damaged: ", text("", STAMPS)),
    "table-that-unfolds": ("rows in", _bomb),
    "column-missing": (
        "it has no column 'clock'",
        frame("stamps", lambda given: given.drop("clock")),
    ),
    "column-of-another-type": ("column 'seq' is", table("stamps", pl.col("seq").cast(pl.Float64))),
    "column-of-lists": (
        "column 'value' is",
        table("hosts", pl.concat_list("value", "value").alias("value")),
    ),
    "leg-unknown": (
        "is no leg",
        table("stamps", pl.lit("sideways").cast(pl.Categorical).alias("leg")),
    ),
    "point-an-escape": (
        "is no point",
        table("stamps", pl.lit("\x1b[31m").cast(pl.Categorical).alias("point")),
    ),
    "clock-turned-around": (
        "is no clock",
        table("stamps", pl.lit("a\u202eb").cast(pl.Categorical).alias("clock")),
    ),
    **{
        f"{column}-of-{ord(char):x}": (
            f"is no {column}",
            table(of, pl.lit(f"a{char}b").cast(pl.Categorical).alias(column)),
        )
        for of, column, char in (
            ("stamps", "point", "\u061c"),
            ("stamps", "clock", "\u200d"),
            ("stamps", "clock", "\u3000"),
            ("stamps", "clock", "\ue000"),
        )
    },
    **{
        f"{column}-of-{ord(char):x}": (
            f"is no {column}",
            table("hosts", pl.lit(f"a{char}b").alias(column)),
        )
        for column, char in (
            ("metric", "\ufff9"),
            ("metric", "\u2028"),
            ("place", "\U000e0041"),
            ("place", "\u00ad"),
            ("machine", "\ufffb"),
        )
    },
    "phase-unknown": ("is no phase", table("probes", pl.lit("never").alias("phase"))),
    "outcome-an-element": ("is no outcome", table("probes", pl.lit("<script>").alias("outcome"))),
    "place-a-newline": ("is no place", table("hosts", pl.lit("a\nb").alias("place"))),
    "metric-empty": ("is no metric", table("hosts", pl.lit("").alias("metric"))),
    "time-missing": (
        "column 'time_ns' is empty",
        table("stamps", pl.lit(None, pl.Int64).alias("time_ns")),
    ),
    "phase-missing": (
        "column 'phase' is empty",
        table("probes", pl.lit(None, pl.String).alias("phase")),
    ),
    "time-least": (
        "times before 1970",
        table("stamps", pl.lit(-(2**63), pl.Int64).alias("time_ns")),
    ),
    "time-most": (
        "or after 2116",
        table("stamps", pl.when(NS.max() == NS).then(2**63 - 1).otherwise(NS).alias("time_ns")),
    ),
    "sent-most": ("or after 2116", table("probes", pl.lit(2**63 - 1, pl.Int64).alias("sent_ns"))),
    "slip-least": (
        "times before 1970",
        table("probes", pl.lit(-(2**63), pl.Int64).alias("slip_ns")),
    ),
    "value-not-a-number": ("not numbers", table("hosts", pl.lit(float("nan")).alias("value"))),
    "value-infinite": ("not numbers", table("hosts", pl.lit(float("inf")).alias("value"))),
    "packet-scheduled-twice": (
        "scheduled twice",
        frame("probes", lambda given: pl.concat([given, given.head(1)])),
    ),
}
