"""Archives of images, as `docker save` and OCI tools write them, for a container engine.

Such a tar holds a file system only in its layers. Imported as if it were one, it makes a container
without programs.
"""

from __future__ import annotations

import io
import json
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from delaylab.errors import BadInput

ROOT = frozenset({"bin", "etc", "home", "lib", "lib64", "opt", "root", "sbin", "usr", "var"})
"""Folders at the top of a root file system; none is in an archive of an image."""
OF_DOCKER, OF_OCI = "manifest.json", "index.json"
REPLACED = frozenset({OF_DOCKER, OF_OCI, "oci-layout", "repositories"})
"""The files of an archive that name its images. With their tags an engine would move its own."""
MOST_JSON = 4 << 20
"""The largest description in an archive, in bytes."""
PLACE = "/var/tmp"
"""The folder for the copy that an engine loads; the run directory may be in memory."""


class Saved(BaseModel):
    """An image in an archive of `docker save`; `layers` are files of the archive."""

    config: str = Field(alias="Config")
    layers: list[str] = Field(alias="Layers")


class Platform(BaseModel):
    """The system that an image is for."""

    architecture: str
    os: str


class Blob(BaseModel):
    """A reference to a part of an OCI archive by its content."""

    digest: str = Field(pattern=r"^[a-z0-9]+:[0-9a-f]+$")
    platform: Platform | None = None

    @property
    def path(self) -> str:
        """Return the part's file in the archive."""
        return "blobs/" + self.digest.replace(":", "/")


class Index(BaseModel):
    """An OCI index (image-spec, "Image Index"): images, or indexes of one image's platforms."""

    manifests: list[Blob]


class Manifest(BaseModel):
    """An OCI image (image-spec, "Image Manifest")."""

    config: Blob
    layers: list[Blob]


def is_archive(path: Path) -> bool:
    """Return True if a tar is an archive of images, False if it is a root file system.

    Raises BadInput if it is no tar.
    """
    try:
        with tarfile.open(path) as tar:
            for member in tar:
                name = member.name.removeprefix("./")
                if name in (OF_DOCKER, "oci-layout"):
                    return True
                if name.split("/")[0] in ROOT:
                    return False
    except (tarfile.TarError, OSError, EOFError) as error:
        raise _refused(path, f"cannot be read: {error}") from None
    return False


@contextmanager
def nameless(path: Path) -> Iterator[IO[bytes]]:
    """Provide a copy of an archive that an engine can load and in which the image has no name.

    Raises BadInput if the archive does not hold one image for this machine.
    """
    with tempfile.TemporaryFile(dir=PLACE) as copy:
        try:
            with tarfile.open(path) as tar:
                image = _image(tar, path)
                with tarfile.open(fileobj=copy, mode="w") as made:
                    for member in tar:
                        if member.name.removeprefix("./") not in REPLACED:
                            made.addfile(
                                member, tar.extractfile(member) if member.isreg() else None
                            )
                    text = json.dumps([{**image.model_dump(by_alias=True), "RepoTags": None}])
                    about = tarfile.TarInfo(OF_DOCKER)
                    about.size = len(text)
                    made.addfile(about, io.BytesIO(text.encode()))
        except (tarfile.TarError, EOFError, ValidationError) as error:
            raise _refused(path, f"is not an image: {str(error).splitlines()[0]}") from None
        copy.seek(0)
        yield copy


def _image(tar: tarfile.TarFile, path: Path) -> Saved:
    members = {member.name.removeprefix("./"): member for member in tar}

    def read(name: str) -> bytes:
        member = members.get(name)
        content = tar.extractfile(member) if member and member.size <= MOST_JSON else None
        if content is None:
            raise _refused(path, f"is not an image: it has no readable {name}")
        return content.read()

    if OF_DOCKER in members:
        saved = TypeAdapter(list[Saved]).validate_json(read(OF_DOCKER))
        if len(saved) != 1:
            raise _refused(path, f"holds {len(saved)} images", "save one image: docker save NAME")
        return saved[0]
    blob = _for_here(Index.model_validate_json(read(OF_OCI)).manifests, path)
    content = read(blob.path)
    if b'"manifests"' in content:
        content = read(_for_here(Index.model_validate_json(content).manifests, path).path)
    image = Manifest.model_validate_json(content)
    return Saved(Config=image.config.path, Layers=[layer.path for layer in image.layers])


def _for_here(images: list[Blob], path: Path) -> Blob:
    """Return the only image, or the only one for Linux on x86-64."""
    here = Platform(architecture="amd64", os="linux")
    found = images if len(images) == 1 else [image for image in images if image.platform == here]
    if len(found) != 1:
        raise _refused(path, f"holds {len(found)} images for Linux on amd64", "give one image")
    return found[0]


def _refused(path: Path, what: str, fix: str = "") -> BadInput:
    return BadInput(
        what, str(path), fix or "give a root file system's tar, or what docker save makes"
    )
