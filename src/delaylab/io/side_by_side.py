"""Calls that wait for something else than this process, made at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

AT_ONCE = 64
"""The most calls at once: each takes a thread."""

Item = TypeVar("Item")
Found = TypeVar("Found")


def side_by_side(call: Callable[[Item], Found], items: Iterable[Item]) -> list[Found]:
    """Return what a function returns for each item, in their order; raise the first error of them.

    The calls are made at once, so that their waits do not add up.
    """
    given = list(items)
    if len(given) < 2:
        return [call(item) for item in given]
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  most labs have one machine

    threads = ThreadPoolExecutor(min(len(given), AT_ONCE))
    try:
        return list(threads.map(call, given))
    finally:
        # After an error, or Ctrl-C, nobody wants the rest. What it waits for ends with it.
        threads.shutdown(wait=False, cancel_futures=True)
