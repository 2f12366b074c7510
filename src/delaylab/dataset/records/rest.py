"""Record of the blocks of packets at rest, with taps off and on by turns."""

from __future__ import annotations

from pydantic import Field

from delaylab.dataset.records.base import Count, Record


class RestBlock(Record):
    """Consecutive packets at rest that were all sent with the taps on, or all with the taps off.

    Two neighbouring blocks, one of each, are a pair.
    """

    pair: Count = Field(description="The number of the pair, from 0 on.")
    tapped: bool = Field(description="True if the taps were on.")
    first_seq: Count = Field(description="The sequence number of the block's first packet.")
    packets: Count = Field(description="The number of packets sent.")
