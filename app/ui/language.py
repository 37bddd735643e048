"""The language of the window: English as it is written, others from `resources/i18n`."""

from __future__ import annotations

from PySide6.QtCore import QLibraryInfo, QLocale, QTranslator
from PySide6.QtWidgets import QApplication

from app.core.paths import resources_dir

SYSTEM = "system"
TRANSLATED = ("zh_CN",)


def install_language(app: QApplication, choice: str) -> str:
    """Translates the program and Qt's own dialogs; returns the language that is shown.

    `choice` is `system`, `en` or one of `TRANSLATED`. Widgets that exist already stay as they are.
    """
    language = _of_the_system() if choice == SYSTEM else choice
    if language in TRANSLATED:
        qt_folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
        _install(app, f"qtbase_{language}", qt_folder)
        _install(app, f"deepinfer_{language}", str(resources_dir() / "i18n"))
    return language


def _of_the_system() -> str:
    """The first of the system's languages that the program speaks."""
    for name in QLocale.system().uiLanguages():
        script = name.replace("_", "-").split("-")
        if script[0] == "zh" and not {"Hant", "TW", "HK", "MO"} & set(script):
            return "zh_CN"
        if script[0] == "en":
            return "en"
    return "en"


def _install(app: QApplication, name: str, folder: str) -> None:
    translator = QTranslator(app)
    if translator.load(name, folder):
        app.installTranslator(translator)
