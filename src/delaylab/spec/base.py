"""Base classes and types of all models of a file."""

from __future__ import annotations

from typing import Annotated, ClassVar, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
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

IN_WORDS: dict[str, str] = {}
"""Words for what fits each pattern, for the error of a text that does not."""


def spelled(pattern: str, words: str, most: int | None = None) -> StringConstraints:
    """Return the constraint that a text fits a pattern; `words` say which texts do."""
    IN_WORDS[pattern] = words
    return StringConstraints(pattern=pattern, max_length=most)


NAME = r"^[a-z][a-z0-9-]{0,30}$"
Name = Annotated[
    str,
    spelled(
        NAME,
        "a name of lower-case letters, digits and hyphens, a letter first, at most 31 characters",
    ),
]
"""A name that is valid as an interface name, file name and cgroup: lower case, digits, hyphens."""


LinkCost = Annotated[int, Field(ge=1, le=65535)]
"""The cost of a link, or of one end of it, as OSPF has it (RFC 2328, appendix C.3)."""
INTERFACE = r"^[A-Za-z0-9_][A-Za-z0-9_.@-]{0,14}$"
InterfaceName = Annotated[
    str, spelled(INTERFACE, "the name of a network interface, at most 15 characters")
]
"""The name of an interface of this machine; the kernel allows 15 characters (`dev_valid_name`)."""


Item = TypeVar("Item")


def no_items() -> list[Item]:
    """Return a list without items, the default of a field.

    `list` itself would do; but pydantic asks for the parameters of a default's maker, and finding
    those of `list` takes Python 0.1 ms for each field, and 1.5 ms once.
    """
    return []


def _listed(given: object) -> object:
    return [given] if isinstance(given, str) else given


Names = Annotated[list[Name], BeforeValidator(_listed, json_schema_input_type=Name | list[Name])]
"""Names as a list, or one name without it."""
Texts = Annotated[list[str], BeforeValidator(_listed, json_schema_input_type=str | list[str])]
"""Texts as a list, or one text without it."""


SSH_TARGET = r"^[A-Za-z0-9_\[][A-Za-z0-9_.:@%/\[\]+-]*$"
SshTarget = Annotated[
    str,
    spelled(SSH_TARGET, "a machine's name as ssh takes it, such as `root@192.0.2.1`", most=255),
]
"""The destination of an ssh: never an option of it, and one word."""


PACKAGE = r"^[a-z0-9][a-z0-9+.-]+$"
"""The syntax of a package's name (Debian Policy, 5.6.1 and 5.6.7)."""
MOST_PACKAGES = 100
Package = Annotated[str, spelled(PACKAGE, "the name of a package", most=100)]
Packages = Annotated[list[Package], Field(max_length=MOST_PACKAGES)]
"""Names of the distribution's packages, without versions and architectures."""


MOST_CPUS = 8192
"""The most CPUs that Linux can be built for."""


Cpu = Annotated[int, Field(ge=0, lt=MOST_CPUS)]
Cpus = Annotated[list[Cpu], Field(max_length=MOST_CPUS)]
"""CPU numbers; they are compared with this machine's CPUs only when the lab starts."""


FromFile = WithJsonSchema({"type": ["string", "object", "array", "null"]})
"""The JSON schema of a field that also accepts a file's name, whose content then replaces it."""


class Spec(BaseModel):
    """The base of all models of a file: immutable, and unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, defer_build=True)


class TracksNamedFields(Spec):
    """A model that keeps named fields apart from omitted ones, also when it is written out."""

    @model_serializer(mode="wrap")
    def _only_what_is_named(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        whole: dict[str, object] = handler(self)
        fields = type(self).model_fields
        unnamed = fields.keys() - self.model_fields_set
        hidden = unnamed | {fields[name].alias for name in unnamed}
        return {name: value for name, value in whole.items() if name not in hidden}


class Shorthand(TracksNamedFields):
    """A model that its main field can stand for: `jitter: 2ms` for `jitter: {spread: 2ms}`."""

    MAIN: ClassVar[str]

    @model_validator(mode="before")
    @classmethod
    def _from_main(cls, value: object) -> object:
        return value if isinstance(value, dict | cls) else {cls.MAIN: value}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, object]:
        whole = handler.resolve_ref_schema(handler(schema))
        return {"anyOf": [whole, {"type": ["string", "number"]}]}


class NoneRemoves:
    """A marker for a field that the word `none` removes, wherever it was set before."""

    @classmethod
    def __get_pydantic_core_schema__(cls, of: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        def read(value: object) -> object:
            return None if value == "none" else value

        return core_schema.no_info_before_validator_function(read, handler(of))

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, object]:
        return {"anyOf": [handler(schema), {"const": "none"}]}
