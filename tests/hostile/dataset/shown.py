"""Datasets of strangers that are shown, harmlessly: each a valid one with one change."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from tests.hostile.dataset.refused import Change, asked, frame, study, table, trial

ESCAPES = (
    "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eevil\u2066\r\x00\ud800\u061c\ufff9\u2028\u00ad\U000e0041"
)
ELEMENTS = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>&amp;{{7*7}}]]>"
MARKUP = "[bold red]x[/bold red][link=http://x]y[/link][/] :boom:"
WORST = f"{ESCAPES} {ELEMENTS} {MARKUP}"
NAME = "<script>alert(1)</script>\"'><img/src=http://127.0.0.1:9/x/onerror=alert(1)>[bold]"
"""A hostile name of a program or an interface: tables refuse names with spaces or controls."""
FACTORS = {"environment": ["netns"], "load": ["rest", "cpu", WORST]}

TEXTS = {
    "warnings": [{"kind": WORST, "message": WORST, "remedy": WORST}],
    "absent": {WORST: WORST},
    "loads": [{"load": WORST, "on": WORST, "asked": WORST, "achieved": {WORST: 1.0}}],
    "taps": [{"point": WORST, "packets": 1, "dropped": 1}],
}


def everywhere(place: Path) -> None:
    """Put the worst text wherever text may be."""
    study(title=WORST, study=WORST, scale=WORST, created=WORST, claims=[WORST])(place)
    trial(factors={"environment": WORST, "load": WORST}, **TEXTS)(place)


def programs(given: pl.DataFrame) -> pl.DataFrame:
    """Have a program, an interface and a stopped process of a hostile name at each reading."""
    times = given.select(pl.col("time_ns").unique().sort())
    metrics = {
        "machine": (
            *("processes", f"program.1.{NAME}", f"program.0.{NAME}"),
            *(f"group.{NAME}"[:100], f"{NAME}.backlog"),
        ),
        NAME: ("cpus", f"stopped.{NAME}"[:100]),
    }
    rows = [
        times.select(
            "time_ns",
            pl.lit(str(given["machine"][0])).alias("machine"),
            pl.lit(place).alias("place"),
            pl.lit(metric).alias("metric"),
            pl.lit(1.5).alias("value"),
        )
        for place, of_place in metrics.items()
        for metric in of_place
    ]
    dropped = times.with_row_index("value").select(
        "time_ns",
        pl.lit(str(given["machine"][0])).alias("machine"),
        pl.lit(NAME).alias("place"),
        pl.lit(f"{NAME[:80]}.tx_dropped").alias("metric"),
        pl.col("value").cast(pl.Float64),
    )
    return pl.concat([given, *rows, dropped])


CASES: dict[str, Change] = {
    "everywhere": everywhere,
    "title": study(title=WORST),
    "names": study(study=WORST, scale=WORST, created=WORST),
    "claims-unknown": study(claims=[WORST, "network-adds-most", "loss-as-asked"]),
    "level": study(factors=FACTORS),
    "level-of-a-trial": trial(factors={"environment": WORST, "load": WORST}),
    "warnings": trial(warnings=TEXTS["warnings"]),
    "reason": trial(status="failed", reason=WORST),
    "absent": trial(absent=TEXTS["absent"]),
    "loads": trial(loads=TEXTS["loads"]),
    "taps": trial(taps=TEXTS["taps"]),
    "of-a-paper-that-it-is-not": study(spec={"source": "oliveira2022"}, claims=["virtio-lowest"]),
    "of-a-paper-that-nobody-has": study(spec={"source": WORST * 100}, claims=["virtio-lowest"]),
    "of-a-paper-that-is-no-text": study(spec={"source": {"a": [1]}}),
    "no-stamps": frame("stamps", lambda given: given.clear()),
    "no-packets": frame("probes", lambda given: given.clear()),
    "no-record-of-the-machine": frame("hosts", lambda given: given.clear()),
    "programs": frame("hosts", programs),
    "all-lost": table("probes", pl.lit("lost").alias("outcome")),
    "all-at-once": table("stamps", pl.lit(1, pl.Int64).alias("time_ns")),
    "stamps-twice": frame("stamps", lambda given: pl.concat([given, given])),
    "clocks-of-every-stamp": table(
        "stamps", ("c" + pl.int_range(pl.len()).cast(pl.String)).cast(pl.Categorical).alias("clock")
    ),
    "link-unused": asked(delay_ns=5_000_000, loss={"model": "independent", "share": 0.5}),
}

REPORTED = (
    *("everywhere", "reason", "of-a-paper-that-it-is-not", "of-a-paper-that-nobody-has"),
    *("no-stamps", "no-packets", "programs"),
    *("all-at-once", "clocks-of-every-stamp", "link-unused"),
)
"""Cases for which the report is written as well, which takes longer."""
