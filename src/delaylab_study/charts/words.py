"""Format of numbers in every report."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, isfinite, isnan, log10

from delaylab_study.analysis.claims.finding import Verdict
from delaylab_study.analysis.claims.rule import Stand
from delaylab_study.analysis.claims.words import amount
from delaylab_study.analysis.packets.instrument import Cost
from delaylab_study.analysis.statistics.effects import Effect
from delaylab_study.analysis.statistics.quantiles import Interval, Quantile

MINUS = "−"
VERDICT_MARKS: dict[Verdict, str] = {
    "reproduced": "✓",
    "contradicted": "✗",
    "holds": "✓",
    "does not hold": "✗",
    "open": "?",
    "not testable here": "–",
}


def delay(us: float | None) -> str:
    """Write a delay given in µs with three figures and its unit, or a dash if it is None."""
    if us is None:
        return "–"
    size = abs(us)
    if size >= 999_500:
        return f"{_figures(us / 1_000_000)} s"
    if size >= 999.5:
        return f"{_figures(us / 1000)} ms"
    return f"{_figures(us)} µs"


def quantile(found: Quantile) -> str:
    """Write a quantile, its upper limit if it was refused, or a dash if it is unknown."""
    return delay(found.value) if found.at_most is None else f"≤ {delay(found.at_most)}"


def quantile_or_needs(found: Quantile) -> str:
    """Write a quantile, or how many packets one needs that too few carry."""
    return quantile(found) if found.needs is None else found.needs.words


def interval(found: Interval | None) -> str:
    """Write a 95 % interval of delays given in µs."""
    return f"{delay(found[0])} … {delay(found[1])}" if found else "–"


def with_interval(
    value: float | None, interval: Interval | None, unit: str, *, is_difference: bool = True
) -> str:
    """Write an effect of a claim with its interval, or a dash if nothing was measured.

    `unit` is µs, share, times or index. An effect that is exact, such as that of the earliest
    packet of all, has no interval. A delay that is no difference has no sign.
    """
    if value is None or interval is None or isnan(value):
        return "–"
    write = UNITS.get(unit, signed if is_difference else unsigned)
    exact = interval[0] == value == interval[1]
    return write(value) if exact else f"{write(value)} {_ends(interval, write)}"


def published(value: float | None, unit: str, *, is_difference: bool = True) -> str:
    """Write the paper's own value of an effect, or a dash if it gives none."""
    if value is None:
        return "–"
    write = signed if is_difference else unsigned
    return write(value) if unit == "µs" else amount(value, unit)


def stand(found: Stand, own: bool = False) -> str:
    """Write what an effect says of its claim, which with `own` is a study's own."""
    no = "does not hold" if own else "contradicts"
    return {True: "holds", False: no, None: "does not decide"}[found]


def shift(effect: Effect) -> str:
    """Write a difference of delays in µs with its interval."""
    return f"{signed(effect.value)} {_ends(effect.interval, signed)}"


def cost(found: Cost) -> str:
    """Write what the taps add: the increase with its interval, or that it is too small to see."""
    if found.added is None:
        return f"not measured: {found.why}"
    ends = _ends(found.added.interval, signed)
    if ends == UNKNOWN:
        return "not measured: too few independent packets at rest"
    if found.measurable:
        return f"{signed(found.added.value)} {ends}"
    if found.at_most_us is None:
        return f"nothing that can be seen {ends}: the packets without taps were slower"
    return f"no measurable delay, at most {delay(found.at_most_us)} {ends}"


def share(value: float | None) -> str:
    """Write a share in percent, or a dash if it is not known."""
    return "–" if value is None else _share(value)


def share_of_fair(effect: Effect) -> str:
    """Write a share in % of the fair share, with half of its interval where there is one."""
    low, high = effect.interval
    half = f" ± {100 * (high - low) / 2:.0f}" if isfinite(high - low) else ""
    return f"{100 * effect.value:.0f}{half}"


def rate(per_second: float, unit: str) -> str:
    """Write a rate with its unit, which has a prefix if it is one of bits."""
    prefixes = (
        ("", "k", "M", "G", "T") if unit.startswith(("bit", "B/", "flop", "updates")) else ("",)
    )
    power = min(len(prefixes) - 1, max(0, int(log10(max(per_second, 1)) // 3)))
    value = per_second / 1000**power
    digits = max(0, 2 - int(log10(value))) if value >= 1 else 3
    return f"{value:,.{digits}f} {prefixes[power]}{unit}".replace(",", " ").rstrip()


def seconds(value: float) -> str:
    """Write a time given in s with three figures."""
    if value == 0:
        return "0 s"
    return delay(value * 1e6) if value < 1 else f"{_figures(value)} s"


def system(kernel: str) -> str:
    """Write the kernel's name so that it begins with Linux."""
    return kernel if kernel.startswith("Linux") else f"Linux {kernel}"


def times(value: float) -> str:
    """Write a ratio: with one decimal, below 2 with two, and below 1 with two figures."""
    text = f"{value:.2g}" if abs(value) < 1 else f"{value:.{1 if abs(value) >= 2 else 2}f}"
    return f"{text} ×".replace("-", MINUS)


def signed(us: float) -> str:
    """Write a difference of delays in µs with its sign."""
    return ("+" if us > 0 else "") + delay(us).replace("-", MINUS)


def unsigned(us: float) -> str:
    """Write a delay in µs that is no difference; the end of an interval may be below 0."""
    return delay(us).replace("-", MINUS)


def _share(value: float) -> str:
    """Write a share in percent, never rounded up to 100 % or down to 0 %."""
    percent = 100 * value
    to_an_end = min(abs(percent), abs(100 - percent))
    digits = max(1, ceil(-log10(to_an_end))) if 0 < to_an_end < 1 else 0
    return f"{percent:.{digits}f} %".replace("-", MINUS)


def _figures(value: float) -> str:
    size = abs(value)
    digits = 0 if size >= 99.95 else 1 if size >= 9.995 else 2
    return f"{value:.{digits}f}".replace("-", MINUS)


def _ends(interval: Interval, write: Callable[[float], str]) -> str:
    """Write an interval in brackets, or that the data carry none."""
    low, high = interval
    return f"[{write(low)}, {write(high)}]" if isfinite(high - low) else UNKNOWN


UNKNOWN = "[unknown]"
"""Interval of an effect with too few independent packets."""
UNITS: dict[str, Callable[[float], str]] = {
    "share": _share,
    "index": lambda value: f"{value:.4f}".replace("-", MINUS),
    "times": times,
}
"""Format of an effect by its unit, if it is no delay in µs."""
