"""Altair and its renderer, loaded when they are first used: only a report draws."""

from __future__ import annotations

import sys
from importlib.util import LazyLoader, find_spec, module_from_spec
from types import ModuleType
from typing import TYPE_CHECKING

__all__ = ["alt", "vl_convert"]


def lazy(name: str) -> ModuleType:
    """Return a module that is loaded when an attribute of it is first used."""
    if name in sys.modules:
        return sys.modules[name]
    spec = find_spec(name)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    spec.loader = LazyLoader(spec.loader)
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


if TYPE_CHECKING:
    import altair as alt
    import vl_convert
else:
    alt = lazy("altair")
    vl_convert = lazy("vl_convert")
