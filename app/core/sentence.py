"""A sentence for people that can still be said in another language: a template and its values.

It is a `str`, the English one, so whatever takes a text takes it: the command line, the port, logs,
saved reports, comparisons. The window looks up `template` among its translations and fills in
`values` (`app.ui.sentences`). Templates are constants, so that `dev.py translate` finds them: the
first argument of `Sentence` and of every `AppError`.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping

# What a value may be, in a list or an object too: it is pickled, and shown by the window.
_PLAIN = (str, int, float, bool, type(None), list, tuple, dict)


class Sentence(str):
    """`template.format(**values)`; without values the template is the text, whatever it holds.

    Values that are no plain data are kept as their text. One that is itself a Sentence, or an
    exception made of one, is translated with the whole.
    """

    __slots__ = ("template", "values")

    template: str
    values: Mapping[str, object]

    def __new__(cls, template: str, /, **values: object) -> Sentence:
        if isinstance(template, Sentence) and not values:
            return template
        plain = {name: _to_plain(value) for name, value in values.items()}
        sentence = super().__new__(cls, template.format(**plain) if plain else template)
        sentence.template = str(template)
        sentence.values = plain
        return sentence

    def __reduce__(self) -> tuple[object, ...]:
        return _create, (self.template, self.values)


def listing(parts: Iterable[str]) -> str:
    """`a, b, c`: one part or more, with the comma of the language that they are shown in."""
    first, *rest = parts
    return Sentence("{first}, {rest}", first=first, rest=listing(rest)) if rest else first


def clauses(parts: Iterable[str]) -> str:
    """`a; b; c`: as `listing`, of what has commas itself."""
    first, *rest = parts
    return Sentence("{first}; {rest}", first=first, rest=clauses(rest)) if rest else first


def sentences(parts: Iterable[str]) -> str:
    """`A. B.`: one whole sentence after the other."""
    first, *rest = parts
    return Sentence("{first} {rest}", first=first, rest=sentences(rest)) if rest else first


def pack(text: str) -> object:
    """For JSON, so that `unpack` returns a Sentence as it was; any other text as it is."""
    if not isinstance(text, Sentence):
        return text
    values = {n: pack(v) if isinstance(v, str) else v for n, v in text.values.items()}
    return {"template": text.template, "values": values}


def unpack(packed: object) -> str:
    """What `pack` made; raises KeyError, TypeError or AttributeError for anything else."""
    if isinstance(packed, str):
        return packed
    if not isinstance(packed, dict):
        raise TypeError(f"no text: {packed!r}")
    values = {n: unpack(v) if _is_packed(v) else v for n, v in packed["values"].items()}
    return Sentence(str(packed["template"]), **values)


def _is_packed(value: object) -> bool:
    return isinstance(value, dict) and "template" in value


def _create(template: str, values: Mapping[str, object]) -> Sentence:
    return Sentence(template, **values)


def _to_plain(value: object) -> object:
    if isinstance(value, BaseException) and value.args and isinstance(value.args[0], Sentence):
        return value.args[0]
    if type(value) in _PLAIN or isinstance(value, Sentence):
        return value
    if isinstance(value, numbers.Integral):  # NumPy's too
        return int(value)
    return float(value) if isinstance(value, numbers.Real) else str(value)
