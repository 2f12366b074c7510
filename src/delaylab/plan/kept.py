"""The form in which a running lab's plan is kept beside it, as JSON values."""

from __future__ import annotations

from functools import cache

from pydantic import TypeAdapter

from delaylab.io.values import JsonObject
from delaylab.plan.model import Plan


def written(plan: Plan) -> JsonObject:
    """Return a plan without its operations, which are done once the lab runs."""
    kept: JsonObject = _adapter().dump_python(plan, mode="json", exclude={"operations"})
    return kept


def read(kept: object) -> Plan:
    """Return a kept plan; raise ValidationError if it is not one of this version."""
    return _adapter().validate_python(kept)


@cache
def _adapter() -> TypeAdapter[Plan]:
    return TypeAdapter(Plan)
