"""The parts that a paper adds to a study: claims, tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from delaylab.analysis.claims.claim import Claim
from delaylab.analysis.group import Group
from delaylab.charts.layer_table import Part
from delaylab.charts.tables import Table
from delaylab.charts.vega import Chart


def nothing(_: list[Group]) -> list[Table]:
    """Return no tables."""
    return []


def no_layer_table(_: list[Group]) -> list[Part]:
    """Return no table of layers."""
    return []


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper's claims by their ids, and the tables and charts of its report.

    `layer_table` returns the table of delays by layer, with the paper's numbers beside them.
    """

    claims: Mapping[str, Claim]
    charts: Callable[[list[Group]], list[Chart]]
    tables: Callable[[list[Group]], list[Table]] = nothing
    layer_table: Callable[[list[Group]], list[Part]] = no_layer_table
