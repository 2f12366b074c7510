"""Readers of single values: what a lab file has for one of netlab's, None if it has nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import IPv4Address

from delaylab.io.values import Json
from delaylab.spec.routing.ospf_settings import SECRET
from delaylab.topology.formats.containerlab.tree import Tree, text
from delaylab.topology.formats.netlab.shape import is_off, is_on

Put = tuple[tuple[str, ...], Json]
"""The path of a field in the lab file, and its value."""
Reader = Callable[[Tree], Json]
"""Returns the value of a lab file, None if no lab file can have it."""


def seconds(tree: Tree) -> Json:
    """Return whole seconds."""
    found = text(tree)
    return f"{found}s" if re.fullmatch(r"[1-9][0-9]{0,4}", found) else None


def number(least: int, most: int) -> Reader:
    """Return a reader of whole numbers in a range."""

    def read(tree: Tree) -> Json:
        found = text(tree)
        value = int(found) if re.fullmatch(r"[0-9]{1,10}", found) else -1
        return value if least <= value <= most else None

    return read


def area_of(tree: Tree) -> Json:
    """Return an area of OSPF, which is written as a number or as an address."""
    given = number(0, 2**32 - 1)(tree)
    return address(tree) if given is None else text(tree)


def address(tree: Tree) -> Json:
    """Return an IPv4 address."""
    try:
        return str(IPv4Address(text(tree)))
    except ValueError:
        return None


def as_number(tree: Tree) -> Json:
    """Return an AS number, also of the form 65000.1."""
    found = text(tree)
    if re.fullmatch(r"[0-9]{1,5}\.[0-9]{1,5}", found):
        high, low = map(int, found.split("."))
        return (high << 16) + low
    return number(1, 2**32 - 2)(tree)


def passive(tree: Tree) -> Json:
    """Return how a protocol is spoken on a link that may be passive."""
    return "passive" if is_on(tree) else True


def spoken(tree: Tree) -> Json:
    """Return that a protocol is not spoken; None for anything but `False`."""
    return False if is_off(tree) else None


def kbit(tree: Tree) -> Json:
    """Return a rate in kbit/s."""
    value = number(1, 10**9)(tree)
    return None if value is None else f"{value}kbit"


def words_of_secret(most: int) -> Reader:
    """Return a reader of secrets, of letters, digits and some signs."""

    def read(tree: Tree) -> Json:
        found = text(tree)
        return found if len(found) <= most and re.fullmatch(SECRET, found) else None

    return read


def down(tree: Tree) -> Json:
    """Return the state of a link that may be shut down."""
    return "down" if is_on(tree) else "up"
