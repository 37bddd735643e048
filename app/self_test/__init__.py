"""`deepinfer --self-test [FILE]`: does this installation work? Answered as JSON, and by exit code.

Everything that a user would do first is done once, in a home of its own: what the program imports
and reads, its window (on a screen that nobody sees), the starter model converted and validated in
worker processes, a reply, a request at the localhost port. What a step does not find is `not_run`,
with the reason.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.self_test.steps import SelfTest


def main(report: Path | None) -> int:
    """Runs all steps; writes the document to `report`, else to stdout. 0 when nothing failed."""
    with _own_home() as home:
        picture = report.with_suffix(".png") if report is not None else None
        document = SelfTest(home, picture).run()
        logging.shutdown()  # a log that is open cannot be removed with its folder
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    if report is None:
        sys.stdout.write(text)
    else:
        report.write_text(text, encoding="utf-8")
    return 0 if document["ok"] else 1


@contextmanager
def _own_home() -> Iterator[Path]:
    """The user's own settings, chats and models are not touched."""
    with tempfile.TemporaryDirectory(prefix="deepinfer-", ignore_cleanup_errors=True) as folder:
        os.environ["DEEPINFER_HOME"] = folder
        yield Path(folder)
