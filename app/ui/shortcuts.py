"""The keys that work everywhere in the window."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtGui import QKeySequence, QShortcut

from app.ui.desk import Desk

if TYPE_CHECKING:
    from app.ui.main_window import MainWindow


def create_shortcuts(window: MainWindow) -> None:
    """They ask for the window's desk when they are used: it may be another one then."""
    for keys, slot in {**_window_keys(window), **_page_keys(window), **_chat_keys(window)}.items():
        QShortcut(QKeySequence(keys), window).activated.connect(slot)


def _window_keys(window: MainWindow) -> dict[str, Callable[[], object]]:
    return {
        "Ctrl+O": window.pick_files,
        "Ctrl+Q": window.close,
        "Ctrl+=": lambda: window.appearance.zoom(1),
        "Ctrl++": lambda: window.appearance.zoom(1),
        "Ctrl+-": lambda: window.appearance.zoom(-1),
        "Ctrl+0": lambda: window.appearance.zoom(0),
    }


def _page_keys(window: MainWindow) -> dict[str, Callable[[], object]]:
    keys = ("Ctrl+1", "Ctrl+2", "Ctrl+3", "Ctrl+4", "Ctrl+5", "Ctrl+6", "Ctrl+,")
    return {
        key: lambda position=position: window.desk.show_page_at(position)  # type: ignore[misc]
        for position, key in enumerate(keys)
    }


def _chat_keys(window: MainWindow) -> dict[str, Callable[[], object]]:
    def on_chat(act: Callable[[Desk], object]) -> None:
        window.show_page(window.desk.chat_page)
        act(window.desk)

    return {
        "Ctrl+B": lambda: window.desk.chat_page.toggle_conversations(),
        "Ctrl+Shift+B": lambda: window.desk.chat_page.toggle_panel(),
        "Ctrl+R": lambda: window.desk.chat_page.regenerate(),
        "Alt+Return": lambda: window.desk.chat_page.continue_reply(),
        "Esc": lambda: window.desk.chat_page.stop_reply(),
        "Ctrl+N": lambda: on_chat(lambda desk: desk.chat_page.new_conversation()),
        "Ctrl+L": lambda: on_chat(lambda desk: desk.chat_page.show_model_menu()),
        "Ctrl+F": lambda: on_chat(lambda desk: desk.chat_page.focus_search()),
    }
