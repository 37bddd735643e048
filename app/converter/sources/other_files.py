"""Files that are something else than a model, whatever they are called, and what to do then."""

from __future__ import annotations

from app.core.sentence import Sentence

_ARCHIVE = Sentence("an archive, not a model; unpack it first")
_PAGE = Sentence("a web page, not a model: the link led to a page about the file")
# How a file begins, and what it is then.
_BEGINNINGS = (
    (b"PK\x03\x04", _ARCHIVE),
    (b"7z\xbc\xaf\x27\x1c", _ARCHIVE),
    (b"Rar!\x1a\x07", _ARCHIVE),
    (b"\x1f\x8b", _ARCHIVE),
    (b"\x28\xb5\x2f\xfd", _ARCHIVE),  # zstandard
    (b"%PDF", Sentence("a PDF, not a model; in the chat it can be attached to a message")),
    (b"<!doctype", _PAGE),
    (b"<html", _PAGE),
)


def recognise_other(head: bytes) -> Sentence | None:
    """What a file is by its first 16 bytes or more, None where it may be a model."""
    start = head.lstrip().lower()
    return next(
        (what for mark, what in _BEGINNINGS if head.startswith(mark) or start.startswith(mark)),
        None,
    )
