"""Durations, rates, sizes and shares: parsed exactly, kept as integers, printed exactly.

A quantity is an integer of its base unit (nanoseconds, bits per second, bytes, 10⁻⁹), so sums and
comparisons are exact. Text that is not a whole number of base units is refused, not rounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING, ClassVar, Self

from delaylab.errors import Unexpected

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import CoreSchema

_TEXT = re.compile(r"\s*(?P<number>[0-9]{1,24}(?:\.[0-9]{1,18})?)\s*(?P<unit>[A-Za-zµμ%]*)\s*")

MEBIBYTE = 2**20
LARGEST = 2**64 - 1
"""The largest value of a quantity: the agents use 64-bit integers, which hold 584 years in ns."""
LONGEST_TEXT = 80


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    """A non-negative integer of a base unit."""

    value: int

    NAME: ClassVar[str] = ""
    EXAMPLE: ClassVar[str] = ""
    UNITS: ClassVar[dict[str, int]] = {}
    ALIASES: ClassVar[dict[str, str]] = {}
    ALSO_READ: ClassVar[dict[str, int]] = {}
    """Units that are read but never written."""
    AMBIGUOUS: ClassVar[dict[str, str]] = {}
    """Units that differ between programs, each with the hint that an error gives."""

    def __post_init__(self) -> None:
        if self.value < 0:
            raise ValueError(f"a {self.NAME} is not negative: {self.value}")
        if self.value > LARGEST:
            raise ValueError(f"a {self.NAME} of {self.value:.3g} is more than can be counted")

    @classmethod
    def parse(cls, text: str | int | float) -> Self:
        """Read text such as ``250ms``; raise ValueError with the expected form if it is invalid."""
        shown = "nothing" if text is None else repr(text)
        got = shown if len(shown) <= LONGEST_TEXT else f"{str(text)[:LONGEST_TEXT]!r} …"
        expected = f"expected a {_name(cls)} such as {cls.EXAMPLE}, got {got}"
        if isinstance(text, bool) or not isinstance(text, str | int | float):
            raise Unexpected(expected)
        plain = format(Decimal(str(text)), "f") if isinstance(text, float) else str(text)
        match = _TEXT.fullmatch(plain)
        if match is None:
            if _TEXT.fullmatch(plain.lstrip().removeprefix("-")):
                raise ValueError(f"a {_name(cls)} such as {cls.EXAMPLE} is not negative: {text!r}")
            raise Unexpected(expected)
        number, unit = Fraction(match["number"]), match["unit"].replace("μ", "µ")
        unit = cls.ALIASES.get(unit, unit)
        if not unit and number == 0:
            return cls(0)
        factor = cls.UNITS.get(unit) or cls.ALSO_READ.get(unit) or cls._in_any_case(unit)
        if factor is None:
            hint = cls.AMBIGUOUS.get(unit) or f"units are {', '.join(filter(None, cls.UNITS))}"
            raise Unexpected(f"{expected}; {hint}")
        cls.check_bare(text, number, unit)
        exact = number * factor
        if exact.denominator != 1:
            smallest = next(iter(cls.UNITS))
            raise ValueError(f"{text!r} is not a whole number of {smallest}")
        return cls(int(exact))

    @classmethod
    def _in_any_case(cls, unit: str) -> int | None:
        return None

    @classmethod
    def check_bare(cls, text: object, number: Fraction, unit: str) -> None:
        """Raise ValueError for a number that means something else than most who write it think."""

    def __str__(self) -> str:
        """Return the shortest exact text, in the largest unit if several tie.

        `parse` reads it back.
        """
        candidates = [
            f"{number}{unit}"
            for unit, factor in reversed(self.UNITS.items())
            if self.value >= factor or factor == 1
            for number in _decimals(self.value, factor)
        ]
        return min(candidates, key=len)

    def __int__(self) -> int:
        return self.value

    @classmethod
    def __get_pydantic_core_schema__(cls, _: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema  # noqa: PLC0415  options of verbs are no models

        def read(value: object) -> Quantity:
            if isinstance(value, cls):
                return value
            return cls.parse(value)  # type: ignore[arg-type]  # parse() refuses other types

        return core_schema.no_info_plain_validator_function(
            read, serialization=core_schema.to_string_ser_schema()
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, object]:
        names = "|".join((*cls.UNITS, *cls.ALIASES, *cls.ALSO_READ))
        pattern = rf"^\d+(\.\d+)?\s*({names})$"
        return {"type": "string", "pattern": pattern, "examples": [cls.EXAMPLE]}


def _name(cls: type[Quantity]) -> str:
    """Return the quantity's name for messages."""
    return cls.NAME or cls.__name__.lower()


def _decimals(value: int, factor: int) -> Iterator[str]:
    """Yield value / factor as an exact decimal of at most nine places, if there is one."""
    for places in range(10):
        scaled, rest = divmod(value * 10**places, factor)
        if rest == 0:
            whole, part = divmod(scaled, 10**places)
            yield f"{whole}.{part:0{places}d}" if places else str(whole)
            return


class Duration(Quantity):
    """A time span in whole nanoseconds."""

    NAME = "duration"
    EXAMPLE = "250ms"
    UNITS: ClassVar[dict[str, int]] = {
        "ns": 1,
        "us": 1_000,
        "ms": 1_000_000,
        "s": 1_000_000_000,
        "min": 60_000_000_000,
        "h": 3_600_000_000_000,
    }
    ALIASES: ClassVar[dict[str, str]] = {
        "µs": "us",
        # as tc(8) writes them
        **{f"{unit}{end}": unit for unit in ("ms", "us", "ns") for end in ("ec", "ecs")},
        **dict.fromkeys(("sec", "secs"), "s"),
    }

    @property
    def ns(self) -> int:
        """Return the number of nanoseconds."""
        return self.value

    @property
    def seconds(self) -> float:
        """Return the number of seconds as a float, for waiting and printing only."""
        return self.value / 1e9


