"""Whether the window may close: a conversion is not interrupted without a yes."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.controllers.conversion import ConversionController
from app.ui.dialogs.close_dialog import CloseDialog


class Closing(QObject):
    """Asks over `window`, and closes it when the answer is yes.

    Signals:
        refused: the window stays.
    """

    refused = Signal()

    def __init__(self, conversion: ConversionController, window: QWidget) -> None:
        super().__init__(window)
        self._conversion, self._window = conversion, window
        self._may_interrupt = False
        self._dialog: CloseDialog | None = None
        conversion.state_changed.connect(self._on_state_changed)

    @property
    def is_free(self) -> bool:
        """Whether there is nothing to ask, or it was answered."""
        return self._may_interrupt or not self._conversion.is_converting

    def ask(self) -> None:
        """Opens the question."""
        job = self._conversion.current_job
        if job is None or self._dialog is not None:
            return
        self._dialog = CloseDialog(job.source.name, self._window)
        self._dialog.accepted.connect(self._on_accepted)
        self._dialog.rejected.connect(self.refused)
        self._dialog.finished.connect(self._on_answered)
        self._dialog.open()

    def _on_answered(self) -> None:
        self._dialog = None

    def _on_accepted(self) -> None:
        self._may_interrupt = True
        self._window.close()

    def _on_state_changed(self) -> None:
        """There is nothing left to interrupt: the question is void."""
        if self._dialog is not None and not self._conversion.is_converting:
            self._dialog.reject()
