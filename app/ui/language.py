"""The language of the window: English as it is written, others from `resources/i18n`."""

from __future__ import annotations

from PySide6.QtCore import QLibraryInfo, QLocale, QTranslator
from PySide6.QtWidgets import QApplication

from app.core.paths import resources_dir

SYSTEM = "system"
TRANSLATED = ("zh_CN",)


class Language:
    """Translates the program and Qt's own dialogs. Widgets that exist already stay as they are."""

    def __init__(self, app: QApplication, choice: str) -> None:
        """`choice` is `system`, `en` or one of `TRANSLATED`."""
        self._app = app
        self._translators: list[QTranslator] = []
        self.name = "en"
        self.choose(choice)

    def choose(self, choice: str) -> bool:
        """From now on this one; returns whether it is another."""
        name = _of_the_system() if choice == SYSTEM else choice
        is_other = name != self.name
        if is_other:
            self.remove()
            self.name = name
            if name in TRANSLATED:
                qt_folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
                self._install(f"qtbase_{name}", qt_folder)
                self._install(f"deepinfer_{name}", str(resources_dir() / "i18n"))
        QLocale.setDefault(QLocale(name))  # weekdays, and how numbers are typed
        return is_other

    def remove(self) -> None:
        """Back to English."""
        for translator in self._translators:
            self._app.removeTranslator(translator)
            translator.deleteLater()
        self._translators, self.name = [], "en"
        QLocale.setDefault(QLocale(self.name))

    def _install(self, name: str, folder: str) -> None:
        translator = QTranslator(self._app)
        if translator.load(name, folder):
            self._app.installTranslator(translator)
            self._translators.append(translator)


def _of_the_system() -> str:
    """The first of the system's languages that the program speaks."""
    for name in QLocale.system().uiLanguages():
        script = name.replace("_", "-").split("-")
        if script[0] == "zh" and not {"Hant", "TW", "HK", "MO"} & set(script):
            return "zh_CN"
        if script[0] == "en":
            return "en"
    return "en"
