"""Placement: which host carries which node of a lab, and which interface which link."""

from delaylab.placement.interfaces import End, ends_of
from delaylab.placement.place import METHODS, Method, Placement, measured, place
from delaylab.placement.problem import Host, Infeasible, Interface, Link, Problem

__all__ = [
    "METHODS",
    "End",
    "Host",
    "Infeasible",
    "Interface",
    "Link",
    "Method",
    "Placement",
    "Problem",
    "ends_of",
    "measured",
    "place",
]
