"""Numbers and times of options: an impossible one is one line that names the option."""

from __future__ import annotations

from delaylab.errors import BadInput
from delaylab.units import Duration


def whole(text: str, option: str, low: int, high: int) -> int:
    """Return an option's whole number; raise BadInput if it is none or out of bounds."""
    try:
        number = int(text)
    except ValueError:
        raise BadInput(f"{option} is a whole number, got {text!r}") from None
    if number < low:
        raise BadInput(f"{option} is at least {low}")
    if number > high:
        raise BadInput(f"{option} is at most {high}")
    return number


def seconds(text: str, option: str, most: Duration) -> Duration:
    """Return an option's time; a number without a unit is in seconds.

    Raise BadInput if it is none or out of bounds.
    """
    try:
        found = Duration.parse(f"{text}s" if text.replace(".", "", 1).isdigit() else text)
    except ValueError as error:
        raise BadInput(str(error), option) from None
    if found > most:
        raise BadInput(f"{option} is at most {most}")
    return found
