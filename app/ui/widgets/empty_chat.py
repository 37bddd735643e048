"""What the Chat page shows instead of messages: always the next thing to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QFont, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.controllers.chat_state import ChatState
from app.core.events import LoadedModel
from app.core.units import format_bytes
from app.ui.icons import IconLabel
from app.ui.theme import set_role, ui_font
from app.ui.widgets.elided_button import ElidedButton
from app.ui.widgets.machine_card import MachineCard

if TYPE_CHECKING:
    from app.core.machine_events import MachineDescribed
    from app.hub.library import LibraryEntry

_MAX_ENTRIES = 5
_WIDTH = 460
_LOW = 300  # pixels: the first button would be below the edge


class EmptyChat(QScrollArea):
    """One of four states; each `show_*` replaces the last one.

    Signals:
        pick_requested: choose a file to convert.
        starter_requested: convert the starter model.
        model_requested(Path): load a checkpoint of the library.
        suggestion_chosen(str): put this into the composer.
    """

    pick_requested = Signal()
    starter_requested = Signal()
    model_requested = Signal(object)
    suggestion_chosen = Signal(str)

    def __init__(self, *, has_starter: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._has_starter = has_starter
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setMinimumHeight(40)  # in a low window messages are above it
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        content = QWidget()
        self.setWidget(content)
        self._slot = QVBoxLayout(content)
        self._slot.setContentsMargins(24, 16, 24, 16)
        self._content: QWidget | None = None
        self._icon: QWidget | None = None
        self._report: MachineDescribed | None = None
        self._is_unknown = False  # looked for a report, and got none
        self._machine: MachineCard | None = None

    def show_machine(self, report: MachineDescribed) -> None:
        """What this computer is, for whom has no model yet."""
        self._report = report
        self._fill_machine()

    def show_no_machine(self) -> None:
        """What this computer is cannot be told."""
        self._is_unknown = True
        self._fill_machine()

    def show_next(
        self, state: ChatState, model: LoadedModel | None, entries: Sequence[LibraryEntry]
    ) -> None:
        """Whichever of the four it is: what the engine is doing, with which model, of which."""
        if state is ChatState.LOADING:
            self.show_loading()
        elif state in (ChatState.READY, ChatState.GENERATING):
            remote_url = model.device_note if model and model.is_remote else ""
            self.show_ready(model.name if model else "", remote_url)
        elif entries:
            self.show_choose_model(entries)
        else:
            self.show_first_run()

    def show_first_run(self) -> None:
        """No model on this machine yet."""
        has_starter = self._has_starter
        buttons = [
            self._button(
                self.tr("Choose a file…"), self.pick_requested.emit, primary=not has_starter
            )
        ]
        if has_starter:
            text = self.tr("Use the starter model")
            buttons.insert(0, self._button(text, self.starter_requested.emit, primary=True))
        hint = self.tr(
            "Drop a .gguf file anywhere on this window. It is converted once, then it answers here."
        )
        if has_starter:
            hint += "\n" + self.tr(
                "No file at hand? SmolLM2 135M came with the program: small, and it speaks English."
            )
        machine = MachineCard()
        row = _row(buttons)
        row.layout().setContentsMargins(0, 0, 0, 12)  # type: ignore[union-attr]
        self._show("drop", self.tr("Bring a model"), hint, [row, machine])
        self._machine = machine
        self._fill_machine()

    def show_choose_model(self, entries: Sequence[LibraryEntry]) -> None:
        """Models are there, none is loaded."""
        buttons = [
            self._button(
                f"{entry.name}    {format_bytes(entry.total_bytes)}",
                partial(self.model_requested.emit, entry.path),
                primary=position == 0,
            )
            for position, entry in enumerate(entries[:_MAX_ENTRIES])
        ]
        hint = self.tr("Choose the model to talk to, or drop another one on the window.")
        self._show("chip", self.tr("Which model?"), hint, buttons)

    def show_loading(self) -> None:
        """A model is on its way."""
        self._show("chip", self.tr("Loading the model…"), self.tr("A moment."), [])

    def show_ready(self, name: str, remote_url: str = "") -> None:
        """A model waits for the first message, here or at another server."""
        suggestions = (
            self.tr("Explain why the sky is blue, in three sentences."),
            self.tr("Write a Python function that reverses a string."),
            self.tr("Give me five names for a small bakery."),
        )
        buttons = [
            self._button(text, partial(self.suggestion_chosen.emit, text)) for text in suggestions
        ]
        hint = self.tr("Everything stays on this machine.")
        if remote_url:
            hint = self.tr("What you write is sent to {url}.").format(url=remote_url)
        self._show("chat", self.tr("{name} is ready").format(name=name), hint, buttons)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_icon()

    def _fit_icon(self) -> None:
        if self._icon is not None:
            self._icon.setVisible(self.viewport().height() >= _LOW)

    def _fill_machine(self) -> None:
        if self._machine is None:
            return
        if self._report is not None:
            self._machine.show_report(self._report)
        elif self._is_unknown:
            self._machine.show_nothing()

    def _button(
        self, text: str, slot: Callable[[], object], *, primary: bool = False
    ) -> QPushButton:
        button = ElidedButton(text)
        if primary:
            set_role(button, "kind", "primary")
        set_role(button, "size", "medium")
        button.setCursor(Qt.CursorShape.PointingHandCursor)
        button.clicked.connect(lambda _checked=False: slot())
        return button

    def _show(self, icon: str, title: str, hint: str, rows: Sequence[QWidget]) -> None:
        if self._content is not None:
            self._slot.removeWidget(self._content)
            self._content.hide()
            self._content.deleteLater()
        self._machine = None
        self._icon = IconLabel(icon, size=52, tone="accent")
        self._content = _create_content(self._icon, title, hint, rows)
        self._fit_icon()
        self._slot.addWidget(self._content, alignment=Qt.AlignmentFlag.AlignCenter)


class _Content(QWidget):
    """In a low window it keeps its height and is scrolled."""

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest and (layout := self.layout()):
            self.setMinimumHeight(layout.totalHeightForWidth(_WIDTH))
        return super().event(event)


def _create_content(icon: QWidget, title: str, hint: str, rows: Sequence[QWidget]) -> QWidget:
    content = _Content()
    content.setFixedWidth(_WIDTH)
    layout = QVBoxLayout(content)
    layout.setSpacing(12)
    layout.addWidget(icon, alignment=Qt.AlignmentFlag.AlignHCenter)
    layout.addWidget(_centred(title, ui_font(1.6, bold=True)))
    text = _centred(hint, ui_font(1.05))
    set_role(text, "tone", "muted")
    layout.addWidget(text)
    layout.addSpacing(8)
    for row in rows:
        layout.addWidget(row)
    return content


def _centred(text: str, font: QFont) -> QLabel:
    label = QLabel(text)
    label.setFont(font)
    label.setWordWrap(True)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
    return label


def _row(buttons: Sequence[QPushButton]) -> QWidget:
    row = QWidget()
    layout = QHBoxLayout(row)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.addStretch()
    for button in buttons:
        layout.addWidget(button)
    layout.addStretch()
    return row
