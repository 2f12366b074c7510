"""Names of interfaces that a source gives, as far as a lab file can have them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from delaylab.spec.base import INTERFACE
from delaylab.spec.devices import OF_KERNEL, TAKEN, WAY_OUT, short
from delaylab.topology import remarks as odd
from delaylab.topology.model import MapLink
from delaylab.topology.remarks import Remarks

FORBIDDEN = TAKEN | OF_KERNEL | {WAY_OUT}


def with_devices(links: Sequence[MapLink], remarks: Remarks) -> list[MapLink]:
    """Return links that name interfaces as the source does, where a node can have such a one.

    An interface whose name no node can have, or which its node has twice, is named as its link.
    """
    times = Counter((node, name) for link in links for node, name in link.devices.items())
    made = {
        (node, short(link.name)) for link in links for node in link.ends if node not in link.devices
    }
    found = []
    for link in links:
        kept: Mapping[str, str] = {
            node: name
            for node, name in link.devices.items()
            if re.fullmatch(INTERFACE, name)
            and name not in FORBIDDEN
            and times[node, name] == 1
            and (node, name) not in made
        }
        for _ in range(len(link.devices) - len(kept)):
            remarks.count(odd.DEVICE, link.line)
        found.append(replace(link, devices=kept) if link.devices else link)
    return found
