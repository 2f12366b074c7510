"""Sources of maps: files that were read, a folder's, or a map of a collection."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from delaylab.errors import BadInput
from delaylab.io.files import is_folder, read_bytes

MOST_BYTES = 16 << 20
MOST_LINES = 500_000
LATIN_1 = re.compile(rb"""\s*<\?xml[^>]{0,80}encoding=["']iso-8859-1["']""", re.I)
LAB_CONF = "lab.conf"
"""The file of a lab of Kathará, in a folder of its own."""
WEIGHTS, LATENCIES = "weights.intra", "latencies.intra"


@dataclass(frozen=True)
class Source:
    """A source's text, its name for messages, and the name of its lab unless the user gives one."""

    name: str
    text: str
    lab: str
    beside: tuple[Source, ...] = ()
    """A second file of the same map: Rocketfuel has one for weights and one for latencies."""

    def lines(self) -> list[str]:
        """Return the lines, as an editor numbers them."""
        return self.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def read_source(path: Path) -> Source:
    """Read a file, or the two files of Rocketfuel in a folder or side by side."""
    if is_folder(path):
        return _of_folder(path)
    return _with_sibling(path)


def _of_folder(folder: Path) -> Source:
    if (folder / LAB_CONF).is_file():
        return _file(folder / LAB_CONF)
    found = sorted(path for path in folder.iterdir() if path.name.endswith(".intra"))
    maps = {re.sub(r"(weights|latencies)\.intra$", "", path.name) for path in found}
    if len(maps) != 1:
        what = "no map is in this folder" if not maps else f"{len(maps)} maps are in this folder"
        fix = (
            f"name a file; in a folder {LAB_CONF} of Kathará and {WEIGHTS} and {LATENCIES} of "
            "Rocketfuel are looked for"
        )
        raise BadInput(what, str(folder), fix)
    # Weights sort after latencies, and are the file that links are named by.
    return _with_sibling(found[-1])


def _with_sibling(path: Path) -> Source:
    here = _file(path)
    for one, other in ((WEIGHTS, LATENCIES), (LATENCIES, WEIGHTS)):
        sibling = path.with_name(path.name.removesuffix(one) + other)
        if path.name.endswith(one) and sibling.is_file():
            files = sorted((here, _file(sibling)), key=lambda file: file.name.endswith(LATENCIES))
            return Source(files[0].name, files[0].text, files[0].lab, (files[1],))
    return here


def _file(path: Path) -> Source:
    text = _text(path)
    if text.count("\n") > MOST_LINES:
        raise BadInput(
            f"the file has more than {MOST_LINES} lines", str(path), "see docs/limits.md"
        )
    return Source(str(path), text, _lab_name(path))


def _text(path: Path) -> str:
    """Read a text in UTF-8, or in ISO 8859-1 if it is XML that declares so, as SNDlib's does."""
    content = read_bytes(path, MOST_BYTES, pipes=True)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if LATIN_1.match(content):
            return content.decode("iso-8859-1")
        why = f"byte {error.start + 1} is not UTF-8"
        raise BadInput(f"cannot be read: {why}", str(path)) from None


def _lab_name(path: Path) -> str:
    """Return what a file's map is called: the file without its endings, or the folder's name."""
    name = path.name.removesuffix(WEIGHTS).removesuffix(LATENCIES).strip(".")
    if path.name == LAB_CONF:
        folders = (each.name for each in path.absolute().parents)
        name = next(each for each in folders if each != "lab")
    if not name:
        name = path.absolute().parent.name
    return name.split(".")[0] or name


def lines_that_count(text: str) -> Iterator[str]:
    """Yield the lines of a text that are neither empty nor comments."""
    for line in StringIO(text):
        if line.strip() and not line.startswith("#"):
            yield line.rstrip("\r\n")
