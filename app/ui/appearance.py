"""How the window looks and which language it speaks, as the settings say: changed at once."""

from __future__ import annotations

from contextlib import AbstractContextManager

from PySide6.QtCore import QObject, Signal

from app.core.settings import SETTING_FIELDS
from app.core.settings_store import SettingsStore
from app.ui.accents import Accent
from app.ui.language import Language
from app.ui.theme import Theme, ThemeMode

_ZOOM_STEP_PERCENT = 10


class Appearance(QObject):
    """Signals:
    changed: the settings say something else by now.
    language_changed: what is built from now on speaks another language.
    """

    changed = Signal()
    language_changed = Signal()

    def __init__(
        self, settings: SettingsStore, theme: Theme, language: Language, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._settings, self._theme, self._language = settings, theme, language

    def held_back(self) -> AbstractContextManager[None]:
        """What is built meanwhile is styled at the end, all at once."""
        return self._theme.held_back()

    @property
    def mode(self) -> ThemeMode:
        """What the user chose."""
        return self._theme.mode

    def set_mode(self, mode: ThemeMode) -> None:
        """Another theme, which is remembered."""
        self._settings.update(theme=mode.value)
        self.apply("theme")

    def zoom(self, steps: int) -> None:
        """`steps` larger; 0 is back to the usual size."""
        wanted = self._settings.values.font_percent + steps * _ZOOM_STEP_PERCENT if steps else 100
        declared = SETTING_FIELDS["font_percent"].metadata
        percent = int(min(max(wanted, declared["least"]), declared["most"]))
        self._settings.update(font_percent=percent)
        self.apply("font_percent")

    def apply(self, name: str) -> None:
        """What this setting says; others are not of the look."""
        values = self._settings.values
        match name:
            case "theme":
                self._theme.set_mode(ThemeMode(values.theme))
            case "accent":
                self._theme.set_accent(Accent(values.accent))
            case "font_percent":
                self._theme.set_font_percent(values.font_percent)
            case "language" if self._language.choose(values.language):
                self.language_changed.emit()
            case _:
                return
        self.changed.emit()
