"""Parts of a file that have variants, each with fields of its own: nodes, loads and work."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import ClassVar, Self, get_args

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, core_schema

from delaylab.spec.base import Spec


class Variants(Spec):
    """The base of a family of models: the classes without subclasses are its variants.

    A mapping read as a class of the family becomes a value of its variant. A field of some variants
    that is empty (`null`) counts as left out.
    """

    @classmethod
    def variant_of(cls, said: Mapping[str, object]) -> type[Variants]:
        """Return the variant that a mapping is; raise ValueError if it is none."""
        raise NotImplementedError

    @classmethod
    def refusal(cls, name: str) -> str:
        """Return the sentence for a field that this variant does not have, but another one has."""
        raise NotImplementedError

    @classmethod
    def variants(cls) -> list[type[Self]]:
        """Return the variants in the order of their definition."""
        below = [leaf for each in cls.__subclasses__() for leaf in each.variants()]
        return list(dict.fromkeys(below)) or [cls]

    @classmethod
    def __get_pydantic_core_schema__(cls, of: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        if cls.variants() == [cls]:
            return handler(of)
        # Not a union of all variants: pydantic would build each of them, which costs 0.1 s.
        return core_schema.no_info_plain_validator_function(cls._read)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        variants = cls.variants()
        if variants == [cls]:
            return handler(schema)
        for each in variants:
            each.model_rebuild()
        return handler(
            core_schema.union_schema([each.__pydantic_core_schema__ for each in variants])
        )

    @classmethod
    def _read(cls, data: object) -> Variants:
        if isinstance(data, cls):
            return data
        if not isinstance(data, dict):
            raise cls.wrong("model_type", (), data, class_name=cls.__name__)
        fields = names_in_files(all_fields(cls))
        own = fields - names_in_files(cls.model_fields)
        said = {key: each for key, each in data.items() if each is not None or key not in own}
        try:
            variant = cls.variant_of(said)
        except ValueError:
            # Of a misspelt field the user learns first: it may be what is missing.
            unknown = next((name for name in said if name not in fields), None)
            if unknown is None:
                raise
            raise cls.wrong("extra_forbidden", (unknown,), said[unknown]) from None
        others = (fields - names_in_files(variant.model_fields)) & said.keys()
        found = variant.model_validate({k: v for k, v in said.items() if k not in others})
        if others:
            raise ValueError(variant.refusal(min(others)))
        return found

    @classmethod
    def wrong(cls, kind: str, at: tuple[str, ...], got: object, **more: str) -> ValidationError:
        """Return the error that pydantic has for a value; its place is in the mapping."""
        problem = InitErrorDetails(type=kind, loc=at, input=got, ctx=more)
        return ValidationError.from_exception_data(cls.__name__, [problem])


class Jobs(Variants):
    """The base of a family in which each variant has one main field, whose presence selects it."""

    what: ClassVar[str]
    """The name of the main field."""

    @classmethod
    def named_in(cls, said: Mapping[str, object], family: str) -> type[Self]:
        """Return the variant of the main field in a mapping; raise ValueError unless it has one."""
        known: dict[str, type[Self]] = {}
        for each in cls.variants():
            known.setdefault(each.what, each)
        given = [variant for name, variant in known.items() if name in said]
        if len(given) != 1:
            raise ValueError(f"{family} is exactly one of {', '.join(known)}")
        return given[0]


def names_in_files(fields: Mapping[str, FieldInfo]) -> set[str]:
    """Return the names that fields have in a file; those with an alias may have either."""
    return set(fields) | {field.alias for field in fields.values() if field.alias}


@cache
def all_fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of a model by name; of a family those of all variants."""
    if not issubclass(model, Variants):
        return model.model_fields
    fields = dict(model.model_fields)
    for variant in model.variants():
        fields |= {
            name: field for name, field in variant.model_fields.items() if name not in fields
        }
    return fields


def models_in(annotation: object) -> Collection[type[BaseModel]]:
    """Return the models that an annotation names."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in models_in(part)]
