"""Typed access to GGUF metadata that remembers what was read: no key is ignored silently."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from app.core.errors import InvalidSourceError, UnsupportedError
from app.core.sentence import Sentence

_REQUIRED: Any = object()


class GgufMetadata:
    """Reads the keys `{architecture}.*`; `file` names the source in errors."""

    def __init__(self, metadata: Mapping[str, Any], architecture: str, file: str) -> None:
        self.file = file
        self._metadata = metadata
        self._prefix = f"{architecture}."
        self._read: set[str] = set()

    def value(self, name: str, default: Any = _REQUIRED) -> Any:
        """The raw value. Raises InvalidSourceError when it is absent and has no default."""
        self._read.add(name)
        found = self._metadata.get(self._prefix + name, default)
        if found is _REQUIRED:
            raise InvalidSourceError(
                "{file}: the metadata has no {prefix}{name}.",
                file=self.file,
                prefix=self._prefix,
                name=name,
            )
        return found

    def integer(self, name: str, default: int | None = _REQUIRED) -> Any:
        """An int; some writers list it per layer: an array of one repeated value counts as it."""
        found = self._scalar(name, self.value(name, default))
        if found is not default and (not isinstance(found, int) or isinstance(found, bool)):
            raise self._ill_typed(name, Sentence("an integer"), found)
        return found

    def number(self, name: str, default: float | None = _REQUIRED) -> Any:
        """A float: the shortest decimal of the float32 that is stored."""
        found = self.value(name, default)
        if found is default:
            return default
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise self._ill_typed(name, Sentence("a number"), found)
        return float(str(np.float32(found)))

    def text(self, name: str, default: str = _REQUIRED) -> str:
        """A str."""
        found = self.value(name, default)
        if not isinstance(found, str):
            raise self._ill_typed(name, Sentence("a string"), found)
        return found

    def refuse(self, name: str, reason: str) -> UnsupportedError:
        """The error for a value that is sound but not supported."""
        return UnsupportedError(
            "{file}: {prefix}{name}: {reason}.",
            file=self.file,
            prefix=self._prefix,
            name=name,
            reason=reason,
        )

    def finish(self, ignored: frozenset[str]) -> None:
        """Raises UnsupportedError naming the keys of the architecture that nobody read."""
        names = {
            key.removeprefix(self._prefix) for key in self._metadata if key.startswith(self._prefix)
        }
        unread = sorted(names - self._read - ignored)
        if unread:
            listed = ", ".join(self._prefix + name for name in unread[:5])
            raise UnsupportedError(
                "{file}: metadata that this program does not understand: {listed}.",
                file=self.file,
                listed=listed,
            )

    def _scalar(self, name: str, found: Any) -> Any:
        if not isinstance(found, np.ndarray):
            return found
        if found.size and found.dtype.kind in "iu" and (found == found[0]).all():
            return int(found[0])
        raise self.refuse(name, Sentence("different values per layer are not supported"))

    def _ill_typed(self, name: str, wanted: str, found: object) -> InvalidSourceError:
        return InvalidSourceError(
            "{file}: {prefix}{name} must be {wanted}, not {found!r}.",
            file=self.file,
            prefix=self._prefix,
            name=name,
            wanted=wanted,
            found=str(found)[:40],
        )
