"""Files that verbs draw into: an SVG, a PNG, or a page."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from delaylab.errors import BadInput, DelaylabError
from delaylab.extras import needed
from delaylab.io.files import write_new, write_text

SCALE = 2.0
"""The pixels of a PNG for each of the drawing."""
LARGEST_PNG = 12_000
"""The largest width or height of a PNG in pixels; a larger drawing is made smaller."""
STDOUT = "-"


@dataclass(frozen=True)
class Picture:
    """A drawing, made when it is asked for: as SVG, and as a page of HTML with it."""

    svg: Callable[[], str]
    page: Callable[[], str]


@dataclass(frozen=True)
class Targets:
    """The files that a drawing is written to, by form."""

    svg: Path | None = None
    png: Path | None = None
    html: Path | None = None

    @property
    def prints_svg(self) -> bool:
        """Return True if the SVG is printed and not written to a file."""
        return self.svg is not None and str(self.svg) == STDOUT

    def require_folders(self) -> None:
        """Raise BadInput if a file's folder is missing, before there is anything to lose."""
        for place in (self.svg, self.png, self.html):
            if place is not None and not place.parent.is_dir():
                raise BadInput(f"{place}: there is no folder {str(place.parent)!r}")


def write(
    targets: Targets, svg: Callable[[], str], page: Callable[[], str], console: Console
) -> None:
    """Write a drawing to all targets, and print their names; `-` prints the SVG.

    `svg` and `page` make its forms. Raises DelaylabError if a file cannot be written.
    """
    if targets.prints_svg:
        sys.stdout.write(svg())
    forms: tuple[tuple[Path | None, Callable[[Path], None]], ...] = (
        (targets.svg, lambda place: write_text(place, svg())),
        (targets.png, lambda place: _write_png(place, svg())),
        (targets.html, lambda place: write_text(place, page())),
    )
    for place, put in forms:
        if place is not None and str(place) != STDOUT:
            put(place)
            console.print(str(place), soft_wrap=True)


def _write_png(place: Path, text: str) -> None:
    from xml.etree import ElementTree  # noqa: PLC0415  slow to import, as the next one

    with needed("a picture as PNG"):
        import vl_convert  # noqa: PLC0415  as above

    head = ElementTree.fromstring(text)
    largest = max(float(head.get(side, "1")) for side in ("width", "height"))
    image = vl_convert.svg_to_png(text, scale=min(SCALE, LARGEST_PNG / largest))
    try:
        write_new(place, image)
    except OSError as error:
        raise DelaylabError(f"cannot be written: {error.strerror}", str(place)) from error
