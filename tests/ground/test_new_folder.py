"""Folders of datasets: each study has one of its own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from delaylab.errors import BadInput
from delaylab.io.files import new_folder


def test_studies_that_begin_in_the_same_second_do_not_share_a_folder(tmp_path: Path) -> None:
    place = tmp_path / "results" / "quickstart-20260101-120000"
    with ThreadPoolExecutor(8) as pool:
        folders = list(pool.map(lambda _: new_folder(place), range(8)))
    names = {place.name, *(f"{place.name}-{number}" for number in range(2, 9))}
    assert {folder.name for folder in folders} == names
    assert {folder.name for folder in place.parent.iterdir()} == names


def test_the_cause_is_said_where_no_folder_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("")
    with pytest.raises(BadInput, match="results: a file, not a folder"):
        new_folder(tmp_path / "results" / "quickstart")
