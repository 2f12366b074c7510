"""The cache of image layers: folders named after their content, each complete or absent."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from delaylab.errors import NotHere
from delaylab.io.interrupts import deferred
from delaylab.io.ownership import why_not_lasting, why_not_private
from delaylab.io.removal import remove_tree
from delaylab.progress import Progress

ABOUT = "layer.json"
PARTIAL = ".partial-"
LOCK = ".lock"
KEY_LENGTH = 16
BLOCK = 512
"""The unit of `st_blocks` (inode(7)). A disk is sparse: it has fewer than its size."""
OWN = "take one of your own: DELAYLAB_CACHE=DIR"


@dataclass(frozen=True)
class Layer:
    """One finished folder of the cache: `recipe` identifies its build, `made_of` its parts."""

    name: str
    path: Path
    recipe: str
    made_of: tuple[str, ...]
    made: str
    size_bytes: int

    @property
    def key(self) -> str:
        """Return the hash of all that went into the layer."""
        return self.path.name.removeprefix(f"{self.name}-")


def folder() -> Path:
    """Return $DELAYLAB_CACHE, else $XDG_CACHE_HOME/delaylab, else ~/.cache/delaylab.

    Raises NotHere if it cannot be read, or if another user can write to it or put another in its
    place, since programs from it are run.
    """
    place = _folder()
    try:
        why = why_not_lasting(place)
        if why is None:
            about = place.stat()
            if not stat.S_ISDIR(about.st_mode):
                return place
            why = why_not_private(about, or_roots=True)
    except (FileNotFoundError, NotADirectoryError):
        return place  # a build makes it, or says why it cannot
    except OSError as error:
        raise NotHere(f"the image cache: {error.strerror}", str(place), OWN) from None
    if why is not None:
        raise NotHere(f"the image cache is not trusted: {why}", str(place), OWN)
    if not os.access(place, os.R_OK | os.X_OK):
        raise NotHere("the image cache cannot be read by this user", str(place), OWN)
    return place


def _folder() -> Path:
    given = os.environ.get("DELAYLAB_CACHE")
    if given:
        return Path(given).absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "delaylab"


def digest(value: object) -> str:
    """Return a short hash of a JSON value."""
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH]


def layers(folders: str = "*") -> list[Layer]:
    """Return all finished layers, by name, the newest first.

    With a pattern, only those whose folders match it.
    """
    found = []
    for about in folder().glob(f"{folders}/{ABOUT}"):
        try:
            said = json.loads(about.read_text())
            found.append(Layer(path=about.parent, **{**said, "made_of": tuple(said["made_of"])}))
        except (OSError, ValueError, TypeError, KeyError):
            continue  # not a layer of delaylab's
    found.sort(key=lambda layer: layer.made, reverse=True)
    return sorted(found, key=lambda layer: layer.name)


def newest(name: str, recipe: str) -> Layer | None:
    """Return the newest layer of this name and recipe, or None."""
    made = (layer for layer in layers(f"{name}-*") if (layer.name, layer.recipe) == (name, recipe))
    return next(made, None)


def exact(name: str, key: str) -> Layer | None:
    """Return the layer of this name and key, or None."""
    made = (layer for layer in layers(f"{name}-{key}") if (layer.name, layer.key) == (name, key))
    return next(made, None)


@contextmanager
def building(progress: Progress) -> Iterator[None]:
    """Hold the lock of the cache for one build at a time, and remove what killed builds left.

    Raises NotHere if the cache cannot be written.
    """
    place = folder()
    try:
        place.mkdir(mode=0o755, parents=True, exist_ok=True)
        lock = os.open(place / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise _unusable(error) from None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("waiting for another delaylab that is building", 0)
            fcntl.flock(lock, fcntl.LOCK_EX)
        for left in place.glob(f"{PARTIAL}*"):
            with suppress(OSError):
                remove_tree(left)
        yield
    except OSError as error:
        raise _unusable(error) from None
    finally:
        os.close(lock)


@contextmanager
def partial(name: str) -> Iterator[Path]:
    """Provide a folder to build in, below the cache, and remove it on every exit."""
    path: Path | None = None
    try:
        with deferred():
            path = Path(tempfile.mkdtemp(prefix=f"{PARTIAL}{name}-", dir=folder()))
        yield path
    finally:
        if path is not None:
            with deferred(), suppress(OSError):
                remove_tree(path)


def publish(made: Path, name: str, key: str, recipe: str, made_of: list[str]) -> Layer:
    """Move a complete folder to its final name; return its layer. The caller holds `building`.

    If another program has made the same layer meanwhile, that one stays: it may be in use.
    """
    if (there := exact(name, key)) is not None:
        return there
    size = sum(_own_bytes(path.lstat()) for path in made.rglob("*"))
    now = datetime.now(UTC).isoformat()
    layer = Layer(name, folder() / f"{name}-{key}", recipe, tuple(made_of), now, size)
    about = {field: getattr(layer, field) for field in ("name", "recipe", "made", "size_bytes")}
    (made / ABOUT).write_text(json.dumps({**about, "made_of": made_of}, indent=1) + "\n")
    made.chmod(0o755)
    with suppress(OSError):
        remove_tree(layer.path)  # a folder without an ABOUT file is no layer
    made.rename(layer.path)
    return layer


def _own_bytes(about: os.stat_result) -> int:
    """Return what a file takes on the disk, 0 for a link to a file of another layer."""
    linked = stat.S_ISREG(about.st_mode) and about.st_nlink > 1
    return 0 if linked else min(about.st_size, about.st_blocks * BLOCK)


def clean(*, superseded_only: bool, progress: Progress) -> list[Layer]:
    """Remove layers and nothing else: all of them, or only those with a newer one."""
    if not folder().exists():
        return []
    with building(progress):
        found = layers()
        if superseded_only:
            latest = {layer.name: layer for layer in reversed(found)}
            found = [layer for layer in found if layer is not latest[layer.name]]
        for layer in found:
            # Renamed first, so that no process finds half of the layer.
            gone = layer.path.with_name(f"{PARTIAL}{layer.path.name}")
            layer.path.rename(gone)
            remove_tree(gone)
    return found


def _unusable(error: OSError) -> NotHere:
    place = str(_folder())
    return NotHere(
        f"the image cache cannot be written: {error.strerror or error}",
        place,
        "make room or set DELAYLAB_CACHE to another folder",
    )
