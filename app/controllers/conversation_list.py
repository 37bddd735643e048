"""The conversations that are saved: found, ordered, taken out of the program and brought in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.chat.documents import ConversationTree, from_json, to_json, to_markdown
from app.chat.store import ChatStore
from app.chat.transcript import ConversationSummary
from app.chat.turn_tree import DeletedTurn
from app.controllers.file_saver import FileSaver
from app.controllers.function_queue import FunctionQueue
from app.controllers.reporting import Reporting
from app.core.errors import ChatStoreError

_MAX_IMPORT_BYTES = 256 << 20


class ConversationList(QObject):
    """Signals (on the GUI thread):
    changed(): `conversations` is to be read again.
    imported(str): the last one that was brought in or duplicated, by its id.
    exported(Path): the file that was written.
    failed(ErrorInfo)
    """

    changed = Signal()
    imported = Signal(str)
    exported = Signal(object)
    failed = Signal(object)

    def __init__(self, store: ChatStore, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._saver = FileSaver(self)
        self._saver.saved.connect(self.exported)
        self._saver.failed.connect(self.failed)
        self._reader = FunctionQueue(self)
        self._reader.returned.connect(self._on_reader_returned)
        self._reader.errored.connect(self.failed)

    @property
    def is_read_only(self) -> bool:
        """Whether a newer version wrote them: nothing can be sent then."""
        return self._store.is_read_only

    def conversations(
        self, query: str = "", folder: str | None = None
    ) -> tuple[ConversationSummary, ...]:
        """Pinned ones, then the latest; `query` searches titles and contents."""
        with Reporting(self.failed):
            return self._store.list_conversations(query, folder)
        return ()

    def folders(self) -> tuple[str, ...]:
        """Those that hold something."""
        with Reporting(self.failed):
            return self._store.list_folders()
        return ()

    def pin(self, conversation_id: str, is_pinned: bool) -> None:
        """Keeps it above all others, or not any more."""
        with self._changing():
            self._store.pin_conversation(conversation_id, is_pinned)

    def move(self, conversation_id: str, folder: str) -> None:
        """Puts it into a folder; '' takes it out."""
        with self._changing():
            self._store.move_conversation(conversation_id, folder.strip())

    def restore(self, conversation_id: str) -> None:
        """Brings a deleted conversation back."""
        with self._changing():
            self._store.restore_conversation(conversation_id)

    def duplicate(self, conversation_id: str, title: str) -> None:
        """Saves it once more, with all versions, under another title, and opens that."""
        with self._changing():
            tree = self._store.load_tree(conversation_id)
            value = replace(tree.conversation, title=title, updated=datetime.now(UTC))
            self.imported.emit(self._store.add_tree(replace(tree, conversation=value)))

    def delete_turn(self, conversation_id: str, turn_id: int) -> DeletedTurn | None:
        """Hides one turn of a conversation; `restore_turn` is its undo. None where that failed."""
        with Reporting(self.failed):
            deleted = self._store.delete_turn(conversation_id, turn_id)
            self.changed.emit()
            return deleted
        return None

    def restore_turn(self, deleted: DeletedTurn) -> None:
        """Brings a deleted turn back."""
        with self._changing():
            self._store.restore_turn(deleted)

    def export_markdown(self, conversation_id: str, path: Path) -> None:
        """What is shown of it, for people."""
        with Reporting(self.failed):
            text = to_markdown(self._store.load_conversation(conversation_id))
            self._saver.write(partial(_write, path, text))

    def export_json(self, conversation_ids: tuple[str, ...], path: Path) -> None:
        """All versions of some conversations, of all where none is named."""
        with Reporting(self.failed):
            ids = conversation_ids or tuple(
                row.conversation_id for row in self._store.list_conversations()
            )
            trees = [self._store.load_tree(conversation_id) for conversation_id in ids]
            self._saver.write(lambda: _write(path, to_json(trees)))

    def import_json(self, path: Path) -> None:
        """Brings in what `export_json` wrote, or a list of messages as OpenAI has it."""
        self._reader.add(partial(_read, path))

    def shutdown(self) -> None:
        """Waits until all is written; what is read is given up."""
        self._saver.shutdown()
        self._reader.clear()
        self._reader.shutdown()

    @Slot(object)
    def _on_reader_returned(self, trees: list[ConversationTree]) -> None:
        with self._changing():
            ids = [self._store.add_tree(tree) for tree in trees]
            if ids:
                self.imported.emit(ids[-1])

    @contextmanager
    def _changing(self) -> Iterator[None]:
        with Reporting(self.failed):
            yield
            self.changed.emit()


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def _read(path: Path) -> list[ConversationTree]:
    if path.stat().st_size > _MAX_IMPORT_BYTES:
        raise ChatStoreError("{name} is too large for an export of conversations.", name=path.name)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ChatStoreError("{name} holds no text in UTF-8.", name=path.name) from error
    return from_json(text)
