"""Conversion of a direction's conditions from the link engine's form to a lab file's words."""

from __future__ import annotations

from typing import Any

import yaml

from delaylab.units import Duration, Quantity, Rate, Share, Size

Said = dict[str, Any]
FIELDS: dict[str, tuple[str, type[Quantity] | None]] = {
    "spread_ns": ("spread", Duration),
    "correlation": ("correlation", Share),
    "share": ("share", Share),
    "gap": ("gap", None),
    "bps": ("limit", Rate),
    "overhead_bytes": ("overhead", Size),
    "minimum_bytes": ("minimum", Size),
    "packets": ("packets", None),
    "bytes": ("bytes", Size),
    "held": ("held", None),
    "target_ns": ("target", Duration),
    "interval_ns": ("interval", Duration),
    "min_bytes": ("min", Size),
    "max_bytes": ("max", Size),
    "probability": ("probability", Share),
    **{name: (name, Share) for name in ("to_bad", "to_good", "lost_in_bad", "lost_in_good")},
}
"""The link engine's field names -> the lab file's name and the quantity (None: as it is)."""
MAIN = {"jitter": "spread", "loss": "share", "reorder": "share", "rate": "limit"}


def spoken(asked: dict[str, Any]) -> dict[str, str]:
    """Return the link engine's conditions as words, field by field, as `link set` takes them.

    A trace, a loss pattern or a distribution table, which came from a file, is given by its length.
    """
    return {key.removesuffix("_ns"): _word(key, value) for key, value in asked.items()}


def asked_text(asked: dict[str, Any]) -> str:
    """Return conditions as one line."""
    return " ".join(f"{name}={word}" for name, word in spoken(asked).items())


def _word(key: str, value: Any) -> str:
    if key == "delay_ns":
        return str(Duration(value))
    if key == "trace":
        return f"{value['kind']} over time, {len(value.get('points') or value['at_ns'])} points"
    if not isinstance(value, dict):
        return str(Share.parse(float(value)))
    said = _condition(key, value)
    main = MAIN.get(key) or next(iter(said))
    if list(said) == [main] and not isinstance(said[main], dict):
        return str(said[main])
    return yaml.safe_dump(said, default_flow_style=True, width=1000, sort_keys=False).strip()


def _condition(key: str, value: dict[str, Any]) -> Said:
    if key == "loss" and value["model"] == "gilbert-elliott":
        return {"gilbert-elliott": _parts(value)}
    if key == "loss" and value["model"] == "pattern":
        return {"pattern": f"of {sum(value['runs'])} packets"}
    said = _parts(value)
    if "distribution" in value:
        shape = value["distribution"]
        table = {"table": f"of {len(shape['table'])} values"} if isinstance(shape, dict) else None
        said["distribution"] = table or shape
    if "discipline" in value:
        discipline = value["discipline"]
        said |= {"discipline": discipline["kind"], **_parts(discipline)}
    return said


def _parts(value: dict[str, Any]) -> Said:
    found: Said = {}
    for key, part in value.items():
        if key in FIELDS:
            name, quantity = FIELDS[key]
            found[name] = part if quantity is None else str(_quantity(quantity, part))
    return found


def _quantity(quantity: type[Quantity], value: Any) -> Quantity:
    return Share.parse(float(value)) if quantity is Share else quantity(value)
