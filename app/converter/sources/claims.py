"""Which stored tensors were asked for: each is used exactly once, and every misfit is named."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Generic, Protocol, TypeVar

from app.core.errors import InvalidSourceError
from app.core.sentence import Sentence, clauses, listing

_NAMES_SHOWN = 4


class Shaped(Protocol):
    """Anything stored under a name with a shape."""

    @property
    def shape(self) -> tuple[int, ...]:
        """In NumPy's order."""


T = TypeVar("T", bound=Shaped)


class TensorClaims(Generic[T]):
    """Takes tensors by name and expected shape, and remembers what was missing or mis-shaped."""

    def __init__(self, tensors: Mapping[str, T]) -> None:
        self._tensors = tensors
        self._used: set[str] = set()
        self._missing: set[str] = set()
        self._misshaped: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    def shape_of(self, name: str) -> tuple[int, ...] | None:
        """The shape of a tensor, which this does not take; None when there is none."""
        tensor = self._tensors.get(name)
        return None if tensor is None else tensor.shape

    def take(self, name: str, shape: tuple[int, ...]) -> T | None:
        """The tensor; None (and a fault for `check`) when it is missing or has another shape."""
        tensor = self._tensors.get(name)
        if tensor is None:
            self._missing.add(name)
            return None
        self._used.add(name)
        if tensor.shape != shape:
            self._misshaped.add(
                Sentence(
                    "{name} {found} instead of {wanted}",
                    name=name,
                    found=list(tensor.shape),
                    wanted=list(shape),
                )
            )
            return None
        return tensor

    def check(self, *, ignored: Collection[str], architecture: str, file: str) -> None:
        """Raises InvalidSourceError listing missing, unexpected and mis-shaped tensors apart."""
        unexpected = self._tensors.keys() - self._used - set(ignored)
        kinds = {
            Sentence("missing"): self._missing,
            Sentence("unexpected"): unexpected,
            Sentence("mis-shaped"): self._misshaped,
        }
        faults = [
            Sentence("{kind} {names}", kind=kind, names=_shorten(sorted(names)))
            for kind, names in kinds.items()
            if names
        ]
        if faults:
            raise InvalidSourceError(
                "{file}: its tensors are not those of {architecture}: {faults}.",
                file=file,
                architecture=architecture,
                faults=clauses(faults),
                detail="\n".join(
                    f"{kind}: {name}" for kind in kinds for name in sorted(kinds[kind])
                ),
            )


def _shorten(names: list[str]) -> str:
    more = len(names) - _NAMES_SHOWN
    shown = listing(names[:_NAMES_SHOWN])
    return Sentence("{names} and {more} more", names=shown, more=more) if more > 0 else shown
