"""Times of stamps as a user reads them."""

from __future__ import annotations

from datetime import datetime


def time_of_day(at_ns: int) -> str:
    """Return a time in ns since 1970 as hours, minutes and seconds to the µs, in the local zone."""
    whole, rest = divmod(at_ns, 1_000_000_000)
    clock = datetime.fromtimestamp(whole).strftime("%H:%M:%S")
    return f"{clock}.{rest // 1000:06}"
