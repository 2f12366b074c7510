"""Packets of a trial that nobody answered, by how a kernel or a link lost them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import polars as pl

from delaylab.api.causes import LOST, Drop, last_drops, loss_words
from delaylab_study.analysis.causes.passages import passages
from delaylab_study.analysis.packets.table import MEASURED
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.dataset.store import Study


def lost(study: Study, trial: TrialRecord) -> Counter[str]:
    """Return the number of packets under load that were lost, by how, in words."""
    dropped, passed = last_drops(drops(study, trial.id)), passages(study, trial.id)
    sent = study.probes(trial.id).filter(
        (pl.col("phase").cast(pl.String) == MEASURED)
        & pl.col("outcome").cast(pl.String).is_in(LOST)
    )
    return Counter(
        loss_words(dropped.get(key), [each for _, each in passed.get(key, ())], brief=True)
        for key in sent.select("probe", "seq").iter_rows()
    )


def drops(study: Study, trial: str) -> Iterator[Drop]:
    """Yield how kernels dropped packets of a trial."""
    *_, found = study.of_cpus(trial)
    for row in found.iter_rows(named=True):
        yield Drop(
            time_ns=row["time_ns"],
            probe=row["probe"],
            seq=row["seq"],
            cpu=row["cpu"],
            reason=row["reason"],
            interface=row["interface"],
            lab=None,
            place=row["part"],
        )
