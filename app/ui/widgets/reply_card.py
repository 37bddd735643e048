"""A reply in the transcript: Markdown with its statistics."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.chat.thoughts import CLOSING, ReplyText, split_thoughts
from app.chat.transcript import Turn, TurnStats
from app.core.events import FinishReason, PrefillProgressed
from app.ui.accessible import Role, as_role, tell_in_order
from app.ui.formats import format_count, format_duration
from app.ui.icons import IconButton
from app.ui.theme import set_role, ui_font
from app.ui.widgets.copy_button import CopyButton
from app.ui.widgets.markdown_view import MarkdownView
from app.ui.widgets.reply_speech import ReplySpeech
from app.ui.widgets.thoughts_section import ThoughtsSection
from app.ui.widgets.version_switch import VersionSwitch

translate = QCoreApplication.translate


class ReplyCard(QWidget):
    """A reply, streaming or finished.

    Signals:
        regenerate_requested: the user wants another one.
        continue_requested: it shall go on where it ends.
        version_requested(turn_id: int, steps: int)
        delete_requested(turn_id: int)
    """

    told_as = as_role(Role.Grouping)

    regenerate_requested = Signal()
    continue_requested = Signal()
    version_requested = Signal(int, int)
    delete_requested = Signal(int)

    def __init__(self, model_name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.turn_id: int | None = None
        self.setAccessibleName(self.tr("Reply"))
        self._name = QLabel(model_name)
        self._waiting = QLabel(self.tr("Reading the prompt…"))
        self._text = ""
        self.thoughts = ThoughtsSection()
        self.body = MarkdownView(self)
        self._speech = ReplySpeech(self)
        self._stats = QLabel()
        self.copy_button = CopyButton(
            lambda: split_thoughts(self._text).answer, self.tr("Copy reply"), size=16
        )
        self._regenerate = IconButton("regenerate", self.tr("Regenerate (Ctrl+R)"), size=16)
        self._regenerate.clicked.connect(self.regenerate_requested)
        self.continue_button = IconButton("continue", self.tr("Continue (Alt+Enter)"), size=16)
        self.continue_button.clicked.connect(self.continue_requested)
        self.delete_button = IconButton("trash", self.tr("Delete this reply"), size=16)
        self.delete_button.clicked.connect(self._on_delete_clicked)
        self.versions = VersionSwitch()
        self.versions.requested.connect(self._on_version_requested)
        self._build()

    @property
    def text(self) -> str:
        """The reply's Markdown so far, thoughts and all."""
        return self._text

    @property
    def stats_text(self) -> str:
        """The line below a finished reply."""
        return self._stats.text()

    def show_prefill(self, progress: PrefillProgressed, tok_s: float = 0.0) -> None:
        """Counts the prompt's tokens while the first token is awaited."""
        text = self.tr("Reading the prompt… {done} of {total} tokens")
        if tok_s:
            text = self.tr("Reading the prompt… {done} of {total} tokens, {rate} tok/s")
        done, total = format_count(progress.num_done), format_count(progress.num_prompt)
        rate = format_count(round(tok_s))
        self._waiting.setText(text.format(done=done, total=total, rate=rate))

    def append(self, text: str) -> None:
        """More text."""
        self._waiting.hide()
        is_answering = bool(self.body.text)
        self._text += text
        if is_answering and CLOSING not in self._text[-len(text) - len(CLOSING) :]:
            self.body.append(text)
        else:
            self._show_parts(split_thoughts(self._text))
        self._speech.follow(self.body.text)

    def finish(self, turn: Turn) -> None:
        """The reply as it was saved."""
        self.turn_id = turn.turn_id
        self._waiting.hide()
        parts = split_thoughts(turn.content)
        if self._text:  # it was seen to stream
            self._speech.follow(parts.answer, is_complete=True)
        self.thoughts.show_thought(parts.thought, is_thinking=False)
        self._text = turn.content
        if self.body.text == parts.answer:
            self.body.finish()
        else:
            self.body.set_text(parts.answer)
        self._stats.setText(describe_reply(turn))
        self.versions.show_turn(turn)
        self._show_footer(True)

    @property
    def can_regenerate(self) -> bool:
        """Whether the card offers another reply."""
        return not self._regenerate.isHidden()

    def set_can_regenerate(self, can: bool) -> None:
        """Only the last reply can be made again."""
        self._regenerate.setVisible(can)
        self.continue_button.setVisible(can)

    def _show_parts(self, parts: ReplyText) -> None:
        self.thoughts.show_thought(parts.thought, is_thinking=parts.is_thinking)
        shown = self.body.text
        if parts.answer.startswith(shown):
            self.body.append(parts.answer[len(shown) :])
        else:  # what looked like the answer was a thought
            self.body.set_text(parts.answer)

    def _on_delete_clicked(self) -> None:
        if self.turn_id is not None:
            self.delete_requested.emit(self.turn_id)

    def _on_version_requested(self, steps: int) -> None:
        if self.turn_id is not None:
            self.version_requested.emit(self.turn_id, steps)

    def _show_footer(self, shown: bool) -> None:
        for widget in (self._stats, self.copy_button, self.delete_button):
            widget.setVisible(shown)

    def _build(self) -> None:
        for label in (self._name, self._waiting, self._stats):
            set_role(label, "tone", "muted")
            label.setFont(ui_font(0.88))
        self._name.setFont(ui_font(0.88, bold=True))
        self._stats.setWordWrap(True)
        footer = QHBoxLayout()
        footer.setSpacing(2)
        footer.addWidget(self.versions)
        footer.addWidget(self._stats, 1)
        footer.addWidget(self.copy_button)
        footer.addWidget(self.delete_button)
        footer.addWidget(self.continue_button)
        footer.addWidget(self._regenerate)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        for widget in (self._name, self._waiting, self.thoughts, self.body):
            layout.addWidget(widget)
        layout.addLayout(footer)
        tell_in_order(self._name, self._waiting, self.thoughts, self.body, self.versions)
        tell_in_order(self._stats, self.copy_button, self.delete_button)
        tell_in_order(self.continue_button, self._regenerate)
        self._show_footer(False)
        self.set_can_regenerate(False)


