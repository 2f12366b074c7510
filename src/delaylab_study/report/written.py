"""Values in words: all numbers of a report's tables are written here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isfinite

from delaylab_study.analysis.statistics.effects import Effect
from delaylab_study.charts import words
from delaylab_study.report.value import UNKNOWN, Span, Value, Words

How = Callable[[Value], str]
DASH = "–"


def spans(said: Words) -> Iterator[Span]:
    """Yield the parts of a line, each value in words."""
    for each in said if isinstance(said, tuple) else (said,):
        if isinstance(each, Value):
            yield Span(written(each), each.tone)
        else:
            yield each if isinstance(each, Span) else Span(each)


def values_in(said: Words) -> Iterator[Value]:
    """Yield the values in a line."""
    for each in said if isinstance(said, tuple) else (said,):
        if isinstance(each, Value):
            yield each


def plain(said: Words) -> str:
    """Return a line without its tones."""
    return "".join(each.text for each in spans(said))


def written(value: Value) -> str:
    """Return a value in words: in the usual ones of its unit, if it does not say how.

    One that too few packets carry says how many it needs.
    """
    if value.how is None and value.value is None and value.needs is not None:
        return value.needs.short
    return (value.how or USUAL.get(value.unit, rate))(value)


def number(write: Callable[[float], str]) -> How:
    """Return how a number is written by a function; a dash stands for None."""
    return lambda value: DASH if value.value is None else write(value.number)


def fixed(form: str) -> How:
    """Return how a number is written in one of Python's forms."""
    return number(lambda found: format(found, form).replace("-", words.MINUS))


def said(text: str) -> How:
    """Return the words that stand for a value."""
    return lambda _: text


def signed(value: Value) -> str:
    """Write a difference of delays with its sign."""
    return number(lambda found: words.signed(found / PER_US[value.unit]))(value)


def ends(value: Value) -> str:
    """Write the interval of a delay alone."""
    known = value.interval is not None and value.interval is not UNKNOWN
    return words.interval(value.interval if known else None)


def change(value: Value) -> str:
    """Write a difference of delays in µs with its interval."""
    return words.shift(Effect(value.number, value.interval or UNKNOWN))


def effect_of_claim(*, is_difference: bool) -> How:
    """Return how an effect of a claim is written with its interval."""

    def text(value: Value) -> str:
        ends, unit = value.interval or UNKNOWN, _of_claims(value.unit)
        return words.with_interval(value.number, ends, unit, is_difference=is_difference)

    return text


def published(*, is_difference: bool) -> How:
    """Return how the paper's own value of an effect is written."""

    def text(value: Value) -> str:
        known = None if value.value is None else value.number
        return words.published(known, _of_claims(value.unit), is_difference=is_difference)

    return text


def between(write: Callable[[float], str], unit: str = "") -> How:
    """Return how a difference is written with its interval, all of it before a unit."""

    def text(value: Value) -> str:
        low, high = map(write, value.interval or UNKNOWN)
        return f"{write(value.number)} [{low}, {high}]{unit}"

    return text


def seconds_between(value: Value) -> str:
    """Write a time in s, with its interval where it is known; a unit of all three is said once."""
    if value.value is None:
        return DASH
    low, high = value.interval or UNKNOWN
    if not isfinite(high - low):
        return words.seconds(value.number)
    texts = [words.seconds(each) for each in (value.number, low, high)]
    units = {text.rpartition(" ")[2] for text in texts if not text.startswith("0 ")}
    if len(units) == 1:
        least, most = (text.rpartition(" ")[0] for text in texts[1:])
        return f"{texts[0]} [{least}, {most}]"
    return f"{texts[0]} [{texts[1]}, {texts[2]}]"


def points(share: float) -> str:
    """Write a difference of shares in percentage points."""
    return f"{100 * share:+.2f}".replace("-", words.MINUS)


def signed_rate(per_second: float, unit: str) -> str:
    """Write a difference of rates with its sign and unit."""
    return f"{words.MINUS if per_second < 0 else '+'}{words.rate(abs(per_second), unit)}"


def at_most(limit: float | None) -> How | None:
    """Return how a delay is written that is below a limit; None without a limit: as usual."""
    return None if limit is None else said(f"≤ {words.delay(limit)}")


def of_fair(value: Value) -> str:
    """Write a share in % of the fair share, with half of its interval where there is one."""
    if value.value is None:
        return DASH
    return words.share_of_fair(Effect(value.number, value.interval or UNKNOWN))


def exact_share(value: Value) -> str:
    """Write a share in percent with its interval, all with three figures."""
    low, high = value.interval or UNKNOWN
    return f"{100 * value.number:.3g} % [{100 * low:.3g} %, {100 * high:.3g} %]"


def megabit(form: str) -> How:
    """Return how a rate is written in Mbit/s, without the unit."""
    return number(lambda bps: format(bps / 1e6, form))


def mean_count(value: Value) -> str:
    """Write a mean of counts, with a decimal if it is below one."""
    mean = value.number
    return f"{mean:.0f}" if mean >= 1 else f"{mean:.1f}" if mean else "none"


def stop(value: Value) -> str:
    """Write how long a node stood still, never in s."""
    return number(lambda stop_s: words.delay(stop_s * 1e6))(value)


def rate(value: Value) -> str:
    """Write a rate with its unit."""
    return words.rate(value.number, value.unit)


def percent(form: str) -> How:
    """Return how a share is written in percent, by one of Python's forms."""
    return number(lambda share: f"{100 * share:{form}} %".replace("-", words.MINUS))


def _of_claims(unit: str) -> str:
    return "µs" if unit == "us" else unit


def _text(value: Value) -> str:
    if isinstance(value.value, bool):
        return "yes" if value.value else "no"
    return DASH if value.value is None else str(value.value)


PER_US = {"us": 1, "ns": 1000}
USUAL: dict[str, How] = {
    "": _text,
    "us": number(words.delay),
    "ns": number(lambda ns: words.delay(ns / 1000)),
    "s": number(words.seconds),
    "share": number(words.share),
    "cpus": fixed(".2f"),
    "ppm": number(lambda drift: f"{drift:+.2f} ppm".replace("-", words.MINUS)),
}
"""The words of a value by its unit; that of any other unit is a rate."""
