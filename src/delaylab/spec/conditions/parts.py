"""Common parts of the models of conditions: bounded quantities, and the link engine's form."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from delaylab.spec.base import TracksNamedFields
from delaylab.spec.conditions import bounds, engine
from delaylab.units import Duration, Quantity, Share, Size


def at_most(most: Quantity) -> AfterValidator:
    """Return a validator that refuses quantities above `most`."""

    def check(value: Quantity) -> Quantity:
        if value > most:
            raise ValueError(f"{value} is more than {most}")
        return value

    return AfterValidator(check)


def _less_than_all(share: Share) -> Share:
    if share.value == Share.WHOLE:
        raise ValueError("a correlation of 100% would repeat the first packet's fate for ever")
    return share


Time = Annotated[Duration, at_most(Duration(bounds.LONGEST_NS))]
Framing = Annotated[Size, at_most(Size(bounds.LARGEST_FRAMING))]
Correlation = Annotated[Share, AfterValidator(_less_than_all)]


def default_share(kind: type[engine.EngineForm], name: str) -> Share:
    """Return the engine's default of a field as a share."""
    return Share.of(kind.model_fields[name].default)


def named_parts(
    kind: type[engine.Model], model: TracksNamedFields, *tags: str, **parts: tuple[str, object]
) -> engine.Model:
    """Return the engine's form of those fields that the file names.

    `parts` maps a file's field to its name and value in the engine's form. `tags` are fields of the
    engine's form that are always named, such as the model of a loss.
    """
    named = {tag: kind.model_fields[tag].default for tag in tags}
    named |= {key: value for name, (key, value) in parts.items() if name in model.model_fields_set}
    return engine.made_of(kind, named)
