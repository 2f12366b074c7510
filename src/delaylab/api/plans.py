"""Plans: what a lab becomes on machines, and the ways that packets take."""

from __future__ import annotations

from delaylab.kinds import KINDS
from delaylab.plan.build import build
from delaylab.plan.kept import KeptPlan
from delaylab.plan.model import Plan
from delaylab.plan.routed_topology import judged as judged_routes
from delaylab.plan.routed_topology import slowest_s, topology, why_unforeseen, why_unforeseen_with
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
    "outside_way",
    "probe_way",
    "slowest_s",
    "topology",
    "way_over",
    "why_unforeseen",
    "why_unforeseen_with",
    "wiring",
]
