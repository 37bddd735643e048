"""The keys that work everywhere in the window, and the list of them that F1 shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QKeySequence, QShortcut

from app.ui.desk import Desk

if TYPE_CHECKING:
    from app.ui.main_window import MainWindow

translate = QCoreApplication.translate


@dataclass(frozen=True, slots=True)
class Shortcut:
    """`keys` all do the same, what `text` says; without `act` a page or a field does it."""

    keys: tuple[str, ...]
    text: str
    act: Callable[[], object] | None = None


def create_shortcuts(window: MainWindow) -> None:
    """They ask for the window's desk when they are used: it may be another one then."""
    for shortcuts in list_shortcuts(window).values():
        for shortcut in shortcuts:
            for keys in shortcut.keys if shortcut.act else ():
                QShortcut(QKeySequence(keys), window).activated.connect(shortcut.act)


def list_shortcuts(window: MainWindow) -> dict[str, tuple[Shortcut, ...]]:
    """By the titles of their groups, in the window's language."""
    return {
        translate("Shortcuts", "Conversation"): _chat_keys(window),
        translate("Shortcuts", "Writing"): _writing_keys(),
        translate("Shortcuts", "Library"): _library_keys(),
        translate("Shortcuts", "Pages"): _page_keys(window),
        translate("Shortcuts", "Window"): _window_keys(window),
    }


def _window_keys(window: MainWindow) -> tuple[Shortcut, ...]:
    zoom = window.appearance.zoom
    return (
        Shortcut(("F1",), translate("Shortcuts", "Show this list"), window.show_shortcuts),
        Shortcut(("Ctrl+O",), translate("Shortcuts", "Convert a file"), window.pick_files),
        Shortcut(("Ctrl+=", "Ctrl++"), translate("Shortcuts", "Larger text"), lambda: zoom(1)),
        Shortcut(("Ctrl+-",), translate("Shortcuts", "Smaller text"), lambda: zoom(-1)),
        Shortcut(("Ctrl+0",), translate("Shortcuts", "Text of the usual size"), lambda: zoom(0)),
        Shortcut(("Ctrl+Q",), translate("Shortcuts", "Close the window"), window.close),
    )


def _page_keys(window: MainWindow) -> tuple[Shortcut, ...]:
    keys = ("Ctrl+1", "Ctrl+2", "Ctrl+3", "Ctrl+4", "Ctrl+5", "Ctrl+6", "Ctrl+,")
    names = [button.text() for button in window.navigation.pages.buttons]
    return tuple(
        Shortcut((key,), name, partial(_show_page_at, window, position))
        for position, (key, name) in enumerate(zip(keys, names, strict=True))
    )


def _show_page_at(window: MainWindow, position: int) -> None:
    window.desk.show_page_at(position)


def _writing_keys() -> tuple[Shortcut, ...]:
    return (
        Shortcut(("Enter",), translate("Shortcuts", "Send the message")),
        Shortcut(("Shift+Enter",), translate("Shortcuts", "Start a new line")),
    )


def _library_keys() -> tuple[Shortcut, ...]:
    text = translate("Shortcuts", "Show the model in the file manager")
    return (Shortcut(("Ctrl+Shift+E",), text),)


def _chat_keys(window: MainWindow) -> tuple[Shortcut, ...]:
    def on_chat(act: Callable[[Desk], object]) -> Callable[[], None]:
        def show_and_act() -> None:
            window.show_page(window.desk.chat_page)
            act(window.desk)

        return show_and_act

    def here(act: Callable[[Desk], object]) -> Callable[[], object]:
        return lambda: act(window.desk)

    return (
        Shortcut(
            ("Ctrl+N",),
            translate("Shortcuts", "New chat"),
            on_chat(lambda desk: desk.chat_page.new_conversation()),
        ),
        Shortcut(
            ("Ctrl+L",),
            translate("Shortcuts", "Choose a model"),
            on_chat(lambda desk: desk.chat_page.show_model_menu()),
        ),
        Shortcut(
            ("Ctrl+F",),
            translate("Shortcuts", "Search the conversations"),
            on_chat(lambda desk: desk.chat_page.focus_search()),
        ),
        Shortcut(
            ("Esc",),
            translate("Shortcuts", "Stop the reply"),
            here(lambda desk: desk.chat_page.stop_reply()),
        ),
        Shortcut(
            ("Ctrl+R",),
            translate("Shortcuts", "Ask for another reply"),
            here(lambda desk: desk.chat_page.regenerate()),
        ),
        Shortcut(
            ("Alt+Return",),
            translate("Shortcuts", "Let the reply go on"),
            here(lambda desk: desk.chat_page.continue_reply()),
        ),
        Shortcut(
            ("Ctrl+B",),
            translate("Shortcuts", "Show or hide the conversations"),
            here(lambda desk: desk.chat_page.toggle_conversations()),
        ),
        Shortcut(
            ("Ctrl+Shift+B",),
            translate("Shortcuts", "Show or hide the settings and plots"),
            here(lambda desk: desk.chat_page.toggle_panel()),
        ),
    )
