"""A report as Markdown, and as JSON beside it, saved where the user wants it, off the GUI
thread.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from app.controllers.file_saver import FileSaver
from app.core.errors import ResourceError, StorageError
from app.core.sentence import Sentence
from app.core.system_reason import refused, system_reason

# As the worker writes them into the checkpoint; the second only where grids were evaluated.
_CONVERSION, _EVALUATION = "conversion_report", "evaluation"


class ReportSaver(FileSaver):
    """Signals: of `FileSaver`; `saved` tells the Markdown file, the JSON stands beside it."""

    def save(self, checkpoint: Path, target: Path) -> None:
        """The quality report of a checkpoint as `target`."""
        self.write(partial(save_report, checkpoint, target))

    def save_texts(self, markdown: str, document: str, target: Path) -> None:
        """A report that is at hand; `document` is JSON."""
        self.write(partial(save_texts, markdown, document, target))


def save_report(checkpoint: Path, target: Path) -> Path:
    """Both reports of a checkpoint as one Markdown file and one JSON file; returns the former.

    Raises ResourceError, also when the checkpoint is gone.
    """
    try:
        markdown, document = _read_reports(checkpoint)
    except (OSError, ValueError) as error:
        raise _describe(checkpoint.name, error) from error
    return save_texts(markdown, document, target)


def save_texts(markdown: str, document: str, target: Path) -> Path:
    """Writes `target` with the ending .md, and .json beside it; returns the former.

    Raises ResourceError.
    """
    path = target.with_name(f"{target.name.removesuffix('.md')}.md")
    try:
        path.write_text(markdown, encoding="utf-8")
        path.with_suffix(".json").write_text(document, encoding="utf-8")
    except OSError as error:
        raise _describe(path.name, error) from error
    return path


def _describe(name: str, error: OSError | ValueError) -> ResourceError:
    reason = system_reason(error) if isinstance(error, OSError) else str(error)
    sentence = Sentence(
        "The report of {name} could not be saved: {reason}.", name=name, reason=reason
    )
    if isinstance(error, OSError):
        return refused(error, sentence)
    return StorageError(sentence, detail=repr(error))


def _read_reports(checkpoint: Path) -> tuple[str, str]:
    stems = {"conversion": _CONVERSION}
    if (checkpoint / f"{_EVALUATION}.md").is_file():
        stems["evaluations"] = _EVALUATION
    texts = [(checkpoint / f"{stem}.md").read_text(encoding="utf-8") for stem in stems.values()]
    document = {
        key: json.loads((checkpoint / f"{stem}.json").read_text(encoding="utf-8"))
        for key, stem in stems.items()
    }
    return "\n".join(texts), json.dumps(document, indent=1, ensure_ascii=False) + "\n"
