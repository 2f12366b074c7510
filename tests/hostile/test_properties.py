"""Whatever a file holds, it is read or refused: no other error comes out."""

# ruff: noqa: PT017  (an error may come or not: that is what is tested)
from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from unicodedata import category
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from delaylab.drawing.xml import xml
from delaylab.errors import BadInput
from delaylab.io.printable import one_line, printable
from delaylab.resolve.load import lab_from
from delaylab.spec import limits
from delaylab.spec.source import parse
from delaylab.units import Duration, Multiple, Quantity, Rate, Share, Size
from delaylab_study.dataset import store
from tests import synthetic
from tests.hostile.dataset.refused import TRIAL

YAML = st.text(st.sampled_from("ab:-,[]{}&*!?|>'\"#%@\n .0x_~<=\t1e9"), max_size=60)
FOLDER = [HealthCheck.function_scoped_fixture]
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=20)
    | st.sampled_from(["ok", "wire", "sender.app", "gilbert-elliott", "../../x", TRIAL]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(text=st.text() | YAML)
def test_text_is_a_document_or_refused(text: str) -> None:
    try:
        document = parse(text, "x.yaml")
    except BadInput as error:
        assert str(error).startswith("x.yaml")
    else:
        json.dumps(document.data)


@given(text=YAML)
def test_a_lab_is_a_lab_or_refused(text: str) -> None:
    try:
        lab_from(parse(f"lab: a\nnodes: {{a: {{}}, b: {{}}}}\n{text}", "x.yaml"))
    except BadInput as error:
        assert len(one_line(str(error))) < 1000


@pytest.mark.parametrize("kind", [Duration, Rate, Size, Share, Multiple])
@given(text=st.text() | st.from_regex(r"\A[0-9.,e+-]{1,90} ?(ms|Mbit|B|%)?\Z"))
def test_a_quantity_is_one_or_none(kind: type[Quantity], text: str) -> None:
    try:
        found = kind.parse(text)
    except ValueError as error:
        assert len(str(error)) < 400
    else:
        assert kind.parse(str(found)) == found


@given(text=st.text())
def test_what_is_printable_stays_as_it_is(text: str) -> None:
    once = printable(text)
    assert printable(once) == once
    once.encode("utf-8")
    assert "\n" not in one_line(text)


UNSEEN = frozenset({"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"})
JOINERS = "\u200c\u200d"


def test_what_cannot_be_seen_is_escaped() -> None:
    """Every character of Unicode: a list of them would lack those that nobody thought of."""
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        escaped = category(char) in UNSEEN and char not in f"\n\t{JOINERS}"
        assert (printable(char) != char) == escaped, hex(code)
        assert printable(char).isprintable() or not escaped, hex(code)
    assert printable("\x1b\u202e\U000e0041") == "\\x1b\\u202e\\U000e0041"


@given(text=st.text())
def test_text_in_a_drawing_is_xml(text: str) -> None:
    found = ElementTree.fromstring(f'<t a="{xml(text)}">{xml(text)}</t>')
    assert (found.text or "") == printable(text)


@given(depth=st.integers(1, 70), aliases=st.integers(0, 3))
def test_depth_is_counted_through_aliases(depth: int, aliases: int) -> None:
    text = f"a0: &a0 {'[' * depth}{']' * depth}\n"
    for number in range(1, aliases + 1):
        text += f"a{number}: &a{number} {'[' * depth}*a{number - 1}{']' * depth}\n"
    if 1 + depth * (aliases + 1) > limits.MOST_DEPTH:
        with pytest.raises(BadInput, match="nested more than"):
            parse(text, "x.yaml")
    else:
        parse(text, "x.yaml")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic.write(tmp_path_factory.mktemp("run"), [synthetic.Condition(packets=5)])


@settings(suppress_health_check=FOLDER)
@given(data=st.data())
def test_a_record_is_one_or_refused(written: Path, data: st.DataObject) -> None:
    place = written / "trials" / TRIAL / "trial.json"
    before = place.read_text()
    record: dict[str, Any] = json.loads(before)
    field = data.draw(st.sampled_from([*record, "hops", "rate_search", "unknown"]))
    record[field] = data.draw(JSON)
    try:
        place.write_text(json.dumps(record))
        study = store.read_study(written)
    except BadInput as error:
        assert "damaged" in str(error)
    else:
        assert study.trials[0].id == TRIAL
    finally:
        place.write_text(before)
