"""The controls of all claims of all papers."""

from __future__ import annotations

from tests.controls import dantas2015, oliveira2022, whiteaker2011, xen_large_networks
from tests.controls.vem2006 import assignment, clocks, isolation, links, ospf, routers, sharing

CONTROLS = (
    *whiteaker2011.CONTROLS,
    *dantas2015.CONTROLS,
    *oliveira2022.CONTROLS,
    *links.CONTROLS,
    *routers.CONTROLS,
    *isolation.CONTROLS,
    *ospf.CONTROLS,
    *sharing.CONTROLS,
    *assignment.CONTROLS,
    *clocks.CONTROLS,
    *xen_large_networks.CONTROLS,
)
