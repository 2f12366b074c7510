"""Named sets of conditions, each with its source, from `profiles.yaml`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

import yaml

from delaylab.errors import did_you_mean
from delaylab.spec.base import Spec

FILE = Path(__file__).with_name("profiles.yaml")
UpDown = Literal["up", "down"]
WAYS: tuple[UpDown, UpDown] = ("up", "down")


class Profile(Spec):
    """A profile's source and its conditions, in the form of a lab file.

    They are for both directions alike (`both`) or for each of them (`up`, `down`).
    """

    source: str
    both: dict[str, object] | None = None
    up: dict[str, object] | None = None
    down: dict[str, object] | None = None

    @property
    def symmetric(self) -> bool:
        """Return True if both directions are alike."""
        return self.both is not None


@cache
def profiles() -> dict[str, Profile]:
    """Return all profiles by name."""
    found = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return {str(name): Profile.model_validate(said) for name, said in found.items()}


def check_name(text: str) -> None:
    """Raise ValueError for an unknown profile, or a direction that it does not have."""
    name, slash, way = text.partition("/")
    if name not in profiles():
        hint = did_you_mean(name, profiles()) or f"; there are: {', '.join(profiles())}"
        raise ValueError(f"no profile {name!r}{hint}")
    if slash and profiles()[name].symmetric:
        raise ValueError(f"profile {name!r} is symmetric: write it without /{way}")
    if slash and way not in WAYS:
        raise ValueError(f"a profile's way is /up or /down, not /{way}")


def contents(text: str, way: UpDown | None) -> dict[str, object] | None:
    """Return a profile's conditions for one direction.

    `way` is used if the profile's name has no /up or /down. Returns None if the directions differ
    and neither says which.
    """
    name, _, said = text.partition("/")
    profile = profiles()[name]
    if profile.symmetric:
        return profile.both
    return {"up": profile.up, "down": profile.down}.get(said or way or "")
