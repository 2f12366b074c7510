"""Lookup of layers in the cache, and builds of missing ones with the layers they consist of."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from delaylab.images import apt, cache, packaged
from delaylab.images.cache import Layer, digest
from delaylab.images.recipes import RECIPES, Assembled, FromPackages, Recipe
from delaylab.progress import Progress


def recipe_of(name: str) -> Recipe:
    """Return the recipe of a layer."""
    return RECIPES[name] if name in RECIPES else packaged.recipe(name)


def find(name: str) -> Layer | None:
    """Return a layer from the cache, without a look at package lists; None if it must be built."""
    recipe = recipe_of(name)
    if isinstance(recipe, FromPackages):
        return cache.newest(recipe.name, recipe.recipe)
    parts = [find(part) for part in recipe.parts]
    found = [part for part in parts if part is not None]
    return cache.exact(recipe.name, _key(recipe, found)) if len(found) == len(parts) else None


def build(names: Iterable[str], progress: Progress, *, newer: bool) -> dict[str, Layer]:
    """Return these layers with all below them, built if missing.

    `newer` looks for newer packages even if a layer is in the cache.
    """
    built: dict[str, Layer] = {}
    with cache.building(progress):
        for name in names:
            _build(name, progress, newer, built)
    return built


def _build(name: str, progress: Progress, newer: bool, built: dict[str, Layer]) -> Layer:
    def report(what: str, share: float) -> None:
        progress(f"{recipe.name}: {what}", share)

    recipe = recipe_of(name)
    if name not in built:
        found = None if newer else find(name)
        if found is not None:
            built[name] = found
        elif isinstance(recipe, FromPackages):
            built[name] = _from_packages(recipe, report)
        else:
            parts = [_build(part, progress, newer, built) for part in recipe.parts]
            built[name] = _assembled(recipe, parts, report)
    return built[name]


def _from_packages(recipe: FromPackages, progress: Progress) -> Layer:
    progress("looking up packages", 0)
    packages = apt.look_up(recipe.packages())
    key = digest([recipe.recipe, [package.digest for package in packages]])
    found = cache.exact(recipe.name, key)
    if found is not None:
        return found
    with cache.partial(recipe.name) as folder:
        unpacked, out = _two_folders(folder)
        apt.fetch(packages, unpacked, progress, scripts=recipe.scripts)
        recipe.make(unpacked, out, progress)
        made_of = [f"{package.name} {package.version}" for package in packages]
        return cache.publish(out, recipe.name, key, recipe.recipe, made_of)


def _assembled(recipe: Assembled, parts: list[Layer], progress: Progress) -> Layer:
    key = _key(recipe, parts)
    found = cache.exact(recipe.name, key)
    if found is not None:
        return found
    with cache.partial(recipe.name) as folder:
        _, out = _two_folders(folder)
        recipe.make({part.name: part.path for part in parts}, out, progress)
        made_of = [part.path.name for part in parts]
        made_of += [f"delaylab-agent {content[:16]}" for content in recipe.content()]
        return cache.publish(out, recipe.name, key, recipe.recipe, made_of)


def _key(recipe: Assembled, parts: list[Layer]) -> str:
    return digest([recipe.recipe, recipe.content(), [part.key for part in parts]])


def _two_folders(folder: Path) -> tuple[Path, Path]:
    unpacked, out = folder / "unpacked", folder / "out"
    unpacked.mkdir()
    out.mkdir()
    return unpacked, out