def describe_reply(turn: Turn) -> str:
    """`41 tok/s · first token 0.2 s · 96 tokens (prompt 40, 32 of them cached) · stopped by you`;
    why it ended is told where that is not that all was said.
    """
    parts = [] if turn.stats is None else _describe_stats(turn.stats)
    if turn.is_interrupted:
        parts.append(translate("Reply", "interrupted: the engine ended"))
    elif turn.stats and turn.stats.finish_reason != FinishReason.STOP:
        parts.append(_finish_label(turn.stats.finish_reason))
    return "  ·  ".join(parts)


def _describe_stats(stats: TurnStats) -> list[str]:
    counts = translate("Reply", "{n} tokens (prompt {prompt})")
    if stats.cached_tokens:
        counts = translate("Reply", "{n} tokens (prompt {prompt}, {cached} of them cached)")
    return [
        translate("Reply", "{rate} tok/s").format(rate=f"{stats.decode_tok_s:.1f}"),
        translate("Reply", "first token {time}").format(time=format_duration(stats.ttft_s)),
        counts.format(
            n=format_count(stats.completion_tokens),
            prompt=format_count(stats.prompt_tokens),
            cached=format_count(stats.cached_tokens),
        ),
    ]


def _finish_label(finish_reason: str) -> str:
    labels: dict[str, str] = {  # a newer version may have kept other reasons
        FinishReason.LENGTH: translate("Reply", "ended at the length limit"),
        FinishReason.CANCELLED: translate("Reply", "stopped by you"),
    }
    return labels.get(finish_reason, finish_reason)