class Rate(Quantity):
    """A bit rate in whole bits per second; prefixes are decimal, as in Ethernet."""

    NAME = "rate"
    EXAMPLE = "100Mbit"
    UNITS: ClassVar[dict[str, int]] = {
        "bit": 1,
        "kbit": 10**3,
        "Mbit": 10**6,
        "Gbit": 10**9,
        "Tbit": 10**12,
    }
    ALIASES: ClassVar[dict[str, str]] = {
        "bit/s": "bit",
        "kbps": "kbit",
        "Mbps": "Mbit",
        "Gbps": "Gbit",
        # as tc(8) and iperf write them
        "mbit": "Mbit",
        "gbit": "Gbit",
        "tbit": "Tbit",
        "Kbit": "kbit",
        "Bit": "bit",
    }
    ALSO_READ: ClassVar[dict[str, int]] = {
        f"{prefix}ibit": 1024**power for power, prefix in enumerate("KMGT", start=1)
    }
    AMBIGUOUS: ClassVar[dict[str, str]] = dict.fromkeys(
        ("bps", "mbps", "gbps", "tbps", "Kbps", "KBps", "MBps", "GBps"),
        "some programs mean bits by it and tc means bytes: write Mbit",
    )

    @classmethod
    def _in_any_case(cls, unit: str) -> int | None:
        """Return the factor of a unit as tc(8) reads it, whatever its capitals."""
        known = {name.lower(): factor for name, factor in {**cls.UNITS, **cls.ALSO_READ}.items()}
        return known.get(unit.lower())

    @property
    def bps(self) -> int:
        """Return the number of bits per second."""
        return self.value


class Size(Quantity):
    """A number of bytes; kB is 1000 and KiB 1024 (IEC 80000-13)."""

    NAME = "size"
    EXAMPLE = "64MiB"
    UNITS: ClassVar[dict[str, int]] = {
        "B": 1,
        "kB": 10**3,
        "KiB": 2**10,
        "MB": 10**6,
        "MiB": MEBIBYTE,
        "GB": 10**9,
        "GiB": 2**30,
    }

    @property
    def bytes(self) -> int:
        """Return the number of bytes."""
        return self.value


class Share(Quantity):
    """A share of a whole, at most 100 %, in whole 10⁻⁹: ``1%``, ``0.01``, ``50ppm``."""

    NAME = "share"
    EXAMPLE = "1%"
    WHOLE: ClassVar[int] = 10**9
    MOST: ClassVar[int] = WHOLE
    BARE_BELOW: ClassVar[int] = 1
    """The bound, itself left out, of a share without a unit."""
    UNITS: ClassVar[dict[str, int]] = {"ppb": 1, "ppm": 10**3, "%": 10**7, "": 10**9}

    def __post_init__(self) -> None:
        Quantity.__post_init__(self)
        if self.value > self.MOST:
            raise ValueError(f"a {self.NAME} is at most {type(self)(self.MOST)}, not {self}")

    @classmethod
    def check_bare(cls, text: object, number: Fraction, unit: str) -> None:
        """Raise ValueError for `1` and more without a unit: many would mean per cent."""
        if not unit and number >= cls.BARE_BELOW:
            whole = f"{float(number * 100):g}"
            meant = f" or {whole}%" if number * cls.WHOLE <= cls.MOST else ""
            raise ValueError(f"{text} is {whole} %; write {text}%{meant}")

    def __str__(self) -> str:
        """Return the share in per cent; parse() reads it back."""
        return f"{next(_decimals(self.value, self.UNITS['%']))}%"

    def __float__(self) -> float:
        return self.value / self.WHOLE

    @classmethod
    def of(cls, part: float) -> Self:
        """Return the share of a number in which 1 is the whole."""
        return cls(round(part * cls.WHOLE))


class Multiple(Share):
    """A share that may be more than the whole, at most 1000 %: ``150%``, ``1.5``."""

    NAME = "multiple"
    EXAMPLE = "150%"
    BARE_BELOW: ClassVar[int] = 11
    MOST: ClassVar[int] = 10 * Share.WHOLE


@dataclass(frozen=True, slots=True)
class Amount:
    """A number, or a quantity in its base unit: `ns`, `bit/s`, `B` or `share` (1 is the whole)."""

    value: float
    unit: str = ""


BASES: dict[str, type[Quantity]] = {"ns": Duration, "bit/s": Rate, "B": Size, "share": Share}
"""The class of each base unit."""


def amount_of(text: str) -> Amount | None:
    """Return the amount that a text such as `20ms`, `1Mbit`, `5%`, `5pct` or `40` stands for.

    Return None if it is no number, or has a unit that is not known.
    """
    try:
        return Amount(float(text)) if isfinite(float(text)) else None
    except ValueError:
        text = text.replace("pct", "%")
    for unit, kind in BASES.items():
        try:
            value = kind.parse(text).value
        except ValueError:
            continue
        return Amount(value / Share.WHOLE if unit == "share" else value, unit)
    return None


def text_of(amount: Amount) -> str | int | float:
    """Return an amount as a file has it, rounded to whole base units; `amount_of` reads it."""
    if not amount.unit:
        return int(amount.value) if amount.value.is_integer() else amount.value
    if amount.unit == "share":
        return str(Share.of(amount.value))
    return str(BASES[amount.unit](round(amount.value)))
