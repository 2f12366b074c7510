"""Conditions by name, each with its source: `profiles.yaml`."""

from __future__ import annotations

import difflib
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

from delaylab.spec.base import Spec

FILE = Path(__file__).with_name("profiles.yaml")
Way = Literal["up", "down"]
WAYS: tuple[Way, Way] = ("up", "down")


class Profile(Spec):
    """A source and what follows from it: as a file gives conditions, alike both ways or not."""

    source: str
    both: dict[str, Any] | None = None
    up: dict[str, Any] | None = None
    down: dict[str, Any] | None = None

    @property
    def symmetric(self) -> bool:
        """Whether both directions are alike."""
        return self.both is not None


@cache
def profiles() -> dict[str, Profile]:
    """All profiles by name."""
    found = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return {str(name): Profile.model_validate(said) for name, said in found.items()}


def check_name(text: str) -> None:
    """Raise ValueError for a profile that is not there, or a way that it does not have."""
    name, slash, way = text.partition("/")
    if name not in profiles():
        close = difflib.get_close_matches(name, profiles(), 1, cutoff=0.4)
        nearest = f"did you mean {close[0]!r}? " if close else ""
        raise ValueError(f"no profile {name!r}; {nearest}there are: {', '.join(profiles())}")
    if slash and profiles()[name].symmetric:
        raise ValueError(f"profile {name!r} is alike both ways: leave out /{way}")
    if slash and way not in WAYS:
        raise ValueError(f"a profile's way is /up or /down, not /{way}")


def contents(text: str, way: Way | None) -> dict[str, Any] | None:
    """What a profile says of one direction; `way`: whose, if the name does not say.

    None if neither says and the directions differ.
    """
    name, _, said = text.partition("/")
    profile = profiles()[name]
    if profile.symmetric:
        return profile.both
    return {"up": profile.up, "down": profile.down}.get(said or way or "")
