"""Every text of the window is translated, and what the program loads is what was translated."""

from __future__ import annotations

import ast
import re
import shutil
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QLocale, QTranslator
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from app.core.paths import settings_path
from app.core.settings import SETTING_FIELDS
from app.core.settings_store import SettingsStore
from app.gui import Program
from app.ui.language import TRANSLATED, Language
from tests.ui.window_support import TIMEOUT_MS, drop_on, running_program

sys.path.insert(0, str(Path(__file__).parents[2] / "packaging"))

from bundling import translations

ROOT = translations.ROOT
FOLDER = translations.FOLDER
CATALOGUES = [FOLDER / f"deepinfer_{language}.ts" for language in TRANSLATED]
# Methods and widgets that show their first argument.
_SHOWING = {"setText", "setToolTip", "setAccessibleName", "setAccessibleDescription", "QLabel"}
_SHOWING |= {"setPlaceholderText", "setWindowTitle", "setTitle", "QPushButton", "QCheckBox"}
_SHOWING |= {"addAction", "QRadioButton", "setSpecialValueText", "setSuffix"}
_PLACE = re.compile(r"{[^{}]*}")
# The same in every language: names, units, examples of addresses and tokens.
_SAME = re.compile(r"DeepInfer|Python|curl| MiB|https?://.*|hf_…")


def messages(catalogue: Path) -> list[tuple[str, str, str]]:
    """(source, translation, state) of each text."""
    found = []
    for message in ET.parse(catalogue).getroot().iter("message"):
        translation = message.find("translation")
        assert translation is not None
        source = message.findtext("source") or ""
        found.append((source, translation.text or "", translation.get("type", "")))
    return found


@pytest.mark.parametrize("catalogue", CATALOGUES, ids=lambda path: path.stem)
def test_every_text_is_translated_with_its_places(catalogue: Path, tmp_path: Path) -> None:
    fresh = tmp_path / catalogue.name
    shutil.copy(catalogue, fresh)
    translations.update(fresh)
    for source, translation, state in messages(fresh):
        assert (state, bool(translation)) == ("", True), f"`dev.py translate`: {source!r}"
        assert sorted(_PLACE.findall(source)) == sorted(_PLACE.findall(translation))
    assert messages(fresh) == messages(catalogue), "texts are gone: `dev.py translate`"


@pytest.mark.parametrize("catalogue", CATALOGUES, ids=lambda path: path.stem)
def test_what_is_loaded_is_what_was_translated(catalogue: Path, tmp_path: Path) -> None:
    compiled = tmp_path / "x.qm"
    translations.compile_catalogue(catalogue, compiled)
    assert compiled.read_bytes() == catalogue.with_suffix(".qm").read_bytes()


def test_the_languages_can_be_chosen() -> None:
    assert set(SETTING_FIELDS["language"].metadata["choices"]) == {"system", "en", *TRANSLATED}


def _literals(path: Path) -> Iterator[str]:
    """Texts that are shown without being marked for translation."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        name = (
            node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        )
        shown = node.args[0]
        if name in _SHOWING and isinstance(shown, ast.Constant) and isinstance(shown.value, str):
            yield shown.value


def test_nothing_is_shown_that_cannot_be_translated() -> None:
    shown = {
        (path.name, text)
        for path in (ROOT / "app" / "ui").rglob("*.py")
        for text in _literals(path)
        if re.search(r"[A-Za-z]{2}", text) and not _SAME.fullmatch(text)
    }
    assert shown == set()


@pytest.fixture
def chinese(qapp: QApplication) -> Iterator[Program]:
    SettingsStore(settings_path()).update(language="zh_CN")
    with running_program() as running:
        yield running
    for translator in qapp.findChildren(QTranslator):
        qapp.removeTranslator(translator)
        translator.deleteLater()


def _texts(window: QWidget) -> Iterator[str]:
    for widget in window.findChildren(QWidget):
        yield from (widget.toolTip(), widget.accessibleName(), widget.accessibleDescription())
        if isinstance(widget, QLabel | QAbstractButton):
            yield widget.text()
        if isinstance(widget, QLineEdit):
            yield widget.placeholderText()


def test_no_english_is_left_in_the_window(chinese: Program) -> None:
    """Texts in parts, with numbers and names in them, are left to the test of the catalogue."""
    (catalogue,) = CATALOGUES
    english = {source for source, translation, _ in messages(catalogue) if source != translation}
    shown = set(_texts(chinese.window))
    assert "聊天" in shown
    assert shown & english == set()


def test_a_damaged_file_is_refused_in_chinese(
    chinese: Program, qtbot: QtBot, tmp_path: Path
) -> None:
    """From the process that read it to the card that tells why."""
    damaged = tmp_path / "cut.gguf"
    damaged.write_bytes(b"GGUF\x03\x00\x00\x00" + b"\x01" * 16)
    drop_on(chinese.window, [damaged])
    card = chinese.window.convert_page.error
    qtbot.waitUntil(card.isVisible, timeout=TIMEOUT_MS)
    told = " ".join(label.text() for label in card.findChildren(QLabel) if label.isVisible())
    assert "cut.gguf：" in told
    for name in ("cut.gguf", "GGUF", "MiB"):
        told = told.replace(name, "")
    assert re.findall(r"[A-Za-z]{2,}", told) == []


def test_qts_own_dialogs_speak_it_too(chinese: Program, qapp: QApplication) -> None:
    assert qapp.translate("QPlatformTheme", "Cancel") == "取消"


@pytest.mark.parametrize(
    ("languages", "expected"),
    [
        (["zh-Hans-CN", "en-US"], "zh_CN"),
        (["zh-CN"], "zh_CN"),
        (["zh"], "zh_CN"),
        (["zh-Hant-TW", "zh-TW"], "en"),
        (["de-DE", "zh-CN"], "zh_CN"),
        (["de-DE", "en-US", "zh-CN"], "en"),
        (["fr-FR"], "en"),
        ([], "en"),
    ],
)
def test_the_system_is_followed(
    qapp: QApplication, monkeypatch: pytest.MonkeyPatch, languages: list[str], expected: str
) -> None:
    monkeypatch.setattr(QLocale, "uiLanguages", lambda _self: languages)
    monkeypatch.setattr(Language, "_install", lambda *_args: None)
    assert Language(qapp, "system").name == expected
