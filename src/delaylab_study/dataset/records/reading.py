"""Reader of a dataset's JSON files, which limits size and depth and escapes control characters."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import NoReturn

from delaylab.api.errors import BadInput
from delaylab.api.files import printable, read_text

MOST_BYTES = 256 << 20
MOST_DEPTH = 50
MOST_DIGITS = 40

Json = dict[str, object] | list[object] | str | int | float | bool | None


def read_json(place: Path) -> dict[str, object]:
    """Read a JSON object from a file; raise BadInput, in one line, for anything else.

    Control characters in strings and keys are written as escapes.
    """
    return parse_json(read_text(place, MOST_BYTES), str(place))


def parse_json(text: str, where: str) -> dict[str, object]:
    """Return the JSON object in a text; raise BadInput as `read_json` does."""
    try:
        raw = json.loads(
            text,
            parse_int=_whole,
            parse_float=_finite,
            parse_constant=_no_number,
            object_pairs_hook=_once,
        )
        found = _cleaned(raw, 0)
    except RecursionError:
        raise BadInput(f"damaged: nested more than {MOST_DEPTH} deep", where) from None
    except ValueError as error:
        raise BadInput(f"damaged: {error}", where) from None
    if not isinstance(found, dict):
        raise BadInput("damaged: not a JSON object", where)
    return found


def _cleaned(value: Json, depth: int) -> Json:
    if depth > MOST_DEPTH:
        raise RecursionError
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, list):
        return [_cleaned(each, depth + 1) for each in value]  # type: ignore[arg-type]
    if isinstance(value, dict):
        return {printable(key): _cleaned(each, depth + 1) for key, each in value.items()}  # type: ignore[arg-type]
    return value


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in found if names.count(name) > 1)
        raise ValueError(f"{twice!r} is there twice")
    return found


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"a number has more than {MOST_DIGITS} digits")
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:MOST_DIGITS]} is more than can be counted")
    return value


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")
