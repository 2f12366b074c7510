"""Whatever a map's text holds, in every format: it becomes a valid lab, or it is refused."""

# ruff: noqa: PT017  (an error may come or not: that is what is tested)
from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from delaylab.errors import BadInput
from delaylab.io.printable import one_line
from delaylab.topology import formats
from delaylab.topology.options import Options, Shape
from delaylab.topology.source import Source
from delaylab.topology.summary import summary
from delaylab.verbs.maps import checked
from tests.topology.maps import FORMAT_OF, SAMPLES, spec

FILE_OF = {"rocketfuel": "rocketfuel/weights.intra", "kathara": "kathara/lab.conf"}
TEXTS = {name: (SAMPLES / FILE_OF.get(name, name)).read_text() for name in FORMAT_OF}
WORDS = st.text(max_size=12) | st.sampled_from(
    [
        "-1",
        "0",
        "1e18",
        "1e-18",
        "9" * 30,
        "nan",
        "&#" + "9" * 5000 + ";",
        "\t" * 300,
        "V0",
        "A0",
        "<graph>",
        "</node>",
        "(",
        "[",
        "]",
        '"',
        "|",
        "\x00",
        "\U00010000",
    ]
)
CHANGES = st.lists(
    st.tuples(st.integers(0, 4000), st.integers(0, 60), WORDS, st.booleans()), max_size=6
)


def changed(text: str, changes: list[tuple[int, int, str, bool]]) -> str:
    """Return text with parts replaced, or repeated elsewhere."""
    for at, length, word, repeat in changes:
        place = at % (len(text) + 1)
        part = text[place : place + length]
        text = text[:place] + word + (part if repeat else "") + text[place + length :]
        text += f"\n{part}" if repeat else ""
    return text


@pytest.mark.parametrize("name", FORMAT_OF)
@given(changes=CHANGES, star=st.booleans())
@settings(max_examples=80, deadline=None)
def test_a_changed_map_is_a_lab_or_refused(
    name: str, changes: list[tuple[int, int, str, bool]], star: bool
) -> None:
    source = Source("map", changed(TEXTS[name], changes), "map")
    options = Options(one_way=False, shape=Shape.STAR if star else Shape.MESH)
    try:
        found = checked(formats.read(source, options, FORMAT_OF[name]), None, options)
    except BadInput as error:
        for each in error.all:
            assert str(each).startswith("map")
            assert len(one_line(str(each))) < 1000
    else:
        assert len(spec(found).nodes) == len(found.map.nodes)
        assert all(summary(found))


@given(text=st.text() | st.text(st.sampled_from('abN1|<>/=-@{}()[]#&.,:;\t \n*"\\0'), max_size=80))
@settings(max_examples=300, deadline=None)
def test_any_text_is_a_lab_or_refused_in_every_format(text: str) -> None:
    for form in (None, *formats.FORMATS):
        try:
            found = formats.read(Source("map", text, "map"), Options(one_way=True), form)
        except BadInput as error:
            assert str(error).startswith("map")
        else:
            assert found.nodes
