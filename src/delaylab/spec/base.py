"""What all models of a file have in common."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    StringConstraints,
    WithJsonSchema,
    model_serializer,
    model_validator,
)
from pydantic_core import CoreSchema, core_schema

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,30}$")]
"""Names end up in interface names, file names and cgroups: lower case, digits, hyphens."""


MOST_CPUS = 8192
"""As many as Linux can be built for."""


Cpu = Annotated[int, Field(ge=0, lt=MOST_CPUS)]
Cpus = Annotated[list[Cpu], Field(max_length=MOST_CPUS)]
"""CPUs by their numbers; which of them this machine has is seen when the lab comes up."""


FromFile = WithJsonSchema({"type": ["string", "object", "array", "null"]})
"""For editors: a file's name stands where its content is read to."""


class Spec(BaseModel):
    """The base of everything a file may say: unknown fields are refused, nothing changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Partial(Spec):
    """What keeps apart, also when written out, what was said from what was left out."""

    @model_serializer(mode="wrap")
    def _only_what_is_named(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        whole: dict[str, Any] = handler(self)
        fields = type(self).model_fields
        unnamed = fields.keys() - self.model_fields_set
        hidden = unnamed | {fields[name].alias for name in unnamed}
        return {name: value for name, value in whole.items() if name not in hidden}


class Short(Partial):
    """What may be given by its main field alone: `jitter: 2ms` for `jitter: {spread: 2ms}`."""

    MAIN: ClassVar[str]

    @model_validator(mode="before")
    @classmethod
    def _from_main(cls, value: Any) -> Any:
        return value if isinstance(value, dict | cls) else {cls.MAIN: value}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        whole = handler.resolve_ref_schema(handler(schema))
        return {"anyOf": [whole, {"type": ["string", "number"]}]}


class Removable:
    """Marks what `none` takes away, whoever has said it before."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def read(value: Any) -> Any:
            return None if value == "none" else value

        return core_schema.no_info_before_validator_function(read, handler(source))

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"anyOf": [handler(schema), {"const": "none"}]}
