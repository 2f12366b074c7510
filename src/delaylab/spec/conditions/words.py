"""Conversion of a direction's conditions from the link engine's form to a lab file's words."""

from __future__ import annotations

from delaylab.spec.conditions.engine import (
    Conditions,
    DelayTrace,
    EngineForm,
    GilbertElliott,
    Jitter,
    Opportunities,
    Pattern,
    Queue,
    RateTrace,
    Table,
)
from delaylab.units import Duration, Quantity, Rate, Share, Size

Said = dict[str, object]
FIELDS: dict[str, tuple[str, type[Quantity] | None]] = {
    "spread_ns": ("spread", Duration),
    "half_life_ns": ("half_life", Duration),
    "refills": ("refills", None),
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
    "weight": ("weight", Share),
    **{name: (name, Share) for name in ("to_bad", "to_good", "lost_in_bad", "lost_in_good")},
}
"""The link engine's field names -> the lab file's name and the quantity (None: as it is)."""
APART = {"model", "kind", "distribution", "discipline"}
"""Fields of parts whose words are not one quantity."""
MAIN = {"jitter": "spread", "loss": "share", "reorder": "share", "rate": "limit"}


def as_words(conditions: Conditions) -> dict[str, str]:
    """Return the link engine's conditions as words, field by field, as `link set` takes them.

    A trace, a loss pattern or a distribution table, which came from a file, is given by its length.
    """
    return {key.removesuffix("_ns"): _word(key, value) for key, value in conditions.named.items()}


def one_line(conditions: Conditions) -> str:
    """Return conditions as one line."""
    return " ".join(f"{name}={word}" for name, word in as_words(conditions).items())


def _word(key: str, value: object) -> str:
    if isinstance(value, int) and key == "delay_ns":
        return str(Duration(value))
    if isinstance(value, RateTrace | DelayTrace):
        return f"{value.kind} over time, {len(value.points)} points"
    if isinstance(value, Opportunities):
        return f"{value.kind} over time, {len(value.at_ns)} points"
    if isinstance(value, int):
        raise TypeError(f"no words for {key}: {value}")
    if not isinstance(value, EngineForm):
        return value if isinstance(value, str) else str(Share.of(float(str(value))))
    said = _condition(value)
    main = MAIN.get(key) or next(iter(said))
    if list(said) == [main] and not isinstance(said[main], dict):
        return str(said[main])
    import yaml  # noqa: PLC0415  most conditions need none, and `link show` starts sooner

    return yaml.safe_dump(said, default_flow_style=True, width=1000, sort_keys=False).strip()


def _condition(part: EngineForm) -> Said:
    if isinstance(part, GilbertElliott):
        return {"gilbert-elliott": _parts(part)}
    if isinstance(part, Pattern):
        return {"pattern": f"of {sum(part.runs)} packets"}
    said = _parts(part)
    if isinstance(part, Jitter) and "distribution" in part.model_fields_set:
        shape = part.distribution
        said["distribution"] = (
            {"table": f"of {len(shape.table)} values"} if isinstance(shape, Table) else shape
        )
    if isinstance(part, Queue) and part.discipline is not None:
        said |= {"discipline": part.discipline.kind, **_parts(part.discipline)}
    return said


def _parts(part: EngineForm) -> Said:
    found: Said = {}
    for key, value in part:
        if key not in APART and key in part.model_fields_set and value is not None:
            name, quantity = FIELDS[key]
            found[name] = value if quantity is None else str(_quantity(quantity, value))
    return found


def _quantity(quantity: type[Quantity], value: float) -> Quantity:
    return Share.of(float(value)) if quantity is Share else quantity(int(value))
