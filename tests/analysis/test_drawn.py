"""Packets drawn at random are judged by what they waited for, and stand for all of a trial."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

from delaylab.api.causes import Cause, HostTime
from delaylab.cli import whole
from delaylab_study.analysis.causes.drawn import (
    FEWEST_CLEAN,
    DrawnPacket,
    DrawnPackets,
    SampleBias,
    sample_bias,
)
from delaylab_study.analysis.causes.explained import looked_at
from delaylab_study.analysis.causes.quantiles import causes_of
from delaylab_study.analysis.statistics.effects import share_of_drawn
from delaylab_study.dataset import store
from delaylab_study.report import bias_words, why
from delaylab_study.trial.cpus import answered, chosen
from delaylab_study.trial.drawn import DRAWN, draw, with_drawn
from tests import synthetic
from tests.causes.dataset import SLOW_US, TENTH, write

HELD_US = SLOW_US - 3
"""The time for which a slow packet of the dataset waits for the CPU that the hog has."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("drawn") / "data", clean=True)


@pytest.fixture(scope="module")
def study(place: Path) -> store.Study:
    return store.read_study(place)


def packets() -> pl.DataFrame:
    """Return the answered packets of a trial."""
    stamps, probes = synthetic.tables(TENTH)
    app = (pl.col("leg") == "reply") & (pl.col("point") == "sender.app")
    return answered(probes, stamps.filter(app).with_columns(leg=pl.lit(1), point=pl.lit("app")))


def judged(*took: HostTime | None, rtt_ns: int = 50_000) -> DrawnPackets:
    """Return drawn packets of a trial by what was taken of each."""
    found = [DrawnPacket(seq, rtt_ns, each) for seq, each in enumerate(took)]
    return DrawnPackets(found, np.full(1000, 2_000_000))


CLEAN = HostTime({}, unknown_ns=0, waited_ns=0)
UNSEEN = HostTime({}, unknown_ns=10**9, waited_ns=0)
HELD = HostTime({Cause.HELD: 2_000_000, Cause.SOFTIRQ: 1000}, unknown_ns=0, waited_ns=0)


def bias(*trials: DrawnPackets) -> SampleBias:
    found = sample_bias(trials)
    assert found is not None
    return found


def test_of_a_trial_as_many_packets_are_drawn_as_there_are_at_most_and_the_same_again() -> None:
    found = chosen(packets())
    drawn = found.filter("drawn")
    assert len(drawn) == DRAWN
    assert set(drawn["phase"]) == {"load"}
    assert not found.select("probe", "seq").is_duplicated().any()
    assert set(drawn["seq"]) == set(
        chosen(packets().sample(fraction=1, shuffle=True)).filter("drawn")["seq"]
    )
    assert draw(50, seed=1) == [*range(50)]
    assert draw(1000, seed=1) != draw(1000, seed=2)


def test_a_packet_that_is_drawn_and_something_else_is_kept_once() -> None:
    load = packets().filter(pl.col("phase") == "load")
    kept = load.with_columns(usual=pl.col("seq") % 2 == 0)
    found = with_drawn(kept, load)
    assert len(found) == len(kept)
    assert found["drawn"].sum() == DRAWN
    assert found.sort("seq")["usual"].to_list() == kept.sort("seq")["usual"].to_list()
    nothing = with_drawn(kept.clear(), load.clear())
    assert nothing.schema["drawn"] == pl.Boolean
    assert len(nothing) == 0


@given(st.permutations(range(300)))
def test_which_packets_are_drawn_does_not_depend_on_their_delays(took_ns: list[int]) -> None:
    """Packets that are selected by their delay make any machine look quick."""
    load = pl.DataFrame({"probe": [7] * 300, "seq": range(300), "took_ns": took_ns})
    kept = load.clear().with_columns(usual=pl.lit(value=None, dtype=pl.Boolean))
    assert with_drawn(kept, load)["seq"].sort().to_list() == draw(300, seed=7)


def test_the_share_of_biased_packets_the_reasons_and_the_clean_median_are_found(
    study: store.Study,
) -> None:
    found = causes_of(study, study.trials).bias
    assert found is not None
    assert found.drawn == DRAWN
    low, high = found.biased.interval
    assert low < 0.1 < high
    assert low < found.biased.value < high
    assert found.unknown.value == 0
    (reason,) = found.reasons
    assert (reason.cause, reason.packets) == (Cause.HELD, DRAWN - found.clean)
    assert reason.median_ns == pytest.approx(HELD_US * 1000, rel=0.001)
    trips = looked_at(study, study.trials[0]).drawn.rtts_ns / 1000
    assert found.clean_median.value == trips.min()
    assert found.raw.median.value == np.median(trips)
    assert found.raw.n == len(trips) == TENTH.packets


def test_tables_without_the_column_are_read_and_nothing_is_said_of_samples(
    tmp_path: Path,
) -> None:
    place = write(tmp_path / "data")
    (windows,) = place.glob("trials/*/windows.parquet")
    pl.read_parquet(windows).drop("drawn").write_parquet(windows)
    study = store.read_study(place)
    assert causes_of(study, study.trials).bias is None
    assert not study.of_cpus(study.trials[0].id)[0]["drawn"].any()
    found = looked_at(study, study.trials[0])
    assert len(found.packets) > 100
    assert "drawn at random" not in printed(study)


