"""A check that the files named in a lab file exist, made before anything is started."""

from __future__ import annotations

from pathlib import Path

from delaylab.errors import BadInput
from delaylab.resolve.lab import Lab
from delaylab.spec.kinds import ImageNode, KernelNode, NodeSpec


def check_files(lab: Lab) -> None:
    """Raise BadInput for the first image, kernel or initrd of a node that cannot be used."""
    for name, spec in lab.nodes.items():
        for field, path in _files(spec):
            where = f"node {name}: {field}"
            if not path.is_absolute():
                raise BadInput(f"{str(path)!r} is relative", where, "give it from / on")
            wants_folder = spec.kind == "lxc"
            try:
                there = path.is_dir() if wants_folder else path.is_file()
            except OSError as error:
                raise BadInput(f"{path} cannot be read: {error.strerror}", where) from None
            if not there:
                kind = "folder" if wants_folder else "file"
                raise BadInput(f"there is no {kind} {path}", where, "leave it out for delaylab's")


def _files(spec: NodeSpec) -> list[tuple[str, Path]]:
    given: dict[str, str | None] = {}
    # A Docker image given without a leading slash is a name in the container engine, not a file.
    if isinstance(spec, ImageNode) and (spec.kind != "docker" or (spec.image or "")[:1] == "/"):
        given["image"] = spec.image
    if isinstance(spec, KernelNode):
        given |= {"kernel": spec.kernel, "initrd": spec.initrd}
    return [(field, Path(path)) for field, path in given.items() if path is not None]
