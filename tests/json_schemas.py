"""Random JSON Schemas of what llguidance enforces, small enough that a model fills them in."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Schema = dict[str, Any]

_NAMES = st.sampled_from(["a", "name", "größe", "is_ok", "x y", 'quo"te', "items", "id"])
_SCALARS: list[st.SearchStrategy[Schema]] = [
    st.just({"type": "boolean"}),
    st.just({"type": "null"}),
    st.builds(
        lambda low, width: {"type": "integer", "minimum": low, "maximum": low + width},
        st.integers(-50, 50),
        st.integers(0, 200),
    ),
    st.just({"type": "number", "minimum": -1, "maximum": 1}),
    st.builds(
        lambda low, width: {"type": "string", "minLength": low, "maxLength": low + width},
        st.integers(0, 3),
        st.integers(0, 6),
    ),
    st.sampled_from(
        [
            {"type": "string", "pattern": "^[a-z]{2,5}-[0-9]+$", "maxLength": 9},
            {"type": "string", "format": "date"},
            {"type": "string", "format": "uuid"},
        ]
    ),
    st.lists(
        st.sampled_from(["red", "grün", "", 'q"', 7, -1.5, None, True]),
        min_size=1,
        max_size=3,
        unique_by=repr,
    ).map(lambda values: {"enum": values}),
    st.sampled_from(["fixed", 3, {"a": [1]}]).map(lambda value: {"const": value}),
]


def _objects(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    """All properties are named; some of them are required."""

    @st.composite
    def build(draw: st.DrawFn) -> Schema:
        properties = draw(st.dictionaries(_NAMES, inner, min_size=1, max_size=3))
        required = [name for name in properties if draw(st.booleans())]
        return {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        }

    return build()


def _arrays(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    return st.builds(
        lambda items, low, more: {
            "type": "array",
            "items": items,
            "minItems": low,
            "maxItems": low + more,
        },
        inner,
        st.integers(0, 2),
        st.integers(0, 2),
    )


def _any_of(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    return st.lists(inner, min_size=1, max_size=2).map(lambda options: {"anyOf": options})


VALUES: st.SearchStrategy[Schema] = st.recursive(
    st.one_of(_SCALARS),
    lambda inner: st.one_of(_objects(inner), _arrays(inner), _any_of(inner)),
    max_leaves=4,
)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    """An object, some of whose parts are meant by reference."""
    schema = draw(_objects(VALUES))
    if draw(st.booleans()):
        schema["$defs"] = {"part": draw(_objects(VALUES))}
        schema["properties"]["part"] = {"$ref": "#/$defs/part"}
    return schema
