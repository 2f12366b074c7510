"""Datasets for the API: trials, packets, segments and claims."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import polars as pl

from delaylab.api.errors import DelaylabError
from delaylab.api.files import write_new
from delaylab_study.analysis.analyse import groups
from delaylab_study.analysis.claims.doubted import kinds_by_trial
from delaylab_study.analysis.claims.finding import Finding
from delaylab_study.analysis.clocks.stations import Station
from delaylab_study.analysis.convergence.recorded import seen
from delaylab_study.analysis.convergence.times import EVENTS, rows_of
from delaylab_study.analysis.doubts.machine_state import flags, hosts_by_machine
from delaylab_study.analysis.joined import names_of
from delaylab_study.analysis.packets.accounting import by_phase
from delaylab_study.analysis.packets.rtt import round_trips
from delaylab_study.analysis.packets.segments import Segment
from delaylab_study.analysis.packets.table import MEASURED, stations_of
from delaylab_study.analysis.packets.trial import TrialPackets, packets_by_way, trial_packets
from delaylab_study.analysis.statistics.quantiles import summarise
from delaylab_study.analysis.usable import usable
from delaylab_study.dataset.intact import read_intact
from delaylab_study.dataset.records.study import StudyRecord
from delaylab_study.dataset.records.tables import PROBES, PROGRESS, Schema
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.dataset.store import FACTOR, Study
from delaylab_study.papers.findings import findings
from delaylab_study.verbs.given import given

if TYPE_CHECKING:
    from delaylab.api.loading import File
    from delaylab_study.papers.paper import Paper

# Names of round trips and one-way delays in the analysis, and their columns here.
DELAYS = {
    "app": "rtt_user_ns",
    "stack": "rtt_kernel_ns",
    "vif": "rtt_vif_ns",
    "uplink": "rtt_uplink_ns",
    "wire": "rtt_wire_ns",
    "sending": "sending_one_way_ns",
    "receiving": "receiving_one_way_ns",
}
ROUND_TRIPS = {"user": "app", "kernel": "stack", "wire": "wire"}
KEYS = ("probe", "seq", "phase")
SEGMENTS: Schema = {
    "probe": pl.UInt32,
    "seq": pl.UInt32,
    "phase": pl.String,
    "step": pl.UInt32,
    "leg": pl.String,
    "from": pl.String,
    "to": pl.String,
    "layer": pl.String,
    "direction": pl.String,
    "merged": pl.Boolean,
    "delay_ns": pl.Int64,
    "bound_ns": pl.Float64,
}
WORK: Schema = {
    "work": pl.String,
    "node": pl.String,
    "kind": pl.String,
    "quota": pl.Float64,
    "unit": pl.String,
    "failed": pl.String,
    "rate": pl.Float64,
    **dict.fromkeys(("began_ns", "wall_ns", "user_ns", "system_ns"), pl.Int64),
    **dict.fromkeys(("host_cpu_ns", "vcpu_ns"), pl.Int64),
}
QUANTILES = ("median", "p90", "p99")
TRIALS: Schema = {
    "status": pl.String,
    "reason": pl.String,
    "doubts": pl.String,
    "started": pl.String,
    "ended": pl.String,
    **dict.fromkeys(("sent", "answered", "lost"), pl.UInt32),
    **{f"rtt_{name}_{quantile}_us": pl.Float64 for name in ROUND_TRIPS for quantile in QUANTILES},
}
Table = Literal["packets", "segments", "work", "trials", "events_of_each"]


@dataclass(frozen=True, slots=True)
class Dataset:
    """The dataset of a study. Tables are made on each call, from the files of its directory.

    Each table begins with the columns `trial`, `factor.NAME` for each factor, and `repeat`.
    """

    directory: Path
    study: StudyRecord
    trials: list[TrialRecord]
    _read: Study
    _paper: Paper | None = None

    @property
    def packets(self) -> pl.DataFrame:
        """Return one row for each scheduled packet of all trials that are ok.

        Columns: `probe`, `seq`, `phase` (`untapped`, `before`, `load`, `after`); `intended_ns`,
        `sent_ns`, `slip_ns`, `outcome`, `duplicates`, `reordered`; round trips `rtt_user_ns`,
        `rtt_kernel_ns`, `rtt_vif_ns`, `rtt_uplink_ns`, `rtt_wire_ns`; `sending_one_way_ns` and
        `receiving_one_way_ns`. A delay is null where one of its points did not see the packet.
        `flagged` is true if the sender's machine was disturbed when the packet was sent: its
        hypervisor took CPU time, or tasks waited for a CPU.
        """
        empty: Schema = {
            **PROBES,
            **dict.fromkeys(DELAYS.values(), pl.Int64),
            "flagged": pl.Boolean,
        }
        return self._of_trials(self._packets, empty, probed=True)

    def segments(self, phase: str | None = MEASURED) -> pl.DataFrame:
        """Return one row for each segment of each answered packet, in order of the packet's way.

        The delays of a packet sum exactly to its RTT in user space. Columns: `probe`, `seq`,
        `phase`; `step` (position on the way); `leg`, `from`, `to` (points), `layer`, `direction`,
        `merged` (it spans a point that saw nothing), `delay_ns`, and `bound_ns`, the largest error
        if two clocks stamped its ends. If packets of some trial went several ways, `way` names the
        packet's; one whose way is not known has no rows. `phase` keeps one phase, by default that
        under load; None keeps all.
        """
        several = any(len(trial.ways) > 1 for trial in self.trials)
        columns = {**SEGMENTS, "way": pl.String} if several else SEGMENTS
        return self._of_trials(lambda trial: self._segments(trial, phase), columns, probed=True)

    @property
    def work(self) -> pl.DataFrame:
        """Return one row for each work of each node in all trials that are ok.

        Columns: `work`, `node`, its `kind`, its CPU `quota` in CPUs (null if it has none), `unit`;
        `failed` (why, null if it did not); `rate` per second in that unit; `began_ns` since the
        Unix epoch; the times `wall_ns`, `user_ns`, `system_ns` by the node's own kernel,
        `host_cpu_ns` of its control group by this machine's, and `vcpu_ns`, the part of that which
        its virtual CPUs took (null if it has none).
        """

        def rows(trial: TrialRecord) -> pl.DataFrame:
            return pl.DataFrame([each.model_dump() for each in trial.work], schema=WORK)

        return self._of_trials(rows, WORK)

    def progress(self) -> pl.DataFrame:
        """Return the progress of all work, one row for each step of each node.

        Columns: `work`, `node`, `since_ns` (the time since the node began) and `done` (the amount
        by then).
        """
        return self._of_trials(lambda trial: self._read.progress(trial.id), PROGRESS)

    @property
    def events(self) -> pl.DataFrame:
        """Return one row for each event of each trial that is ok, of a lab with routing daemons.

        Columns: `number`, from 1 on, and `event`, in words; `event_ns`, when it happened, since the
        Unix epoch; `until`, the rule: `right` or `quiet`; the times after it `detected_s` (another
        router's first change of an adjacency), `last_change_s` (of a table) and `converged_s` (by
        the rule); `outage_s`, the longest black hole or loop; `late_s` by which it happened after
        its time; `cpu_bound`, true if waiting for CPUs may explain more than a tenth. What is not
        known is null.
        """

        def rows(trial: TrialRecord) -> pl.DataFrame:
            found = seen(self._read, trial)
            return pl.DataFrame(schema=EVENTS) if found is None else rows_of(found)

        return self._of_trials(rows, EVENTS)

    @property
    def by_trial(self) -> pl.DataFrame:
        """Return one row for each trial on disk, also for those that failed.

        Columns: `status`, `reason`; `doubts`, their kinds joined by commas, empty if there are
        not any; `started`, `ended`; of the packets under load how many were
        `sent`, `answered` and `lost`, and quantiles of their round trips in µs, such as
        `rtt_user_median_us`, `rtt_kernel_p90_us` and `rtt_wire_p99_us`. A value is null if the
        trial failed or has no probe, and a quantile if too few independent packets carry it.
        """
        parts = [pl.DataFrame(schema=self._schema(TRIALS))]
        doubts = kinds_by_trial([*groups(self._read)])
        for trial in self.trials:
            with usable(f"{self.directory}: {trial.id}"):
                measured = trial.status == "ok" and trial.probed
                of = self._quantiles(trial) if measured else {}
            row = {
                "status": trial.status,
                "reason": trial.reason,
                "doubts": ", ".join(doubts[trial.id]) if trial.id in doubts else None,
                "started": trial.started,
                "ended": trial.ended,
                **of,
            }
            made = pl.DataFrame([row], schema=TRIALS)
            parts.append(self._headed(trial, made, TRIALS))
        return pl.concat(parts)

    def csv(self, table: Table) -> bytes:
        """Return a table as CSV (RFC 4180) in UTF-8; `segments` are those of all phases.

        Columns are those of the tables; `_ns` in a name is its unit. A value that is null is empty.
        """
        return csv_of_all([self], table)

    def table(self, name: Table) -> pl.DataFrame:
        """Return a table by its name; `segments` has the segments of all phases."""
        tables: dict[Table, Callable[[], pl.DataFrame]] = {
            "packets": lambda: self.packets,
            "segments": lambda: self.segments(phase=None),
            "work": lambda: self.work,
            "trials": lambda: self.by_trial,
            "events_of_each": lambda: self.events,
        }
        return tables[name]()

    def write_packets(self) -> Path | None:
        """Write `packets` as `packets.parquet` into the dataset's directory; return its path.

        It is derived, as `trials.parquet` is: `run` and `report` write it. A study without packets
        has none. Raise DelaylabError if it cannot be written.
        """
        if not any(trial.probed for trial in self.trials):
            return None
        place = self.directory / "packets.parquet"
        table = io.BytesIO()
        self.packets.write_parquet(table, compression="zstd", compression_level=1)
        try:
            write_new(place, table.getvalue())
        except OSError as error:
            raise DelaylabError(f"cannot be written: {error.strerror}", str(place)) from error
        return place

    def claims(self) -> list[Finding]:
        """Return the verdict on each claim of the study, with its effect, interval and reason."""
        found = list(groups(self._read))
        with usable(str(self.directory)):
            return findings(self._read, found, self._paper)

    def report(self) -> Path:
        """Write the report into the dataset's directory, as `delaylab report`; return its path."""
        from delaylab_study.report.html import write_report  # noqa: PLC0415  charts are slow to import

        return write_report(self._read, self._paper)

    def _of_trials(
        self,
        table: Callable[[TrialRecord], pl.DataFrame],
        empty: Schema,
        *,
        probed: bool = False,
    ) -> pl.DataFrame:
        """Return a table of all trials that are ok, with the trial and its levels before it.

        With `probed`, trials without a probe have no rows.
        """
        parts = [pl.DataFrame(schema=self._schema(empty))]
        for trial in self.trials:
            if trial.status != "ok" or (probed and not trial.probed):
                continue
            with usable(f"{self.directory}: {trial.id}"):
                parts.append(self._headed(trial, table(trial), empty))
        return pl.concat(parts)

    def _schema(self, own: Schema) -> pl.Schema:
        """Return the columns of a table of several trials: what tells trials apart comes first."""
        levels = [f"{FACTOR}{name}" for name in self.study.factors]
        head = {**dict.fromkeys(["trial", *levels], pl.String), "repeat": pl.UInt32}
        return pl.Schema({**head, **own})

    def _headed(self, trial: TrialRecord, table: pl.DataFrame, own: Schema) -> pl.DataFrame:
        """Return a trial's table with the trial, its levels and its repeat before it."""
        known = {f"{FACTOR}{name}": level for name, level in trial.factors.items()}
        head = {"trial": trial.id, **known, "repeat": trial.repeat}
        whole = self._schema(own)
        made = table.with_columns(pl.lit(value).alias(name) for name, value in head.items())
        return made.select(whole.names()).cast(whole)

    def _quantiles(self, trial: TrialRecord) -> dict[str, float | None]:
        """Return the counts of a trial's packets under load, and quantiles of their round trips."""
        packets = trial_packets(self._read, trial)
        account = next(phase for phase in by_phase([packets]) if phase.phase == MEASURED)
        trips = round_trips(packets.of(MEASURED).answered)
        found: dict[str, float | None] = {
            "sent": account.sent,
            "answered": account.answered,
            "lost": account.lost.total,
        }
        for name, point in ROUND_TRIPS.items():
            summary = summarise(trips[point].drop_nulls().to_numpy())
            for quantile in QUANTILES:
                found[f"rtt_{name}_{quantile}_us"] = summary.quantiles[quantile].value
        return found

    def _packets(self, trial: TrialRecord) -> pl.DataFrame:
        packets = trial_packets(self._read, trial)
        trips = round_trips(packets.packets)
        delays = trips.select(pl.col(a).alias(b) for a, b in DELAYS.items())
        found = packets.packets.scheduled.select(PROBES.keys()).hstack(delays)
        (main, (hosts,)), *_ = hosts_by_machine(self._read, [trial]).items()
        scheduled = packets.scheduled_by(self.study.machines[main].clock).scheduled
        keys = ["probe", "seq"]
        return found.join(flags(hosts, scheduled), on=keys, how="left", maintain_order="left")

    def _segments(self, trial: TrialRecord, phase: str | None) -> pl.DataFrame:
        by_way = packets_by_way(self._read, trial)
        found = [
            _segments_of(packets if phase is None else packets.of(phase), name)
            for name, packets in by_way.on.items()
        ]
        return pl.concat(found).sort("probe", "seq", "step")


