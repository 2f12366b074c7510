"""Packets of a trial that nobody answered, by how a kernel dropped them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import polars as pl

from delaylab.api.causes import LOST, UNSEEN_LOSS, Drop, last_drops
from delaylab_study.analysis.packets.table import MEASURED
from delaylab_study.dataset.records.trial import TrialRecord
from delaylab_study.dataset.store import Study


def lost(study: Study, trial: TrialRecord) -> Counter[str]:
    """Return the number of packets under load that were lost, by how, in words."""
    dropped = last_drops(drops(study, trial.id))
    sent = study.probes(trial.id).filter(
        (pl.col("phase").cast(pl.String) == MEASURED)
        & pl.col("outcome").cast(pl.String).is_in(LOST)
    )
    return Counter(
        dropped[key].text if key in dropped else UNSEEN_LOSS
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
