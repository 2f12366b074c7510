"""Archives of images, as `docker save` and OCI tools write them, for a container engine.

Such a tar holds a file system only in its layers. Imported as if it were one, it makes a container
without programs. So it is loaded, from a copy in the image cache in which its image has no name.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path

from pydantic import BaseModel, Field, TypeAdapter

from delaylab.errors import BadInput
from delaylab.images import cache
from delaylab.io.tar_headers import BoundedHeader
from delaylab.progress import Progress, silent

ROOT = frozenset({"bin", "etc", "home", "lib", "lib64", "opt", "root", "sbin", "usr", "var"})
"""Folders at the top of a root file system; none is in an archive of an image."""
OF_DOCKER, OF_OCI = "manifest.json", "index.json"
REPLACED = frozenset({OF_DOCKER, OF_OCI, "oci-layout", "repositories"})
"""The files of an archive that name its images. With their tags an engine would move its own."""
MOST_JSON = 4 << 20
"""The largest description in an archive, in bytes."""
MOST_MEMBERS = 100_000
"""The largest number of files in an archive of an image, which has a few for each layer."""
LAYER, FILE = "docker-image", "image.tar"
"""The copy's layer in the cache, and its file there."""


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
        with tarfile.open(path, tarinfo=BoundedHeader) as tar:
            for member in tar:
                name = member.name.removeprefix("./")
                if name in (OF_DOCKER, "oci-layout"):
                    return True
                if name.split("/")[0] in ROOT:
                    return False
    except (tarfile.TarError, OSError, EOFError, ValueError) as error:
        first = str(error).splitlines()[0].rstrip(":")  # each kind of compression follows
        raise _refused(path, f"cannot be read: {first}") from None
    return False


def for_engine(path: Path, progress: Progress = silent) -> Path:
    """Return a tar that a container engine can take: a root file system, or a nameless archive.

    Raises BadInput if it is neither, or if an archive does not hold one image for this machine.
    """
    if not is_archive(path):
        return path
    with path.open("rb") as file:
        key = hashlib.file_digest(file, "sha256").hexdigest()[: cache.KEY_LENGTH]
    layer = cache.exact(LAYER, key)
    if layer is None:
        progress(f"preparing {path.name}", 0)
        with cache.building(progress), cache.partial(LAYER) as made:
            write_nameless(path, made / FILE)
            layer = cache.publish(made, LAYER, key, key, [])
    return layer.path / FILE


def write_nameless(path: Path, copy: Path) -> None:
    """Write a copy of an archive that an engine can load and in which the image has no name.

    The image's description comes first, by which the agent tells an archive
    (`crates/agent/src/containers`). Raises BadInput if the archive does not hold one image for this
    machine.
    """
    try:
        with (
            tarfile.open(path, tarinfo=BoundedHeader) as tar,
            tarfile.open(copy, mode="w") as made,
        ):
            image = {**_image(tar, path).model_dump(by_alias=True), "RepoTags": None}
            text = json.dumps([image]).encode()
            about = tarfile.TarInfo(OF_DOCKER)
            about.size = len(text)
            made.addfile(about, io.BytesIO(text))
            for member in tar:
                if member.name.removeprefix("./") not in REPLACED:
                    made.addfile(member, tar.extractfile(member) if member.isreg() else None)
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise _refused(path, f"is not an image: {str(error).splitlines()[0]}") from None


def _image(tar: tarfile.TarFile, path: Path) -> Saved:
    members: dict[str, tarfile.TarInfo] = {}
    for member in tar:
        members[member.name.removeprefix("./")] = member
        if len(members) > MOST_MEMBERS:
            raise _refused(path, f"is not an image: it has more than {MOST_MEMBERS} files")

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
