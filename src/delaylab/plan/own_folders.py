"""The folders of this machine of which a node has copies of its own."""

from __future__ import annotations

from delaylab.errors import BadInput
from delaylab.spec.kinds import NodeSpec

OWN_FOLDERS = ("/etc", "/run", "/var", "/tmp")


def own_folders(node: str, spec: NodeSpec) -> tuple[str, ...] | None:
    """Return the folders that a node needs copies of for its files and programs; None if none.

    Raises BadInput for a file elsewhere, which would be this machine's.
    """
    if spec.own_root or not (spec.files or spec.start or spec.has_daemons):
        return None
    for path in spec.files:
        if not any(path.startswith(f"{folder}/") for folder in OWN_FOLDERS):
            raise BadInput(
                f"node {node!r} of kind {spec.kind} cannot have a file {path}: it shares this "
                "machine's file system there",
                fix=f"put it below one of {', '.join(OWN_FOLDERS)}, or take a container",
            )
    return OWN_FOLDERS
