"""What a controller has told since something began, to be told again to a page built meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial

from PySide6.QtCore import QObject

Slots = Mapping[str, Callable[..., object]]


class Story:
    """Remembers the signals of a controller that `signals` names, in the order they came.

    Those in `beginnings` start it anew; of those in `latest` only the last is kept, as each says
    all that those before it said.
    """

    def __init__(
        self,
        controller: QObject,
        signals: Collection[str],
        *,
        beginnings: Collection[str],
        latest: Collection[str] = (),
    ) -> None:
        self._beginnings, self._latest = frozenset(beginnings), frozenset(latest)
        self._told: list[tuple[str, tuple[object, ...]]] = []
        for name in signals:
            getattr(controller, name).connect(partial(self.note, name))

    def note(self, name: str, *values: object) -> None:
        """Something was told; called by the signals themselves."""
        if name in self._beginnings:
            self._told.clear()
        elif name in self._latest:
            self._told = [one for one in self._told if one[0] != name]
        self._told.append((name, values))

    def tell(self, slots: Slots) -> None:
        """Tells all of it again, to the slot with each signal's name where there is one."""
        for name, values in list(self._told):
            if name in slots:
                slots[name](*values)


def follow(controller: QObject, slots: Slots) -> None:
    """Connects each slot to the signal with its name."""
    for name, slot in slots.items():
        getattr(controller, name).connect(slot)
