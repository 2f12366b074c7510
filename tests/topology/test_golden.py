"""A small sample of every format becomes exactly this lab file, with these remarks.

Write the golden files anew with `python -m tests.topology.test_golden`, and read what changed.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from delaylab.spec.source import parse
from delaylab.topology import formats
from delaylab.topology.source import read_source
from delaylab.topology.summary import summary
from delaylab.topology.text import text_of
from delaylab.verbs.maps import imported
from tests.topology.maps import FORMAT_OF, GOLDEN, ROUND_TRIP, SAMPLES, spec


def made(name: str) -> str:
    """Return the lab file of a sample, and the summary below it."""
    found = imported(str(SAMPLES / name), None, None, ROUND_TRIP)
    said = "\n".join(summary(found)).replace(f"{SAMPLES}/", "")
    return f"{text_of(found)}---\n{said}\n"


@pytest.mark.parametrize("name", FORMAT_OF)
def test_a_sample_is_imported_as_before(name: str) -> None:
    assert made(name) == (GOLDEN / f"{name}.txt").read_text()


@pytest.mark.parametrize(("name", "form"), FORMAT_OF.items())
def test_a_format_is_known_by_its_content(name: str, form: str) -> None:
    assert formats.recognised(read_source(SAMPLES / name)).format.name == form


def test_every_sample_and_every_format_is_there() -> None:
    assert {path.name for path in SAMPLES.iterdir()} == set(FORMAT_OF)
    assert set(FORMAT_OF.values()) == set(formats.FORMATS)


@pytest.mark.parametrize("name", FORMAT_OF)
def test_the_file_says_what_was_checked(name: str) -> None:
    found = imported(str(SAMPLES / name), None, None, ROUND_TRIP)
    assert parse(text_of(found), "made.yaml").data == found.data
    assert len(spec(found).nodes) == len(found.map.nodes)


@pytest.mark.parametrize("name", FORMAT_OF)
def test_line_ends_of_windows_and_a_byte_order_mark_change_nothing(
    name: str, tmp_path: Path
) -> None:
    place = SAMPLES / name
    if place.is_dir():
        shutil.copytree(place, tmp_path / name)  # files for nodes, further down, stay as they are
    files = [each for each in place.iterdir() if each.is_file()] if place.is_dir() else [place]
    folder = tmp_path / name if place.is_dir() else tmp_path
    for file in files:
        text = file.read_bytes().replace(b"\n", b"\r\n")
        (folder / file.name).write_bytes(b"\xef\xbb\xbf" + text)
    found = imported(str(tmp_path / name), None, None, ROUND_TRIP)
    assert found.data == imported(str(place), None, None, ROUND_TRIP).data


def main() -> None:
    for name in FORMAT_OF:
        (GOLDEN / f"{name}.txt").write_text(made(name))
        sys.stdout.write(f"{name}\n")


if __name__ == "__main__":
    main()
