"""The Python side of the framed protocol."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delaylab.wireline import MAX_PAYLOAD, Decoder, Frame, FrameKind

frames = st.builds(
    Frame,
    st.sampled_from(FrameKind),
    st.binary(max_size=200),
    st.integers(min_value=0, max_value=0xFFFF),
)


@given(st.lists(frames, max_size=6), st.data())
def test_frames_round_trip_in_any_split(sent: list[Frame], data: st.DataObject) -> None:
    stream = b"".join(frame.encode() for frame in sent)
    decoder, received = Decoder(), list[Frame]()
    while stream:
        cut = data.draw(st.integers(min_value=1, max_value=len(stream)))
        received += decoder.feed(stream[:cut])
        stream = stream[cut:]
    assert received == sent


def test_a_frame_is_these_bytes() -> None:
    assert Frame(FrameKind.STDOUT, b"hi", 258).encode() == b"\x02\0\0\0\x02\x01\x03hi"


@given(st.binary(max_size=64))
def test_any_bytes_are_frames_or_a_value_error(data: bytes) -> None:
    decoder = Decoder()
    try:
        decoder.feed(data)
    except ValueError:
        assert len(data) >= 7


def test_a_length_over_the_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="over the limit"):
        Decoder().feed((MAX_PAYLOAD + 1).to_bytes(4, "little") + b"\0\0\0")
