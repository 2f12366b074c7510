"""Bias of a trial's packets by the use of the sender's machine, by its tables.

A trial judges its packets so while it runs, and the analysis comes to the same verdicts.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from delaylab.api.verdicts import BiasReason, EvidenceByUse, Meanwhile, MeasuredTime
from delaylab_study.dataset.records.feedback import Feedback
from delaylab_study.dataset.records.trial import START

MACHINE = "machine"
SENT_AGAIN = "again"
"""The phase of packets that were sent again."""
UNJUDGED = ("refused", "unsent")
"""Outcomes of packets that were never sent."""


def take(meanwhile: Meanwhile, hosts: pl.DataFrame, places: Sequence[str]) -> None:
    """Add samples of a machine, from rows of the table `hosts`."""
    wanted = hosts.filter(pl.col("place").cast(pl.String).is_in([MACHINE, *places]))
    columns = (wanted[name].to_list() for name in ("time_ns", "place", "metric", "value"))
    meanwhile.take(*columns)


def evidence_of(feedback: Feedback, hosts: pl.DataFrame) -> EvidenceByUse:
    """Return the evidence on a trial's packets, by the whole table `hosts` of the trial."""
    meanwhile = Meanwhile(feedback.cpus)
    of_machine = hosts.filter(pl.col("machine").cast(pl.String) == feedback.machine)
    take(meanwhile, of_machine, feedback.places)
    return EvidenceByUse(meanwhile, feedback.own_bps)


def times_of(probes: pl.DataFrame, stamps: pl.DataFrame) -> list[tuple[int, MeasuredTime]]:
    """Return the sequence number and the time of each packet that was sent.

    It ends with the reply's stamp in the sender's program, or with the sending if there is none.
    """
    replied = (
        stamps.filter(
            (pl.col("leg").cast(pl.String) == "reply") & (pl.col("point").cast(pl.String) == START)
        )
        .group_by("probe", "seq")
        .agg(pl.col("time_ns").max().alias("until_ns"))
    )
    sent = probes.filter(pl.col("sent_ns").is_not_null() & ~pl.col("outcome").is_in(UNJUDGED))
    keys = ["probe", "seq"]
    typed = replied.with_columns(pl.col(key).cast(sent.schema[key]) for key in keys)
    found = sent.join(typed, on=keys, how="left", maintain_order="left")
    columns = found.select("seq", "intended_ns", "sent_ns", "until_ns").iter_rows()
    return [
        (seq, MeasuredTime(due, max(due, at), max(due, at, until or 0)))
        for seq, due, at, until in columns
    ]


def reasons_of(
    evidence: EvidenceByUse, probes: pl.DataFrame, stamps: pl.DataFrame
) -> dict[int, Sequence[BiasReason] | None]:
    """Return why each packet that was sent may be biased, by its sequence number.

    Nothing if it is clean, None if the evidence does not reach it.
    """
    return {seq: evidence.reasons(time) for seq, time in times_of(probes, stamps)}
