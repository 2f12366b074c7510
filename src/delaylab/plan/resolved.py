"""Neighbours of a large lab, known from the start: the kernel keeps few of those that it asks for.

All network namespaces of a machine share one table (`gc_thresh3` of arp(7), 1024 by default), and
only an administrator can enlarge it. Entries that are there for good do not count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from delaylab.plan.attachment import Attachment
from delaylab.plan.model import Resolved

FEW = 400
"""The number of pairs of neighbours up to which they ask for each other, as on a real network."""
MOST_ON_A_LINK = 16
"""The number of stacks on a link from which on theirs are too many pairs."""


def resolved(attachments: Iterable[Attachment], machine: str | None) -> Iterator[Resolved]:
    """Yield what each stack has to know of its neighbours; nothing in a lab with few of them.

    Stacks in virtual machines have tables of their own, and that of `machine`, this machine's own,
    stays as it is.
    """
    on_link: dict[str, dict[str, Attachment]] = defaultdict(dict)
    for each in attachments:
        on_link[each.link].setdefault(each.agent, each)
    links = [list(on.values()) for on in on_link.values() if len(on) <= MOST_ON_A_LINK]
    if sum(len(on) * (len(on) - 1) for on in links) <= FEW:
        return
    for on in links:
        for here in (each for each in on if not each.other_kernel and each.agent != machine):
            for other in on:
                if other is not here:
                    for text in other.addresses:
                        yield Resolved(here.agent, here.device, text.split("/")[0], other.mac)
