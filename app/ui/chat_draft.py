"""What only a Chat page knows: what is being written, searched for and looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.ui.pages.chat_page import ChatPage


def hand_over(old: ChatPage, new: ChatPage) -> None:
    """Everything of it from one page to the one that takes its place."""
    _hand_over_message(old, new)
    _hand_over_list(old, new)
    new.top_bar.conversations_button.setChecked(old.top_bar.conversations_button.isChecked())
    new.top_bar.panel_button.setChecked(old.top_bar.panel_button.isChecked())
    new.panel.live.take_over(old.panel.live)
    new.transcript.take_over(old.transcript)
    new.banners.take_over(old.banners)


def _hand_over_message(old: ChatPage, new: ChatPage) -> None:
    new.composer.edit.setPlainText(old.composer.edit.toPlainText())
    before, cursor = old.composer.edit.textCursor(), new.composer.edit.textCursor()
    cursor.setPosition(before.anchor())
    cursor.setPosition(before.position(), cursor.MoveMode.KeepAnchor)
    new.composer.edit.setTextCursor(cursor)
    new.composer.files.show_attachments(old.composer.files.attachments)
    new.attacher.reader.add(old.attacher.reader.unread)


def _hand_over_list(old: ChatPage, new: ChatPage) -> None:
    folder = old.conversations.folder_button.value
    new.conversations.search_field.setText(old.conversations.search_field.text())
    new.conversations.show_folders(old.conversations.folders)
    new.conversations.folder_button.set_value(folder)
