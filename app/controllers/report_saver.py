"""The quality report of a checkpoint, saved where the user wants it, off the GUI thread."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.controllers.threads import FunctionThread
from app.core.errors import ResourceError
from app.core.events import ErrorInfo

# As the worker writes them into the checkpoint; the second only where grids were evaluated.
_CONVERSION, _EVALUATION = "conversion_report", "evaluation"


class ReportSaver(QObject):
    """One save at a time.

    Signals (on the GUI thread):
        saved(Path): the Markdown file; the JSON stands beside it.
        failed(ErrorInfo)
    """

    saved = Signal(object)
    failed = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._thread: FunctionThread | None = None

    def save(self, checkpoint: Path, target: Path) -> None:
        """Writes `target` as .md and .json; no effect while another save runs."""
        if self._thread is None:
            self._thread = FunctionThread(partial(save_report, checkpoint, target), self)
            self._thread.returned.connect(self._on_thread_returned)
            self._thread.errored.connect(self._on_thread_errored)
            self._thread.finished.connect(self._on_thread_finished)
            self._thread.start()

    def shutdown(self) -> None:
        """Waits for what runs."""
        if self._thread is not None:
            self._thread.join()

    @Slot(object)
    def _on_thread_returned(self, path: Path) -> None:
        self.saved.emit(path)

    @Slot(object)
    def _on_thread_errored(self, error: ErrorInfo) -> None:
        self.failed.emit(error)

    @Slot()
    def _on_thread_finished(self) -> None:
        if self._thread is not None:
            self._thread.deleteLater()
            self._thread = None


def save_report(checkpoint: Path, target: Path) -> Path:
    """Both reports of a checkpoint as one Markdown file and one JSON file; returns the former.

    Raises ResourceError, also when the checkpoint is gone.
    """
    try:
        return _save_report(checkpoint, target)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ResourceError(
            f"The report of {checkpoint.name} could not be saved: {reason}.", detail=repr(error)
        ) from error


def _save_report(checkpoint: Path, target: Path) -> Path:
    stems = {"conversion": _CONVERSION}
    if (checkpoint / f"{_EVALUATION}.md").is_file():
        stems["evaluations"] = _EVALUATION
    texts = [(checkpoint / f"{stem}.md").read_text(encoding="utf-8") for stem in stems.values()]
    document = {
        key: json.loads((checkpoint / f"{stem}.json").read_text(encoding="utf-8"))
        for key, stem in stems.items()
    }
    markdown = target.with_name(f"{target.name.removesuffix('.md')}.md")
    markdown.write_text("\n".join(texts), encoding="utf-8")
    content = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    markdown.with_suffix(".json").write_text(content, encoding="utf-8")
    return markdown
