"""System prompt and sampling of the open conversation."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QRegularExpressionValidator
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.core.sampling_settings import SamplingSettings
from app.ui.theme import set_role
from app.ui.widgets.collapsible import Collapsible
from app.ui.widgets.slider_field import SliderField

_APPLY_DELAY_MS = 250
_SEED = "[0-9]{0,18}"  # Qt takes `+` and `1,000` for whole numbers, which Python does not
_MAX_TOP_K = 1 << 20
_MAX_TOKENS = 1 << 24


class SamplingPanel(QWidget):
    """Signals:
    sampling_changed(SamplingSettings)
    system_prompt_changed(str)
    keep_requested(bool): keep these values for new conversations, with the present model alone or
        with every one.
    forget_requested: keep nothing for the present model.
    """

    sampling_changed = Signal(object)
    system_prompt_changed = Signal(str)
    keep_requested = Signal(bool)
    forget_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._prompt = QPlainTextEdit()
        self._main = self._create_main_fields()
        self._penalties = self._create_penalty_fields()
        self.fields = {**self._main, **self._penalties}
        self._seed = QLineEdit()
        self._stop = QLineEdit()
        self._sampling_timer = QTimer(self, singleShot=True, interval=_APPLY_DELAY_MS)
        self._prompt_timer = QTimer(self, singleShot=True, interval=_APPLY_DELAY_MS)
        self._setup_texts()
        self._build()
        self._connect()
        self.show_settings("", SamplingSettings())

    @property
    def sampling(self) -> SamplingSettings:
        """What the fields say."""
        number = {name: field.value for name, field in self.fields.items()}
        return SamplingSettings(
            temperature=number["temperature"],
            top_k=int(number["top_k"]),
            top_p=number["top_p"],
            min_p=number["min_p"],
            repetition_penalty=number["repetition_penalty"],
            presence_penalty=number["presence_penalty"],
            frequency_penalty=number["frequency_penalty"],
            seed=int(self._seed.text()) if self._seed.text() else None,
            max_tokens=int(number["max_tokens"]) or None,
            stop=tuple(part.strip() for part in self._stop.text().split(",") if part.strip()),
        )

    @property
    def system_prompt(self) -> str:
        """The system prompt as written."""
        return self._prompt.toPlainText()

    def show_settings(self, system_prompt: str, sampling: SamplingSettings) -> None:
        """Shows a conversation's settings without reporting them as changes."""
        self._sampling_timer.stop()
        self._prompt_timer.stop()
        for name, field in self.fields.items():
            field.set_value(getattr(sampling, name) or 0)
        for widget, text in (
            (self._seed, "" if sampling.seed is None else str(sampling.seed)),
            (self._stop, ", ".join(sampling.stop)),
        ):
            widget.blockSignals(True)
            widget.setText(text)
            widget.blockSignals(False)
        self._prompt.blockSignals(True)
        self._prompt.setPlainText(system_prompt)
        self._prompt.blockSignals(False)

    def set_model(self, name: str, *, has_preset: bool) -> None:
        """Whose name is in the menu; '' for no model. `has_preset`: something is kept for it."""
        self._keep_for_model.setVisible(bool(name))
        self._keep_for_model.setText(self.tr("With {name} only").format(name=name))
        self._forget.setVisible(has_preset)
        self._forget.setText(self.tr("Forget what is kept for {name}").format(name=name))

    def flush(self) -> None:
        """Reports what was changed a moment ago: a message must not overtake its settings."""
        for timer, emit in (
            (self._sampling_timer, self._emit_sampling),
            (self._prompt_timer, self._emit_prompt),
        ):
            if timer.isActive():
                timer.stop()
                emit()

    def _emit_sampling(self) -> None:
        self.sampling_changed.emit(self.sampling)

    def _emit_prompt(self) -> None:
        self.system_prompt_changed.emit(self.system_prompt)

    def _on_reset_clicked(self) -> None:
        self.flush()
        self.show_settings(self.system_prompt, SamplingSettings())
        self._emit_sampling()

    def _create_main_fields(self) -> dict[str, SliderField]:
        off = self.tr("off")
        return {
            "temperature": SliderField(
                self.tr("Temperature"),
                self.tr("0 always takes the likeliest token."),
                least=0,
                most=2,
                step=0.05,
                field_most=5,
            ),
            "top_p": SliderField(
                self.tr("Top-p"),
                self.tr("Keep the likeliest tokens up to this sum."),
                least=0,
                most=1,
                step=0.01,
            ),
            "top_k": SliderField(
                self.tr("Top-k"),
                self.tr("Keep this many of the likeliest tokens."),
                least=0,
                most=200,
                step=1,
                field_most=_MAX_TOP_K,
                special_text=off,
            ),
            "min_p": SliderField(
                self.tr("Min-p"),
                self.tr("Drop tokens less likely than this part of the likeliest."),
                least=0,
                most=1,
                step=0.01,
                special_text=off,
            ),
            "max_tokens": SliderField(
                self.tr("Longest reply (tokens)"),
                self.tr("Where a reply is cut off; without a limit it may fill the context."),
                least=0,
                most=8192,
                step=64,
                field_most=_MAX_TOKENS,
                special_text=self.tr("no limit"),
            ),
        }

    def _create_penalty_fields(self) -> dict[str, SliderField]:
        return {
            "repetition_penalty": SliderField(
                self.tr("Repetition penalty"),
                self.tr("Above 1 avoids tokens already seen."),
                least=0.5,
                most=2,
                step=0.05,
            ),
            "presence_penalty": SliderField(
                self.tr("Presence penalty"),
                self.tr("Above 0 favours new tokens."),
                least=-2,
                most=2,
                step=0.05,
            ),
            "frequency_penalty": SliderField(
                self.tr("Frequency penalty"),
                self.tr("Above 0 avoids frequent tokens."),
                least=-2,
                most=2,
                step=0.05,
            ),
        }

    def _setup_texts(self) -> None:
        set_role(self._prompt, "kind", "field")
        self._prompt.setFixedHeight(86)
        self._prompt.setTabChangesFocus(True)
        self._prompt.setAccessibleName(self.tr("System prompt"))
        self._prompt.setPlaceholderText(
            self.tr("How the model should behave, for this conversation")
        )
        for edit in (self._prompt, self._seed, self._stop):
            edit.setAcceptDrops(False)
        self._seed.setValidator(QRegularExpressionValidator(_SEED, self))
        self._seed.setPlaceholderText(self.tr("fresh each time"))
        self._seed.setAccessibleName(self.tr("Seed"))
        self._stop.setPlaceholderText(self.tr("separated by commas"))
        self._stop.setAccessibleName(self.tr("Stop texts"))

    def _build(self) -> None:
        main = _column(*self._main.values())
        more = _column(
            *self._penalties.values(),
            _captioned(self.tr("Seed"), self._seed),
            _captioned(self.tr("Stop texts"), self._stop),
        )
        self._reset = QPushButton(self.tr("Reset sampling"))
        self._keep = QPushButton(self.tr("Use for new chats"))
        self._keep.setMenu(self._create_keep_menu())
        for button in (self._reset, self._keep):
            set_role(button, "kind", "link")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(14)
        layout.addWidget(Collapsible(self.tr("System prompt"), self._prompt))
        layout.addWidget(Collapsible(self.tr("Sampling"), main))
        layout.addWidget(Collapsible(self.tr("Penalties, seed, stop"), more, is_open=False))
        layout.addWidget(_row(self._keep, self._reset))

    def _create_keep_menu(self) -> QMenu:
        menu = QMenu(self)
        menu.setAccessibleName(self.tr("Use for new chats"))
        menu.addAction(self.tr("With every model"), lambda: self.keep_requested.emit(False))
        self._keep_for_model = menu.addAction("", lambda: self.keep_requested.emit(True))
        self._forget = menu.addAction("", self.forget_requested.emit)
        self.set_model("", has_preset=False)
        return menu

    def _connect(self) -> None:
        for field in self.fields.values():
            field.value_changed.connect(lambda _value: self._sampling_timer.start())
        for edit in (self._seed, self._stop):
            edit.textChanged.connect(lambda _text: self._sampling_timer.start())
        self._prompt.textChanged.connect(self._prompt_timer.start)
        self._sampling_timer.timeout.connect(self._emit_sampling)
        self._prompt_timer.timeout.connect(self._emit_prompt)
        self._reset.clicked.connect(self._on_reset_clicked)


def _column(*widgets: QWidget) -> QWidget:
    column = QWidget()
    layout = QVBoxLayout(column)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(12)
    for widget in widgets:
        layout.addWidget(widget)
    return column


def _captioned(caption: str, field: QWidget) -> QWidget:
    label = QLabel(caption)
    label.setBuddy(field)
    return _column(label, field)


def _row(*widgets: QWidget) -> QWidget:
    row = QWidget()
    layout = QHBoxLayout(row)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(16)
    for widget in widgets:
        layout.addWidget(widget)
    layout.addStretch()
    return row
