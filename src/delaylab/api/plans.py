"""Plans: what a lab becomes on machines, and the ways that packets take."""

from __future__ import annotations

from delaylab.kinds import KINDS
from delaylab.plan.build import build
from delaylab.plan.foreseen import noticed_ns, patience_ns, until_of, until_with
from delaylab.plan.kept import KeptPlan
from delaylab.plan.model import Plan
from delaylab.plan.routed_topology import judged as judged_routes
from delaylab.plan.routed_topology import topology
from delaylab.plan.ways.outside import outside_way
from delaylab.plan.ways.path import NodePath, node_path
from delaylab.plan.ways.probe_way import PlannedHop, ProbeWay, probe_way, way_over
from delaylab.plan.wiring import destinations, wiring

__all__ = [
    "KINDS",
    "KeptPlan",
    "NodePath",
    "Plan",
    "PlannedHop",
    "ProbeWay",
    "build",
    "destinations",
    "judged_routes",
    "node_path",
    "noticed_ns",
    "outside_way",
    "patience_ns",
    "probe_way",
    "topology",
    "until_of",
    "until_with",
    "way_over",
    "wiring",
]
