"""The conversation: turns in a centred column that follows the newest text until one scrolls up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QScrollArea, QVBoxLayout, QWidget

from app.chat.transcript import Turn
from app.core.events import PrefillProgressed
from app.ui.accessible import Role, as_role
from app.ui.icons import IconButton
from app.ui.idle_work import IdleWork
from app.ui.theme import set_role
from app.ui.widgets.context_mark import ContextMark
from app.ui.widgets.reply_card import ReplyCard
from app.ui.widgets.user_card import UserCard

_COLUMN_WIDTH = 780
_PAGE_TURNS, _PAGE_CHARS = 30, 60_000
_CARDS_AT_ONCE, _CHARS_AT_ONCE = 6, 3000  # about 4 ms a card, and 5 ms for 1,000 characters
_FOLLOW_SLACK_PX = 32
_SETTLE_MS = 50
_MARGIN = 24

Card = UserCard | ReplyCard


class TranscriptView(QScrollArea):
    """Shows turns; knows nothing of where they come from.

    Signals:
        regenerate_requested: another last reply is wanted.
        continue_requested: the last reply shall go on.
        edited(turn_id: int, str): a message shall read so, and be answered again.
        version_requested(turn_id: int, steps: int): another version of a turn.
        delete_requested(turn_id: int): without this turn.
    """

    told_as = as_role(Role.Grouping)

    regenerate_requested = Signal()
    continue_requested = Signal()
    edited = Signal(int, str)
    version_requested = Signal(int, int)
    delete_requested = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._cards: list[Card] = []
        self._earlier: list[Turn] = []
        self._unbuilt: list[Turn] = []
        self._work = IdleWork(self)
        self._from_end = 0
        self._was_building = False
        self._settling = QTimer(self, singleShot=True, interval=_SETTLE_MS)
        self._reply: ReplyCard | None = None
        self._is_following = True
        self._can_ask = False
        self._first_kept_turn: int | None = None
        self._mark = ContextMark(self)
        self._mark.hide()
        self._column = QVBoxLayout()
        self._row, self._inner = QHBoxLayout(), QWidget()
        self._show_earlier = QPushButton(self.tr("Show earlier messages"))
        self.end_button = IconButton("chevron_down", self.tr("Jump to the end"), self, size=22)
        self._build()

    @property
    def cards(self) -> tuple[Card, ...]:
        """What is shown, from the top."""
        return tuple(self._cards)

    def take_over(self, old: TranscriptView) -> None:
        """Looks at what `old` looks at, in the conversation that both show."""
        self._work.finish()
        while self._earlier and len(self._cards) < len(old._cards):
            self._on_show_earlier_clicked()
            self._work.finish()
        drafts = {c.turn_id: c.draft for c in old._cards if isinstance(c, UserCard)}
        for card in self._cards:
            if isinstance(card, UserCard) and (draft := drafts.get(card.turn_id)) is not None:
                card.begin_editing(draft)
        if not old._is_following:
            self._is_following = False
            bar = old.verticalScrollBar()
            from_end = bar.maximum() - bar.value()
            QTimer.singleShot(0, self, lambda: self._scroll_to(from_end))

    def _scroll_to(self, from_end: int) -> None:
        bar = self.verticalScrollBar()
        bar.setValue(bar.maximum() - from_end)

    @property
    def from_end(self) -> int:
        """Pixels below what is looked at; 0 where the end is followed."""
        return 0 if self._is_following else self._from_end

    def look_at(self, from_end: int) -> None:
        """Looks at a place that is so many pixels above the end."""
        self._is_following = not from_end
        self._from_end = from_end
        self._scroll_to(from_end)

    def show_turns(self, turns: Sequence[Turn]) -> None:
        """Shows the end of a conversation; what is above that follows in steps."""
        self._clear()
        cut = _start_of_page(turns)
        self._earlier, self._unbuilt = list(turns[:cut]), list(turns[cut:])
        self._work.start(self._build_upwards())
        num_chars = 0
        for turn in turns[: -_CARDS_AT_ONCE - 1 : -1]:
            self._work.step()
            num_chars += len(turn.content)
            if num_chars > _CHARS_AT_ONCE:
                break
        self._update_regenerate()
        self._follow()

    def add_turn(self, turn: Turn) -> None:
        """Adds the newest turn and shows it."""
        self._add_card(self._create_card(turn))
        self._update_regenerate()
        self._follow()

    def remove_turn(self, turn_id: int) -> None:
        """Takes one turn away."""
        self._unbuilt = [turn for turn in self._unbuilt if turn.turn_id != turn_id]
        for card in [card for card in self._cards if card.turn_id == turn_id]:
            self._remove_card(card)
        self._update_regenerate()

    def begin_reply(self, model_name: str, text: str = "") -> None:
        """An empty reply; `text` when it has been running already."""
        self._settling.stop()  # what grows from now on is below what is looked at
        self._reply = self._create_reply_card(model_name)
        self._add_card(self._reply)
        if text:
            self._reply.append(text)
        self._update_regenerate()
        self._follow()

    def mark_context(self, first_kept_turn: int | None) -> None:
        """Draws a line above the first turn that the model still sees, below all where that is none
        of these: the one being written. None: it sees all."""
        self._first_kept_turn = first_kept_turn
        self._column.removeWidget(self._mark)
        # A reply that streams has no id either: it must not be taken for the turn that is sought.
        has_mark = first_kept_turn is not None
        card = next((c for c in self._cards if has_mark and c.turn_id == first_kept_turn), None)
        above = [turn.turn_id for turn in (*self._earlier, *self._unbuilt)]
        is_below = has_mark and card is None and first_kept_turn not in above and bool(self._cards)
        self._mark.setVisible(card is not None or is_below)
        if card is not None:
            self._column.insertWidget(self._column.indexOf(card), self._mark)
        elif is_below:
            self._column.insertWidget(self._column.count() - 1, self._mark)

    def set_can_ask(self, can_ask: bool) -> None:
        """Whether a reply can be asked for now."""
        self._can_ask = can_ask
        for card in self._cards:
            if isinstance(card, UserCard):
                card.set_can_ask(can_ask)

    def show_prefill(self, progress: PrefillProgressed, tok_s: float = 0.0) -> None:
        """How far the running reply's prompt has been read, and how fast, where that is known."""
        if self._reply is not None:
            self._reply.show_prefill(progress, tok_s)

    def append_text(self, text: str) -> None:
        """More of the running reply."""
        if self._reply is not None:
            self._reply.append(text)

    def finish_reply(self, turn: Turn) -> None:
        """The running reply has ended."""
        if self._reply is None:
            self._add_card(self._create_card(turn))
        else:
            self._reply.finish(turn)
            self._reply = None
        self._update_regenerate()

    def drop_reply(self) -> None:
        """The running reply failed before any text."""
        if self._reply is not None:
            self._remove_card(self._reply)
            self._reply = None
            self._update_regenerate()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_column()
        self._place_end_button()

    def _place_end_button(self) -> None:
        """In the middle; it has its size only when it is shown."""
        button = self.end_button
        button.adjustSize()
        button.move((self.width() - button.width()) // 2, self.height() - button.height() - 10)

    def _fit_column(self) -> None:
        """As wide as the composer below, which stands beside no scroll bar."""
        frame = self.viewport().x()
        bar_width = self.width() - self.viewport().width() - 2 * frame
        self._row.setContentsMargins(bar_width, 0, 0, 0)
        margin = _MARGIN - frame - bar_width
        self._column.setContentsMargins(margin, _MARGIN, margin, _MARGIN)
        self._inner.setMaximumWidth(_COLUMN_WIDTH - 2 * bar_width)

    def _create_card(self, turn: Turn) -> Card:
        if turn.role == "user":
            return self._create_user_card(turn)
        card = self._create_reply_card(turn.model_name)
        card.finish(turn)
        return card

    def _create_user_card(self, turn: Turn) -> UserCard:
        card = UserCard(turn)
        card.set_can_ask(self._can_ask)
        card.edited.connect(self.edited)
        card.version_requested.connect(self.version_requested)
        card.delete_requested.connect(self.delete_requested)
        card.delete_button.setEnabled(self._reply is None)
        return card

    def _create_reply_card(self, model_name: str) -> ReplyCard:
        card = ReplyCard(model_name)
        card.regenerate_requested.connect(self.regenerate_requested)
        card.continue_requested.connect(self.continue_requested)
        card.version_requested.connect(self.version_requested)
        card.delete_requested.connect(self.delete_requested)
        card.delete_button.setEnabled(self._reply is None)
        return card

    def _add_card(self, card: Card) -> None:
        self._cards.append(card)
        self._column.insertWidget(self._column.count() - 1, card)

    def _remove_card(self, card: Card) -> None:
        self._cards.remove(card)
        self._column.removeWidget(card)
        card.hide()  # it may be a while until it is gone
        card.deleteLater()

    def _clear(self) -> None:
        self._work.cancel()
        self._earlier, self._unbuilt = [], []
        self.mark_context(None)
        for card in list(self._cards):
            self._remove_card(card)
        self._reply = None

    def _update_regenerate(self) -> None:
        for card in self._cards:
            card.delete_button.setEnabled(self._reply is None)  # nothing goes while one is written
            if isinstance(card, ReplyCard):
                card.set_can_regenerate(card is self._cards[-1] and card is not self._reply)

    def _on_show_earlier_clicked(self) -> None:
        cut = _start_of_page(self._earlier)
        self._unbuilt = self._earlier[cut:] + self._unbuilt
        self._earlier = self._earlier[:cut]
        self._work.start(self._build_upwards())
        self._work.step()

    def _build_upwards(self) -> Iterator[None]:
        """A card in each step, above those that are there."""
        self._show_earlier.setVisible(bool(self._earlier))
        self._was_building = True
        self._settling.start()
        while self._unbuilt:
            card = self._create_card(self._unbuilt.pop())
            self._cards.insert(0, card)
            self._column.insertWidget(1, card)
            card.lower()  # told before what is below it
            if card.turn_id == self._first_kept_turn:
                self.mark_context(card.turn_id)
            if isinstance(card, ReplyCard):
                card.set_can_regenerate(False)
            yield

    def _follow(self) -> None:
        self._is_following = True
        self._on_scroll_range_changed()

    def _on_scroll_range_changed(self) -> None:
        bar = self.verticalScrollBar()
        if self._is_following:
            bar.setValue(bar.maximum())
        elif self._settling.isActive():  # what is built is above what is looked at
            bar.setValue(bar.maximum() - self._from_end)
        self._on_scrolled(bar.value())

    def _on_settling_timeout(self) -> None:
        """One interval more after the last drawing, whose layouts are still to come."""
        drawing = (card.body.is_drawing for card in self._cards if isinstance(card, ReplyCard))
        was_building, self._was_building = self._was_building, self._work.is_running or any(drawing)
        if was_building or self._was_building:
            self._settling.start()

    def _on_scrolled(self, value: int) -> None:
        self._from_end = self.verticalScrollBar().maximum() - value
        far = self._from_end > _FOLLOW_SLACK_PX
        self._is_following = not far
        if far != self.end_button.isVisible():
            self.end_button.setVisible(far)
            self._place_end_button()

    def _build(self) -> None:
        self.setObjectName("transcript")
        self.setMinimumHeight(40)  # in a low window messages are above it
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(self.tr("Conversation"))
        set_role(self._show_earlier, "kind", "link")
        self._show_earlier.clicked.connect(self._on_show_earlier_clicked)
        self.end_button.set_kind("floating")
        self.end_button.clicked.connect(self._follow)
        self.end_button.hide()
        self._column.setSpacing(22)
        self._column.addWidget(self._show_earlier, alignment=Qt.AlignmentFlag.AlignHCenter)
        self._column.addStretch(1)
        self._show_earlier.hide()
        self.setWidget(self._create_content())
        self._settling.timeout.connect(self._on_settling_timeout)
        self.verticalScrollBar().rangeChanged.connect(self._on_scroll_range_changed)
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)

    def _create_content(self) -> QWidget:
        self._inner.setLayout(self._column)
        content = QWidget()
        content.setLayout(self._row)
        self._row.addStretch(1)
        self._row.addWidget(self._inner, 1000)
        self._row.addStretch(1)
        self._fit_column()
        return content


def _start_of_page(turns: Sequence[Turn]) -> int:
    """The first of the last turns that are shown together."""
    num_chars = 0
    for count, turn in enumerate(reversed(turns), 1):
        num_chars += len(turn.content)
        if count == _PAGE_TURNS or num_chars > _PAGE_CHARS:
            return len(turns) - count
    return 0
