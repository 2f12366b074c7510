"""Python packages that a light install lacks: labs do without them, studies and pictures do not.

A module that needs such a package imports it at its top, and is itself imported in a block of
`needed` (`tests/test_light.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from delaylab.errors import NotHere

EXTRAS = {
    "study": (
        "MLRsearch",
        "altair",
        "jinja2",
        "markupsafe",
        "numpy",
        "polars",
        "scipy",
        "vl_convert",
    ),
    "cluster": ("dask", "distributed"),
    "package": ("rocrate",),
}
"""The packages of each extra, by the names that Python imports them by."""
INSTALL = "pip install 'delaylab[study]'"
PACKAGES = frozenset(package for packages in EXTRAS.values() for package in packages)
EXTRA_OF = {package: extra for extra, packages in EXTRAS.items() for package in packages}


@contextmanager
def needed(what: str) -> Iterator[None]:
    """Raise NotHere if one of the packages is imported in the block and is not installed.

    `what` needs it, as the user knows it: a verb, an option, a value in a file.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if not is_extra(error):
            raise
        raise _lacking(what, _package(error)) from None


def is_extra(error: ModuleNotFoundError) -> bool:
    """Return True if one of the packages is missing."""
    return _package(error) in PACKAGES


def _package(error: ModuleNotFoundError) -> str:
    return (error.name or "").partition(".")[0]


def require(what: str, *packages: str) -> None:
    """Raise NotHere if one of these packages is not installed, before anything is done."""
    for package in packages:
        if not has(package):
            raise _lacking(what, package)


def has(package: str) -> bool:
    """Return True if one of the packages is installed; it is not loaded yet."""
    from importlib.util import find_spec  # noqa: PLC0415  most verbs do not ask

    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def _lacking(what: str, package: str) -> NotHere:
    return NotHere(
        f"{what} needs the Python package {package}, which is not installed",
        fix=f"pip install 'delaylab[{EXTRA_OF[package]}]'",
    )
