"""Numbers in reports: what they are rounded to."""

from __future__ import annotations

import pytest

from delaylab_study.charts import words
from delaylab_study.report.templating import NO_BREAK, marked, unbroken


@pytest.mark.parametrize(
    ("share", "written"),
    [
        (0.0, "0 %"),
        (-0.404, "−40 %"),
        (0.000_004, "0.0004 %"),
        (0.0004, "0.04 %"),
        (0.004, "0.4 %"),
        (0.5, "50 %"),
        (0.989, "99 %"),
        (0.995, "99.5 %"),
        (0.9996, "99.96 %"),
        (1.0, "100 %"),
        (1.004, "100.4 %"),
    ],
)
def test_a_share_is_never_rounded_to_all_or_nothing(share: float, written: str) -> None:
    assert words.share(share) == written


def test_small_ratios_keep_their_figures() -> None:
    written = [
        words.with_interval(value, (value / 2, 2 * value), "times") for value in (18.44, 0.0234)
    ]
    assert written == ["18.4 × [9.2 ×, 36.9 ×]", "0.023 × [0.012 ×, 0.047 ×]"]


def test_an_exact_effect_has_no_interval() -> None:
    assert words.with_interval(2.54, (2.54, 2.54), "µs") == "+2.54 µs"
    assert words.with_interval(2.54, (2.54, 2.55), "µs") == "+2.54 µs [+2.54 µs, +2.55 µs]"


def test_a_unit_stays_on_the_line_of_its_number() -> None:
    said = unbroken("95 %: 76.7 µs … 2 min; 3 minutes, 4 of 5 seen, 1 s")
    assert said.replace(NO_BREAK, "_") == "95_%: 76.7_µs … 2_min; 3 minutes, 4 of 5 seen, 1_s"


def test_what_stands_between_backticks_is_code_and_nothing_else_is_html() -> None:
    said = marked("<b>take `engine: {cpus: [1]}` & `<i>`</b>, a ` alone")
    assert str(said) == (
        "&lt;b&gt;take <code>engine: {cpus: [1]}</code> &amp; <code>&lt;i&gt;</code>&lt;/b&gt;, "
        "a ` alone"
    )
