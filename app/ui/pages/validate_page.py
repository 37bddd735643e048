"""The Validate page: whether a source runs, checked row by row against the reference."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from app.controllers.story import Slots, follow
from app.controllers.validation import ValidationController, ValidationState
from app.core.events import ErrorInfo
from app.core.validation_events import (
    CheckFinished,
    CheckProgressed,
    CheckStarted,
    DifferencesFound,
    PromptsRendered,
    ValidationReport,
    ValidationStarted,
    VerdictStatus,
)
from app.ui.dialogs.report_dialog import ReportDialog
from app.ui.sentences import shown
from app.ui.theme import set_role, ui_font
from app.ui.widgets.chain_card import ChainCard
from app.ui.widgets.checks_card import ChecksCard
from app.ui.widgets.differences_card import DifferencesCard
from app.ui.widgets.empty_state import EmptyState
from app.ui.widgets.error_card import ErrorCard
from app.ui.widgets.page_column import PageColumn
from app.ui.widgets.prompts_card import PromptsCard
from app.ui.widgets.source_field import SourceField
from app.ui.widgets.verdict_card import VerdictCard


class ValidatePage(QWidget):
    """Shows the validation that the controller tells of; the last one stays until the next.

    Signals:
        file_requested, folder_requested: pick by dialog.
        convert_requested(str): convert the source that was validated.
    """

    file_requested = Signal()
    folder_requested = Signal()
    convert_requested = Signal(str)

    def __init__(self, controller: ValidationController, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("page")
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._controller = controller
        self._source = ""
        self._report: ValidationReport | None = None
        self.field = SourceField(
            self.tr("Source to check"),
            self.tr("org/name, a .gguf file, a folder, or a model of the library"),
            self.tr("Check"),
            takes_paths=True,
        )
        self.empty = EmptyState(
            "validate",
            self.tr("Check a model before it is fetched"),
            self.tr(
                "Drop one here, or name a repository: its architecture is compared with the "
                "reference implementation, from the configuration alone. With weights at hand, "
                "logits, tokens, tokenizer and chat template are checked, too."
            ),
        )
        self.file_button = QPushButton(self.tr("Choose a file…"))
        self.folder_button = QPushButton(self.tr("Choose a folder…"))
        self.error = ErrorCard()
        self.chain = ChainCard()
        self.verdict = VerdictCard()
        self.checks = ChecksCard()
        self.differences = DifferencesCard()
        self.prompts = PromptsCard()
        self._cards = (
            self.error,
            self.empty,
            self.chain,
            self.verdict,
            self.checks,
            self.differences,
            self.prompts,
        )
        self._column = PageColumn()
        self._build()
        self._connect()
        self._show_only(self.empty)

    def take_over(self, old: ValidatePage) -> None:
        """Shows what `old` shows."""
        self._controller.story.tell(self._slots)
        self.field.show_source(old.field.edit.text())
        self._column.take_over(old._column)

    def _show_only(self, *cards: QWidget) -> None:
        for card in self._cards:
            card.setVisible(card in cards)
        self._column.scroll_to_top()

    def _on_begun(self, source: str) -> None:
        self._source, self._report = source, None
        self.field.show_source(source)
        self.chain.show_source(source)
        self.checks.show_opening()
        self.differences.clear()
        self._show_only(self.chain, self.checks)

    def _on_started(self, started: ValidationStarted) -> None:
        self.chain.show_chain(started.name, started.chain)
        self.checks.show_planned(started.checks)

    def _on_check_started(self, started: CheckStarted) -> None:
        self.checks.show_running(started.name)

    def _on_check_progressed(self, progress: CheckProgressed) -> None:
        self.checks.show_step(progress.name, shown(progress.step))

    def _on_check_finished(self, finished: CheckFinished) -> None:
        self.checks.show_check(finished.check)

    def _on_differences_found(self, found: DifferencesFound) -> None:
        self.differences.add(found.differences)
        self.differences.setVisible(self.differences.has_differences)

    def _on_prompts_rendered(self, rendered: PromptsRendered) -> None:
        self.prompts.show_prompts(rendered.prompts)
        self.prompts.setVisible(bool(rendered.prompts))

    def _on_finished(self, report: ValidationReport) -> None:
        self._report = report
        self.checks.show_ended()
        can_convert = report.verdict.status is VerdictStatus.CONVERT
        self.verdict.show_report(report, can_convert=can_convert)
        self.verdict.show()
        self._column.scroll_to_top()

    def _on_failed(self, error: ErrorInfo) -> None:
        self.checks.show_ended()
        title = self.tr("{name} was not validated").format(name=self._source)
        self.error.show_failure(title, error)
        self._show_only(self.error, self.empty)

    def _on_cancelled(self) -> None:
        self.checks.show_ended()
        self.checks.summary.setText(self.tr("Cancelled"))

    def _on_state_changed(self, state: ValidationState) -> None:
        if state is ValidationState.CANCELLING:
            self.checks.show_cancelling()

    def _on_retry_requested(self) -> None:
        self._controller.validate(self._source)

    def _on_convert_requested(self) -> None:
        self.convert_requested.emit(self._source)

    def _on_save_requested(self) -> None:
        if (report := self._report) is not None:
            dialog = ReportDialog(report.file_name, self)
            dialog.path_chosen.connect(lambda path: self._controller.save(report, path))
            dialog.open()

    def _build(self) -> None:
        title = QLabel(self.tr("Validate"))
        title.setFont(ui_font(1.8, bold=True))
        set_role(self.file_button, "kind", "primary")
        self.empty.add_buttons((self.file_button, self.folder_button))
        rows = self._column.rows
        for widget in (title, self.field, *self._cards):
            rows.addWidget(widget)
        self._column.close_rows()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._column)

    def _connect(self) -> None:
        controller = self._controller
        self._slots: Slots = {
            "begun": self._on_begun,
            "started": self._on_started,
            "check_started": self._on_check_started,
            "check_progressed": self._on_check_progressed,
            "check_finished": self._on_check_finished,
            "differences_found": self._on_differences_found,
            "prompts_rendered": self._on_prompts_rendered,
            "finished": self._on_finished,
            "failed": self._on_failed,
            "cancelled": self._on_cancelled,
            "state_changed": self._on_state_changed,
        }
        follow(controller, self._slots)
        controller.reports.saved.connect(self.verdict.saved.show_saved)
        controller.reports.failed.connect(self.verdict.saved.show_error)
        self.field.submitted.connect(controller.validate)
        self.field.file_requested.connect(self.file_requested)
        self.field.folder_requested.connect(self.folder_requested)
        self.file_button.clicked.connect(self.file_requested)
        self.folder_button.clicked.connect(self.folder_requested)
        self.checks.cancel_requested.connect(controller.cancel)
        self.error.retry_requested.connect(self._on_retry_requested)
        self.verdict.save_requested.connect(self._on_save_requested)
        self.verdict.convert_requested.connect(self._on_convert_requested)