def test_a_packet_that_not_all_points_saw_is_unknown(tmp_path: Path) -> None:
    place = write(tmp_path / "data", clean=True)
    study = store.read_study(place)
    (trial,) = study.trials
    drawn = study.of_cpus(trial.id)[0].filter("drawn")["seq"].unique().sort()[:30]
    file = study.table_file(trial.id, "stamps")
    unseen = (pl.col("point").cast(pl.String) == "wire") & pl.col("seq").is_in(drawn.implode())
    pl.read_parquet(file).filter(~unseen).write_parquet(file)
    found = bias(looked_at(study, trial).drawn)
    assert found.unknown.value == 30 / DRAWN


def test_below_twenty_clean_packets_there_is_no_estimate() -> None:
    few = bias(judged(*[CLEAN] * (FEWEST_CLEAN - 1), *[HELD] * 100))
    assert few.clean == FEWEST_CLEAN - 1
    assert few.clean_median.value is None
    assert "needs 20 clean packets" in few.clean_median.why
    assert "A clean median needs 20 clean packets, and there are 19." in said(few)
    assert "The median user RTT is 2.00 ms" in said(few)
    assert bias(judged(*[CLEAN] * FEWEST_CLEAN, HELD)).clean_median.value == 50.0
    assert sample_bias([judged()]) is None


def test_shares_add_up_and_each_reason_has_its_packets() -> None:
    found = bias(judged(*[CLEAN] * 30, *[HELD] * 60, *[UNSEEN] * 8, None, None))
    assert (found.drawn, found.clean) == (100, 30)
    assert (found.biased.value, found.unknown.value) == (0.6, 0.1)
    (reason,) = found.reasons
    assert (reason.cause, reason.packets, reason.median_ns) == (Cause.HELD, 60, 2_000_000)
    assert said(found).startswith("At least 60 % [")
    assert "10 % [" in said(found)
    assert "run-queue wait (60 packets, at least 2.00 ms in the median)" in said(found)


@given(
    st.lists(st.sampled_from([CLEAN, UNSEEN, HELD, None]), min_size=1, max_size=60),
    st.lists(st.integers(1, 10**10), min_size=60, max_size=60),
)
def test_the_verdicts_do_not_depend_on_the_round_trips(
    took: Sequence[HostTime | None], rtts_ns: Sequence[int]
) -> None:
    one = judged(*took)
    other = replace(
        one,
        packets=[replace(each, rtt_ns=ns) for each, ns in zip(one.packets, rtts_ns, strict=False)],
    )
    ours, theirs = bias(one), bias(other)
    assert (ours.biased, ours.unknown, ours.clean) == (theirs.biased, theirs.unknown, theirs.clean)
    assert ours.reasons == theirs.reasons


def test_the_interval_of_a_share_covers_what_trials_differ_by() -> None:
    same = [np.arange(100) % 4 == 0 for _ in range(3)]
    differ = [np.arange(100) % 100 < count for count in (5, 25, 45)]
    narrow, wide = share_of_drawn(same), share_of_drawn(differ)
    assert narrow.value == wide.value == 0.25
    assert wide.interval[0] < narrow.interval[0] < 0.25 < narrow.interval[1] < wide.interval[1]
    alone = share_of_drawn([np.arange(300) % 4 == 0])
    assert alone.interval == pytest.approx(narrow.interval)


def said(found: SampleBias) -> str:
    return " ".join(bias_words.sentences(found))


def printed(study: store.Study) -> str:
    """Return what `why` prints of a study."""
    console = Console(file=io.StringIO(), width=200)
    why.show([looked_at(study, study.trials[0])], [], console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_why_says_it_in_a_paragraph_of_80_columns_and_for_scripts(
    study: store.Study, place: Path
) -> None:
    lines = printed(study).splitlines()
    first = next(at for at, line in enumerate(lines) if "drawn at random are biased" in line)
    assert "50 µs or more" in " ".join(lines[first : first + 2])
    assert max(map(len, lines[first:])) <= 80
    ran = CliRunner().invoke(whole(), ["why", str(place), "--json"])
    assert ran.exit_code == 0, ran.exception
    (levels,) = json.loads(ran.stdout)["levels"]
    drawn = levels["drawn"]
    assert drawn["packets"] == DRAWN
    assert drawn["biased_share_interval"][0] < 0.1 < drawn["biased_share_interval"][1]
    assert drawn["clean_median_us"] < drawn["biased_by"]["run-queue wait"]["median_ns"] / 1000


def test_the_report_has_it_in_the_terminal_on_the_page_and_as_a_table(place: Path) -> None:
    ran = CliRunner().invoke(whole(), ["show", str(place)])
    assert "drawn at random are biased" in ran.stdout
    ran = CliRunner().invoke(whole(), ["show", str(place), "--csv", "biased"])
    (of,) = csv.DictReader(io.StringIO(ran.stdout), strict=True)
    assert int(of["drawn"]) == DRAWN
    assert float(of["biased_share_low"]) < 0.1 < float(of["biased_share_high"])
    assert float(of["by_run_queue_wait_at_least_us"]) == pytest.approx(HELD_US, rel=0.001)
    assert int(of["clean"]) == DRAWN - int(of["by_run_queue_wait_packets"])
    page = place / "report.html"
    ran = CliRunner().invoke(whole(), ["report", str(place)])
    assert ran.exit_code == 0, ran.exception
    assert "Biased samples" in page.read_text(encoding="utf-8")
