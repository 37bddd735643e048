"""The real window, in Chinese, on a screen that nobody sees."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.core.paths import settings_path
from app.core.settings_store import SettingsStore

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication, QWidget

_WAIT_S = 120.0
_CHINESE = range(0x4E00, 0xA000)


def show_window(picture: Path | None) -> dict[str, Any]:
    """Shown once, photographed, closed. RuntimeError where it is not painted or speaks English."""
    from PySide6.QtWidgets import QApplication

    if sys.platform == "win32":  # that platform does not find the fonts there by itself
        os.environ.setdefault("QT_QPA_FONTDIR", r"C:\Windows\Fonts")
    QApplication([sys.argv[0], "-platform", "offscreen"])
    SettingsStore(settings_path()).update(language="zh_CN")
    from app.gui import Program, create_application

    app = create_application()
    program = Program(app)
    is_painted = _show(app, program.window)
    pixmap = program.window.grab()
    words = _chinese_words(program.window)
    qt_word = app.translate("QPlatformTheme", "Cancel")
    program.window.close()
    program.shutdown()
    if picture is not None:
        pixmap.save(str(picture))
    if not is_painted:
        raise RuntimeError("The window was not painted.")
    if not words or not _is_chinese(qt_word):
        raise RuntimeError(f"Translations are missing: {words[:3]}, {qt_word!r}.")
    facts = {"words": words[:3], "num_words": len(words), "qt_word": qt_word}
    return {"size": [pixmap.width(), pixmap.height()], "platform": app.platformName(), **facts}


def _show(app: QApplication, window: Any) -> bool:
    painted: list[bool] = []
    window.painted.connect(lambda: painted.append(True))
    window.show()
    end_s = time.monotonic() + _WAIT_S
    while not painted and time.monotonic() < end_s:
        app.processEvents()
    return bool(painted)


def _chinese_words(window: QWidget) -> list[str]:
    """What its buttons and labels say in Chinese, the name of that language itself apart."""
    from PySide6.QtWidgets import QAbstractButton, QLabel

    texts = {button.text() for button in window.findChildren(QAbstractButton)}
    texts |= {label.text() for label in window.findChildren(QLabel)}
    return sorted(text for text in texts - {"简体中文"} if _is_chinese(text))


def _is_chinese(text: str) -> bool:
    return any(ord(letter) in _CHINESE for letter in text)
