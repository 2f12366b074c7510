"""Placement: which host carries which node of a lab, and which interface which link."""

from delaylab.placement.interfaces import HostEnd, ends_of
from delaylab.placement.place import METHODS, Method, Placement, measured, place
from delaylab.placement.problem import Host, Infeasible, Interface, NumberedLink, Problem

__all__ = [
    "METHODS",
    "Host",
    "HostEnd",
    "Infeasible",
    "Interface",
    "Method",
    "NumberedLink",
    "Placement",
    "Problem",
    "ends_of",
    "measured",
    "place",
]
