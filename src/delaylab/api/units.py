"""Quantities with units, as files say them: durations, sizes, shares."""

from __future__ import annotations

from delaylab.units import Amount, Duration, Multiple, Share, Size, amount_of, text_of

__all__ = [
    "Amount",
    "Duration",
    "Multiple",
    "Share",
    "Size",
    "amount_of",
    "text_of",
]
