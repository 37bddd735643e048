"""Draws one conversation of the list: the title, and the time below it."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.ui.icons import render_icon
from app.ui.item_models.conversation_model import ConversationRole
from app.ui.theme import Tokens, current_tokens, ui_font

_PADDING = 12
_PIN_SIZE = 14


class ConversationDelegate(QStyledItemDelegate):
    """Rounded rows in the theme's colours."""

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        heights = QFontMetrics(ui_font()).height() + QFontMetrics(ui_font(0.84)).height()
        return QSize(120, heights + 18)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        tokens = current_tokens()
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        _paint_background(painter, option, tokens)
        inner = option.rect.adjusted(_PADDING, 8, -_PADDING, -8)
        title = inner
        if index.data(ConversationRole.IS_PINNED):
            _paint_pin(painter, inner, tokens)
            title = inner.adjusted(0, 0, -_PIN_SIZE - 4, 0)
        _paint_title(painter, title, index.data(), tokens)
        _paint_moment(painter, inner, index.data(ConversationRole.MOMENT), tokens)
        painter.restore()


def _paint_background(painter: QPainter, option: QStyleOptionViewItem, tokens: Tokens) -> None:
    is_selected = bool(option.state & QStyle.StateFlag.State_Selected)
    is_hovered = bool(option.state & QStyle.StateFlag.State_MouseOver)
    if is_selected or is_hovered:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens.accent_soft if is_selected else tokens.hover))
        painter.drawRoundedRect(option.rect.adjusted(2, 2, -2, -2), 8, 8)


def _paint_pin(painter: QPainter, rect: QRect, tokens: Tokens) -> None:
    pin = render_icon("pin", tokens.muted, _PIN_SIZE)
    painter.drawPixmap(rect.right() - _PIN_SIZE + 1, rect.top() + 1, pin)


def _paint_title(painter: QPainter, rect: QRect, title: str, tokens: Tokens) -> None:
    painter.setFont(ui_font())
    painter.setPen(QColor(tokens.text))
    text = painter.fontMetrics().elidedText(title, Qt.TextElideMode.ElideRight, rect.width())
    painter.drawText(rect, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop, text)


def _paint_moment(painter: QPainter, rect: QRect, moment: str, tokens: Tokens) -> None:
    painter.setFont(ui_font(0.84))
    painter.setPen(QColor(tokens.muted))
    painter.drawText(rect, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom, moment)
