"""The requests of the port: those that run, each with its cancel button, and what has ended."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import (
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.controllers.request_log import LoggedRequest
from app.core.server_events import ServerRequestState
from app.ui.formats import format_count, format_duration, format_moment
from app.ui.item_models.row_model import Column
from app.ui.server_labels import request_state_text
from app.ui.theme import set_role, ui_font
from app.ui.widgets.card import Card
from app.ui.widgets.request_row import RequestRow
from app.ui.widgets.row_table import RowTable

# More than these run only in the queue.
_MAX_ROWS = 24
# A row costs some milliseconds to build: a crowd comes in by and by.
_MAX_NEW_ROWS = 4
_MODEL_COLUMN, _MODEL_WIDTH = 2, 150


class RequestsCard(Card):
    """Signals:
    cancel_requested(str): end this request.
    clear_requested: forget those that have ended.
    """

    cancel_requested = Signal(str)
    clear_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._shown: dict[str, RequestRow] = {}
        self._finished: tuple[LoggedRequest, ...] = ()
        self.empty = QLabel(
            self.tr("No requests at the moment. Each one appears here while it runs.")
        )
        self._running = QVBoxLayout()
        self.more = QLabel()
        self.count = QLabel()
        self.clear_button = QPushButton(self.tr("Clear"))
        self.clear_button.setAccessibleDescription(self.tr("Empties the log"))
        name = self.tr("Requests that have ended")
        self.table = RowTable(self._create_columns(), name, max_rows=8, is_first_wide=True)
        self.log = QWidget()
        self._build()
        self.show_running(())
        self.show_finished((), 0)

    @property
    def running_rows(self) -> tuple[RequestRow, ...]:
        """What is shown of those that run, from the top."""
        return tuple(self._shown.values())

    def show_running(self, requests: Sequence[LoggedRequest]) -> bool:
        """Shows those that run now; rows that are there stay, with the focus in them. Returns
        whether all are shown that shall be: call again soon otherwise.
        """
        wanted = {request.event.request_id: request for request in requests[:_MAX_ROWS]}
        for gone in self._shown.keys() - wanted.keys():
            self._remove(gone)
        new = [request_id for request_id in wanted if request_id not in self._shown]
        for request_id in new[:_MAX_NEW_ROWS]:
            self._add(request_id)
        for request_id, row in self._shown.items():
            row.show_request(wanted[request_id].event)
        self.empty.setVisible(not requests)
        self._show_more(len(requests) - len(self._shown))
        return len(new) <= _MAX_NEW_ROWS

    def _show_more(self, num_more: int) -> None:
        self.more.setVisible(num_more > 0)
        self.more.setText(self.tr("… and {n} more").format(n=num_more))

    def show_finished(self, requests: tuple[LoggedRequest, ...], num_finished: int) -> None:
        """Shows what has ended, the latest first; `num_finished` counts those that were dropped
        from the list, too.
        """
        self.log.setVisible(bool(requests))
        if requests == self._finished:
            return
        self._finished = requests
        self.table.set_rows(requests)
        self.count.setText(self.tr("{n} so far").format(n=format_count(num_finished)))

    def _add(self, request_id: str) -> None:
        row = RequestRow(request_id)
        row.cancel_requested.connect(self.cancel_requested)
        self._shown[request_id] = row
        self._running.addWidget(row)

    def _remove(self, request_id: str) -> None:
        row = self._shown.pop(request_id)
        self._running.removeWidget(row)
        row.hide()
        row.deleteLater()

    def _create_columns(self) -> list[Column]:
        return [
            Column(self.tr("Client"), lambda r: r.event.client, tool_tip=lambda r: r.event.path),
            Column(
                self.tr("Began"), lambda r: format_moment(r.started, datetime.now()), gives_way=1
            ),
            Column(
                self.tr("Model"),
                lambda r: r.event.model or "–",
                tool_tip=lambda r: r.event.model,
                gives_way=2,
            ),
            Column(self.tr("Prompt"), _prompt, is_number=True, gives_way=3),
            Column(self.tr("Reply"), _reply, is_number=True),
            Column(self.tr("tok/s"), _rate, is_number=True),
            Column(
                self.tr("Took"),
                lambda r: format_duration(r.duration_s),
                is_number=True,
                gives_way=4,
            ),
            Column(self.tr("Result"), _result, tool_tip=lambda r: r.error),
        ]

    def _build(self) -> None:
        title = QLabel(self.tr("Requests"))
        title.setFont(ui_font(1.1, bold=True))
        for label in (self.empty, self.more, self.count):
            set_role(label, "tone", "muted")
        set_role(self.clear_button, "kind", "link")
        self.clear_button.clicked.connect(self.clear_requested)
        self._running.setSpacing(8)
        columns = self.table.horizontalHeader()
        columns.setSectionResizeMode(_MODEL_COLUMN, QHeaderView.ResizeMode.Fixed)
        columns.resizeSection(_MODEL_COLUMN, _MODEL_WIDTH)
        head = QHBoxLayout()
        ended = QLabel(self.tr("Log"))
        ended.setFont(ui_font(1.0, bold=True))
        head.addWidget(ended)
        head.addWidget(self.count, 1)
        head.addWidget(self.clear_button)
        log = QVBoxLayout(self.log)
        log.setContentsMargins(0, 6, 0, 0)
        log.setSpacing(6)
        log.addLayout(head)
        log.addWidget(self.table)
        self.rows.addWidget(title)
        self.rows.addWidget(self.empty)
        self.rows.addLayout(self._running)
        self.rows.addWidget(self.more, alignment=Qt.AlignmentFlag.AlignHCenter)
        self.rows.addWidget(self.log)


def _prompt(request: LoggedRequest) -> str:
    return _count(request.event.prompt_tokens)


def _reply(request: LoggedRequest) -> str:
    return _count(request.event.completion_tokens)


def _count(count: int) -> str:
    return format_count(count) if count else "–"


def _rate(request: LoggedRequest) -> str:
    return f"{request.event.tok_s:.1f}" if request.event.tok_s else "–"


def _result(request: LoggedRequest) -> str:
    event = request.event
    text = request_state_text(event.state)
    is_refused = event.state is ServerRequestState.FAILED and event.status is not None
    if not is_refused:
        return text
    refused = QCoreApplication.translate("RequestsCard", "{state} ({status})")
    return refused.format(state=text, status=event.status)
