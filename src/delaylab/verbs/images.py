"""Verb `delaylab image`: list the cache of images, build images, remove them."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from delaylab import images
from delaylab.errors import BadInput
from delaylab.io.values import JsonObject
from delaylab.machines import LOCAL, DescribedLab
from delaylab.units import MEBIBYTE
from delaylab.verbs.progress_bar import bar

SHOWN_PARTS = 3


def act(action: str, names: list[str], console: Console, *, old: bool) -> list[images.Layer]:
    """Carry out `build`, `clean` or `list`; return the layers that were built, removed or found."""
    if action == "build":
        return build(names, console)
    if action == "clean":
        return clean(console, old=old)
    return images.layers()


def print_done(action: str, layers: list[images.Layer], console: Console) -> None:
    """Print the result of an action."""
    if action == "clean":
        console.print(f"removed: {', '.join(one.path.name for one in layers) or 'nothing'}")
    else:
        print_layers(layers, console)


def build(names: list[str], console: Console) -> list[images.Layer]:
    """Build images (all if none is named) from the newest packages; images already built are kept.

    Raise BadInput for an unknown name.
    """
    wanted = names or list(images.IMAGES)
    with bar(console) as progress:
        built = images.build(images.layers_of(wanted), progress, newer=True)
    return [*built.values()]


def clean(console: Console, *, old: bool) -> list[images.Layer]:
    """Remove all layers, or only the old ones; raise BadInput while guests that need them run."""
    users = [lab.name for lab in LOCAL.labs() if _has_guests(lab)]
    if users:
        what = f"images are in use by labs that are up: {', '.join(users)}"
        raise BadInput(what, fix="; ".join(f"delaylab down {name}" for name in users))
    with bar(console) as progress:
        return images.clean(superseded_only=old, progress=progress)


def _has_guests(lab: DescribedLab) -> bool:
    return any(node.own_root for node in lab.plan.nodes.values())


def as_json(layers: list[images.Layer]) -> JsonObject:
    """Return every image's files, None if it is not built, and the layers, for scripts."""
    return {
        "folder": str(images.folder()),
        "images": {
            name: {word: str(path) for word, path in images.require(name).items()}
            if images.is_built(name)
            else None
            for name in images.IMAGES
        },
        "layers": [
            {
                "name": layer.name,
                "path": str(layer.path),
                "made": layer.made,
                "bytes": layer.size_bytes,
                "made_of": list(layer.made_of),
            }
            for layer in layers
        ],
    }


def print_layers(layers: list[images.Layer], console: Console) -> None:
    """Print each layer with its size and what it is made of, then the images that are not built."""
    table = Table("layer", "MiB", "made", "of", box=None, header_style="bold")
    table.columns[1].justify = "right"
    for layer in layers:
        parts = list(layer.made_of[:SHOWN_PARTS])
        more = len(layer.made_of) - len(parts)
        of = ", ".join(parts) + (f" and {more} more" if more else "")
        size = f"{layer.size_bytes / MEBIBYTE:.0f}"
        table.add_row(layer.path.name, size, layer.made[:16].replace("T", " "), of)
    if layers:
        console.print(table)
    total = sum(layer.size_bytes for layer in layers) / MEBIBYTE
    console.print(f"{total:.0f} MiB in {images.folder()}", soft_wrap=True)
    missing = [name for name in images.IMAGES if not images.is_built(name)]
    if missing:
        console.print(f"not built: {', '.join(missing)}; built when a lab needs them, or now by")
        console.print(f"  delaylab image build {' '.join(missing)}")