def _segments_of(packets: TrialPackets, way: str) -> pl.DataFrame:
    """Return the segments of packets that went one way."""
    steps = {station: step for step, station in enumerate(stations_of(packets.trial.way))}
    keys = packets.answered.scheduled.select(KEYS)
    parts = [
        keys[part.rows].with_columns(
            pl.lit(steps[_end(part)], pl.UInt32).alias("step"),
            pl.lit(part.leg).alias("leg"),
            pl.lit(part.start).alias("from"),
            pl.lit(part.end).alias("to"),
            pl.lit(part.layer).alias("layer"),
            pl.lit(part.direction).alias("direction"),
            pl.lit(part.merged).alias("merged"),
            pl.Series("delay_ns", part.delay_ns),
            pl.lit(part.bound_ns).alias("bound_ns"),
            pl.lit(way).alias("way"),
        )
        for part in packets.segments()
    ]
    return pl.concat([pl.DataFrame(schema={**SEGMENTS, "way": pl.String}), *parts])


def read(directory: File, *, paper: File | None = None) -> Dataset:
    """Return a dataset that `delaylab run` or `delaylab_study.run` wrote.

    `paper` is a paper's folder, whose code is then imported, or the name of an installed paper; by
    default the installed one that the study names. Trials with a damaged table have failed, with
    the reason; those with a damaged record are left out. Raise BadInput if the directory is no
    dataset, or no record of a trial can be read.
    """
    study = read_intact(Path(directory))
    return dataset_of(study, given(os.fspath(paper)) if paper else None)


def csv_of_all(datasets: Sequence[Dataset], table: Table) -> bytes:
    """Return a table of datasets of one study as CSV; several have their machine as a factor.

    Raise BadInput for datasets of different studies.
    """
    made = [each.table(table) for each in datasets]
    if datasets[1:]:
        factor, names = names_of([each._read for each in datasets])
        levels = [pl.lit(name).alias(f"{FACTOR}{factor}") for name in names]
        made = [one.select(level, pl.all()) for one, level in zip(made, levels, strict=True)]
    whole = pl.concat(made, how="diagonal")
    return whole.write_csv(line_terminator="\r\n").encode()


def dataset_of(study: Study, paper: Paper | None) -> Dataset:
    """Return the dataset of a study that was read, reported by a paper if one is given."""
    return Dataset(study.directory, study.record, study.trials, study, paper)


def _end(part: Segment) -> Station:
    return Station("reply" if part.leg == "turn" else part.leg, part.end)
