"""Typed access to a JSON object that names the field at fault."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, TypeVar

from app.core.errors import CheckpointError
from app.core.sentence import Sentence

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)


class JsonFields:
    """The fields of one JSON object; `where` names it, as in `manifest.json: linears.lm_head`."""

    def __init__(self, values: dict[str, Any], where: str) -> None:
        self._values = values
        self.where = where

    @classmethod
    def parse(cls, text: str, file_name: str) -> JsonFields:
        """Raises CheckpointError unless `text` is one JSON object."""
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise CheckpointError(
                "{file_name} is not sound JSON.", file_name=file_name, detail=str(error)
            ) from error
        if not isinstance(values, dict):
            raise CheckpointError("{file_name} is not a JSON object.", file_name=file_name)
        return cls(values, f"{file_name}:")

    @property
    def values(self) -> dict[str, Any]:
        """The raw object."""
        return self._values

    def text(self, name: str) -> str:
        """A string field."""
        return self._typed(name, str, Sentence("a text"))

    def integer(self, name: str) -> int:
        """A whole number (booleans are none)."""
        return self._typed(name, int, Sentence("a whole number"))

    def number(self, name: str) -> float:
        """A finite number."""
        value = self._get(name)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not math.isfinite(value)
        ):
            raise self._ill_typed(name, Sentence("a finite number"))
        return float(value)

    def choice(self, name: str, kinds: type[E]) -> E:
        """A string field that names a member of an enum."""
        value = self.text(name)
        try:
            return kinds(value)
        except ValueError as error:
            raise CheckpointError(
                "{path} {value!r} is not known.", path=self._path(name), value=value
            ) from error

    def pair(self, name: str) -> tuple[int, int]:
        """A list of two positive whole numbers: a shape [out, in]."""
        value = self._get(name)
        if (
            isinstance(value, list)
            and len(value) == 2
            and all(type(n) is int and n > 0 for n in value)
        ):
            return value[0], value[1]
        raise self._ill_typed(name, Sentence("a pair of positive whole numbers"))

    def table(self, name: str) -> JsonFields:
        """An object inside this one."""
        return JsonFields(self._typed(name, dict, Sentence("an object")), self._path(name))

    def tables(self) -> Iterator[tuple[str, JsonFields]]:
        """All fields, each of which must be an object."""
        for name in self._values:
            yield name, self.table(name)

    def _get(self, name: str) -> Any:
        if name not in self._values:
            raise CheckpointError("{path} is missing.", path=self._path(name))
        return self._values[name]

    def _typed(self, name: str, kind: type[T], words: str) -> T:
        value = self._get(name)
        if type(value) is not kind:
            raise self._ill_typed(name, words)
        return value

    def _ill_typed(self, name: str, words: str) -> CheckpointError:
        return CheckpointError("{path} is not {words}.", path=self._path(name), words=words)

    def _path(self, name: str) -> str:
        return f"{self.where}{' ' if self.where.endswith(':') else '.'}{name}"
