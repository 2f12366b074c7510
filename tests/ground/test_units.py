"""Quantities are exact, refuse what is not whole, and print back as they were meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delaylab.units import Duration, Quantity, Rate, Share, Size

KINDS = (Duration, Rate, Size)


@pytest.mark.parametrize("kind", KINDS)
@given(value=st.integers(min_value=0, max_value=10**19))
def test_what_is_printed_reads_back(kind: type[Quantity], value: int) -> None:
    quantity = kind(value)
    assert kind.parse(str(quantity)) == quantity


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Duration, "250ms"),
        (Duration, "1us"),
        (Duration, "1.5s"),
        (Duration, "90s"),
        (Duration, "2h"),
        (Rate, "1Gbit"),
        (Rate, "2.5Gbit"),
        (Rate, "100Mbit"),
        (Size, "64MiB"),
        (Size, "16KiB"),
        (Size, "100B"),
    ],
)
def test_prints_as_it_was_meant(kind: type[Quantity], text: str) -> None:
    assert str(kind.parse(text)) == text


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Duration, "0.1us", 100),
        (Duration, "1µs", 1_000),
        (Duration, "1 min", 60 * 10**9),
        (Duration, "0", 0),
        (Rate, "10Mbps", 10**7),
        (Size, "1KiB", 1024),
        (Size, "1kB", 1000),
        (Share, "1%", 10**7),
        (Share, "0.5%", 5 * 10**6),
        (Share, 0.01, 10**7),
        (Share, 1e-9, 1),
        (Share, "50ppm", 50_000),
    ],
)
def test_means(kind: type[Quantity], text: str | float, value: int) -> None:
    assert kind.parse(text).value == value


@pytest.mark.parametrize("text", ["0.1ns", "-1s", "5", "ms", "", "1 fortnight", "1e3s", "nan"])
def test_what_is_no_duration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"250ms|whole number of ns"):
        Duration.parse(text)


@given(st.integers(0, Share.WHOLE))
def test_a_share_reads_back_as_text_and_as_a_number(value: int) -> None:
    share = Share(value)
    assert str(share).endswith("%")
    assert Share.parse(str(share)) == Share.of(float(share)) == share


@pytest.mark.parametrize("text", ["140%", "101 %"])
def test_no_share_is_more_than_all(text: str | float) -> None:
    with pytest.raises(ValueError, match="a share is at most 100%, not"):
        Share.parse(text)


@pytest.mark.parametrize(("kind", "text"), [(Duration, "-5ms"), (Share, "-1%"), (Rate, "-1Mbit")])
def test_what_is_negative_is_said_to_be(kind: type[Quantity], text: str) -> None:
    with pytest.raises(ValueError, match=f"is not negative: '{text}'"):
        kind.parse(text)


@given(st.text(max_size=20))
def test_any_text_is_a_size_or_a_value_error(text: str) -> None:
    try:
        size = Size.parse(text)
    except ValueError:
        return
    assert size.bytes >= 0


def test_sums_are_exact() -> None:
    assert sum(int(Duration.parse("0.1us")) for _ in range(10)) == Duration.parse("1us").ns


@pytest.mark.parametrize(
    ("text", "says"),
    [(1, "1 is 100 %; write 1% or 100%"), ("1", "1 is 100 %"), (2, "2 is 200 %; write 2%$")],
)
def test_a_share_of_one_and_more_wants_a_unit(text: str | int, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Share.parse(text)
    assert [str(Share.parse(each)) for each in ("100%", 0.5, 0)] == ["100%", "50%", "0%"]


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("100mbit", Rate(100 * 10**6)),
        ("1gbit", Rate(10**9)),
        ("1KBIT", Rate(1000)),
        ("2kibit", Rate(2048)),
        ("20msec", Duration(20 * 10**6)),
        ("5usecs", Duration(5000)),
        ("2sec", Duration(2 * 10**9)),
    ],
)
def test_units_are_read_as_tc_writes_them(text: str, exact: Rate | Duration) -> None:
    assert type(exact).parse(text) == exact


@pytest.mark.parametrize("text", ["100mbps", "1MBps"])
def test_units_that_tc_means_otherwise_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="tc means bytes: write Mbit"):
        Rate.parse(text)
