"""Numbers and times of options: an impossible one is one line that names the option."""

from __future__ import annotations

from delaylab.errors import BadInput
from delaylab.units import Duration, Rate

OCTET = 255


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


def octet(text: str, option: str) -> int:
    """Return an option's byte, which may be hexadecimal as 0x10; raise BadInput if it is none."""
    try:
        number = int(text, 16) if text[:2].lower() == "0x" else int(text)
    except ValueError:
        number = -1
    if not 0 <= number <= OCTET:
        raise BadInput(f"{option} is 0 to {OCTET}, or 0x0 to 0xff, got {text!r}")
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


def duration(text: str, option: str) -> Duration:
    """Return an option's time with its unit; raise BadInput if it is none."""
    try:
        return Duration.parse(text)
    except ValueError as error:
        raise BadInput(str(error), option) from None


def rule(text: str | None, option: str = "--until") -> str | None:
    """Return the convergence rule that an option names; raise BadInput for any other text."""
    if text is None or text == "right":
        return text
    from delaylab.spec.routing.expect import quiet_of

    try:
        quiet_of(text)
    except ValueError:
        raise BadInput(f"{option} is `right`, `quiet` or `quiet:5s`, got {text!r}") from None
    return text


def rate(text: str, option: str) -> Rate:
    """Return an option's rate with its unit; raise BadInput if it is none."""
    try:
        return Rate.parse(text)
    except ValueError as error:
        raise BadInput(str(error), option) from None
