"""For an architecture that nobody declared: the implemented family that is most like it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from app.core.errors import UnsupportedError
from app.spec.config_reader import ConfigReader
from app.spec.registry import iter_adapters
from app.validation.reference_facts import Facts
from app.validation.spec_facts import spec_facts


@dataclass(frozen=True, slots=True)
class NearestFamily:
    """`facts` of the configuration as this family reads it; `unknown` are keys it does not know."""

    family: str
    facts: Mapping[str, str]
    unknown: tuple[str, ...]


class _TolerantReader(ConfigReader):
    """Remembers what nobody read in place of refusing it."""

    unknown: tuple[str, ...] = ()

    def finish(self, ignored: Iterable[str] = ()) -> None:
        try:
            super().finish(ignored)
        except UnsupportedError as error:
            self.unknown = (error.message,)


def find_nearest(config: Mapping[str, Any], reference: Facts) -> NearestFamily | None:
    """The family with the most facts in common; None when none can read the configuration."""
    found = [family for family in _iter_readings(config) if family is not None]
    return max(found, key=lambda family: _score(family, reference), default=None)


def _iter_readings(config: Mapping[str, Any]) -> Iterable[NearestFamily | None]:
    for path, adapter in iter_adapters():
        words = {"architectures": [adapter.architectures[0]], "model_type": adapter.model_types[0]}
        reader = _TolerantReader({**config, **words})
        try:
            spec = adapter.read(reader, path)
        except UnsupportedError:
            continue
        yield NearestFamily(adapter.family, spec_facts(spec, adapter.weight_names), reader.unknown)


def _score(family: NearestFamily, reference: Facts) -> tuple[int, bool]:
    same = sum(reference.get(name) == fact for name, fact in family.facts.items())
    return same, not family.unknown
