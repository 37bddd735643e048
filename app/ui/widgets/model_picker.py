"""Which model answers: a button with the library as its menu."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QMenu, QWidget

from app.controllers.chat_state import ChatState
from app.core.events import LoadedModel
from app.core.units import format_bytes
from app.ui.icons import create_icon
from app.ui.widgets.menu_button import MenuButton

if TYPE_CHECKING:
    from app.hub.library import LibraryEntry

_NAME_DIGITS = 36  # a name's place in the menu, which a narrow window has room for
_BUSY = (ChatState.LOADING, ChatState.GENERATING, ChatState.UNLOADING)


class ModelPicker(MenuButton):
    """Signals:
    model_requested(Path): the folder of a checkpoint.
    unload_requested
    convert_requested: the model is not in the library yet.
    remote_requested: another server shall answer.
    """

    model_requested = Signal(object)
    unload_requested = Signal()
    convert_requested = Signal()
    remote_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self._entries: tuple[LibraryEntry, ...] = ()
        self._state = ChatState.UNLOADED
        self._model: LoadedModel | None = None
        self.setToolTip(self.tr("Load a model (Ctrl+L)"))
        self.menu().setAccessibleName(self.tr("Models"))
        self.menu().setToolTipsVisible(True)
        self.menu().aboutToShow.connect(self._fill_menu)
        self._update()

    def set_entries(self, entries: Sequence[LibraryEntry]) -> None:
        """What the library holds."""
        self._entries = tuple(entries)

    def set_state(self, state: ChatState, model: LoadedModel | None) -> None:
        """What the engine is doing, and with which model."""
        self._state, self._model = state, model
        self._update()

    def _update(self) -> None:
        texts = {
            ChatState.LOADING: self.tr("Loading…"),
            ChatState.UNLOADING: self.tr("Unloading…"),
            ChatState.DOWN: self.tr("Engine stopped"),
        }
        name = self._model.name if self._model else self.tr("Choose a model")
        text = texts.get(self._state, name)
        self.setText(text)
        self.setAccessibleName(self.tr("Model: {name}").format(name=text))

    def _fill_menu(self) -> None:
        menu = self.menu()
        menu.clear()
        for entry in self._entries:
            self._add_entry(menu, entry)
        if not self._entries:
            menu.addAction(self.tr("The library is empty")).setEnabled(False)
        menu.addSeparator()
        menu.addAction(
            create_icon("convert"), self.tr("Convert another model…"), self.convert_requested.emit
        )
        self._add_remote(menu)
        if self._model is not None and self._state is ChatState.READY:
            is_remote = self._model.is_remote
            text = self.tr("Disconnect") if is_remote else self.tr("Unload and free its memory")
            menu.addAction(text, self.unload_requested.emit)

    def _add_remote(self, menu: QMenu) -> None:
        action = menu.addAction(
            create_icon("remote"), self.tr("Remote server…"), self.remote_requested.emit
        )
        action.setEnabled(self._state not in _BUSY)

    def _add_entry(self, menu: QMenu, entry: LibraryEntry) -> None:
        is_loaded = self._model is not None and Path(self._model.model_dir) == entry.path
        metrics = menu.fontMetrics()
        width = _NAME_DIGITS * metrics.horizontalAdvance("0")
        name = metrics.elidedText(entry.name, Qt.TextElideMode.ElideMiddle, width)
        text = f"{name}    {format_bytes(entry.total_bytes)}"
        action = menu.addAction(text, lambda: self.model_requested.emit(entry.path))
        action.setToolTip(entry.name)
        action.setCheckable(True)
        action.setChecked(is_loaded)
        action.setEnabled(self._state not in _BUSY)
