"""Lab files: their models, and the way from a file to a lab."""

from __future__ import annotations

from delaylab.resolve.counts import with_counts
from delaylab.resolve.load import OF_STUDIES, refuse_foreign, want_lab
from delaylab.resolve.load import checked as checked_lab
from delaylab.resolve.load import says as says_lab
from delaylab.resolve.resolve import lab_from_data, resolve
from delaylab.spec.conditions.files import with_files
from delaylab.spec.lab import IpVersion, LabSpec
from delaylab.spec.machine import MachineSpec
from delaylab.spec.names import Names as NamesInFile
from delaylab.spec.names import links_of, named_links, origins
from delaylab.spec.names import names as names_in
from delaylab.spec.programs import BoundUdp, ListensTcp
from delaylab.spec.routing.model import RoutingSpec
from delaylab.spec.sysctls import CONGESTION_CONTROL
from delaylab.verbs.schema import generated as schema_of_generated
from delaylab.verbs.schema import with_dialect

__all__ = [
    "CONGESTION_CONTROL",
    "OF_STUDIES",
    "BoundUdp",
    "IpVersion",
    "LabSpec",
    "ListensTcp",
    "MachineSpec",
    "NamesInFile",
    "RoutingSpec",
    "checked_lab",
    "lab_from_data",
    "links_of",
    "named_links",
    "names_in",
    "origins",
    "refuse_foreign",
    "resolve",
    "says_lab",
    "schema_of_generated",
    "want_lab",
    "with_counts",
    "with_dialect",
    "with_files",
]
