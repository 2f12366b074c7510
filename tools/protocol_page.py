"""Tables of docs/protocol.md: the messages of the agent, as the agent itself describes them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from textwrap import fill

from tools.agent_protocol import Schema, protocol
from tools.field_tables import row_of, table_of

WORDS = {"string": "text", "boolean": "true or false", "number": "number", "null": "null"}
FIELDS = ("field", "type", "left out", "meaning")


def named(reference: Schema, types: Schema) -> Schema:
    """Return the type that a schema refers to, or the schema itself."""
    name = reference.get("$ref", "").rpartition("/")[2]
    found: Schema = types[name] if name else reference
    return found


def messages() -> str:
    """Return the generated part of the page."""
    known = protocol()
    read, written = known["read"], known["written"]
    parts = [_running(known)]
    own = set()
    for op, about in {**known["operations"], "build": known["build"]}.items():
        request, done = (about[name]["$ref"].rpartition("/")[2] for name in ("request", "done"))
        own |= {request, done}
        parts += [
            f"### Request `{op}`",
            _text(_meaning(read[request])),
            _fields(read[request], read),
        ]
        sent = [f"{word}: {_listed(about[word])}." for word in ("events", "tables") if about[word]]
        parts += [
            " ".join(sent).capitalize().replace(". tables", ". Tables"),
            _answer(written[done], written),
        ]
    parts.append("### Parts of messages")
    both = {**written, **read}
    for name, kind in sorted(both.items()):
        if name not in own | {"Order", "Event", "Failure"} and _has_fields(kind):
            parts += [f"#### {name}", _text(_meaning(kind)), _variants(kind, both)]
    return "\n\n".join(filter(None, parts))


def _running(known: Schema) -> str:
    sections = []
    for title, types, key in (("Orders", "read", "order"), ("Events", "written", "event")):
        kind = named(known[key], known[types])
        rows = [
            row_of(
                ", ".join(
                    f"`{name}`: {words(value, known[types])}" for name, value in each.items()
                ),
                _meaning(variant),
            )
            for variant in (kind.get("oneOf") or kind["anyOf"])
            for each in [variant["properties"]]
        ]
        sections.append(f"### {title}\n\n{table_of((title.lower()[:-1], 'meaning'), rows)}")
    return "\n\n".join(sections)


def _answer(done: Schema, types: Schema) -> str:
    table = _fields(done, types)
    return f"{_text(f'Answer: {_meaning(done)}')}\n\n{table}" if table else "Answer: `{}`"


def _variants(kind: Schema, types: Schema) -> str:
    """Return the fields of a type, or of each of its variants, as one table each."""
    variants = kind.get("oneOf") or kind.get("anyOf") or [kind]
    return "\n\n".join(filter(None, (_fields(each, types) for each in variants)))


def _fields(kind: Schema, types: Schema) -> str:
    needed = kind.get("required", [])
    rows = [
        row_of(
            f"`{name}`",
            words(field, types),
            "" if name in needed else _default(field, types),
            _meaning(field),
        )
        for name, any_field in kind.get("properties", {}).items()
        for field in [{} if any_field is True else any_field]
    ]
    return table_of(FIELDS, rows) if rows else ""


def _default(field: Schema, types: Schema) -> str:
    if field.get("default") is not None:
        return f"`{json.dumps(field['default'])}`"
    return "null" if "null" in words(field, types) else "possible"


def _meaning(kind: Schema) -> str:
    return " ".join(str(kind.get("description", "")).split())


def _text(meaning: str) -> str:
    return fill(meaning, 100, break_long_words=False, break_on_hyphens=False)


def _has_fields(kind: Schema) -> bool:
    variants = kind.get("oneOf") or kind.get("anyOf") or [kind]
    return any(variant.get("properties") for variant in variants)


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def words(schema: Schema | bool, types: Schema) -> str:
    """Return a type in words; types with fields are links to their tables."""
    if isinstance(schema, bool):
        return "any"
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        kind = types[name]
        return f"[{name}](#{name.lower()})" if _has_fields(kind) else words(kind, types)
    return " or ".join(_alternatives(schema, types))


def _alternatives(schema: Schema, types: Schema) -> Iterator[str]:
    if "const" in schema:
        yield f"`{schema['const']}`"
    elif "enum" in schema:
        yield from (f"`{value}`" for value in schema["enum"])
    elif variants := schema.get("oneOf") or schema.get("anyOf"):
        for each in variants:
            yield words(each, types)
    elif "type" not in schema:
        yield "any"
    else:
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        yield from (_plain(kind, schema, types) for kind in kinds)


def _plain(kind: str, schema: Schema, types: Schema) -> str:
    match kind:
        case "integer":
            kind = schema["format"].replace("int", "i").replace("ui", "u")
            return f"integer ({kind if kind != 'u' else 'u64'})"
        case "array":
            inner = schema.get("items", {})
            listed = inner if "prefixItems" not in schema else {"anyOf": schema["prefixItems"]}
            return f"list of {words(listed, types)}"
        case "object":
            return f"{words(schema.get('additionalProperties', True), types)}, by name"
        case _:
            return WORDS[kind]
