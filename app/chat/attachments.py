"""Files that go with a message: their text, read once, so that the files may go."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import UsageError
from app.core.units import format_bytes

MAX_FILE_BYTES = 64 << 20
MAX_TEXT_CHARS = 4_000_000
_PDF = ".pdf"
# Byte order marks, the longer ones first; without one a text is UTF-8, or what older programs of
# Windows write in China and in western Europe.
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_HIGH_BYTE = re.compile(rb"[\x80-\xff]")
_HIGH_PAIR = re.compile(rb"[\xa1-\xf7][\xa1-\xfe]")
_SAMPLE_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file by its name, and its text."""

    name: str
    text: str


def can_attach(path: Path) -> bool:
    """Whether a file looks like text or is a PDF; reads a little of it."""
    if path.suffix.lower() == _PDF:
        return path.is_file()
    try:
        with path.open("rb") as file:
            sample = file.read(_SAMPLE_BYTES)
    except OSError:
        return False
    return _has_mark(sample) or b"\0" not in sample


def read_attachment(path: Path) -> Attachment:
    """Raises UsageError with the reason for a file that cannot be attached, OSError."""
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        raise UsageError(
            "{name} has {size}; files of up to {most} can be attached.",
            name=path.name,
            size=format_bytes(size),
            most=format_bytes(MAX_FILE_BYTES),
        )
    is_pdf = path.suffix.lower() == _PDF
    text = _read_pdf(path) if is_pdf else decode_text(path.read_bytes(), path.name)
    if not text.strip():
        raise UsageError("{name} holds no text.", name=path.name)
    if len(text) > MAX_TEXT_CHARS:
        raise UsageError("{name} holds more text than any model can read.", name=path.name)
    return Attachment(path.name, text.replace("\r\n", "\n").strip("\n"))


def with_attachments(content: str, attachments: Sequence[Attachment]) -> str:
    """A message as the model reads it: the files first, then what is asked about them."""
    files = [f"[{file.name}]\n\n{file.text}\n\n[end of {file.name}]" for file in attachments]
    return "\n\n".join([*files, content] if content else files)


def decode_text(data: bytes, name: str) -> str:
    """What somebody wrote, in whichever encoding; raises UsageError for what is no text."""
    if not _has_mark(data) and b"\0" in data:
        raise UsageError("{name} is no text file.", name=name)
    encodings = [name for mark, name in _MARKS.items() if data.startswith(mark)][:1]
    for encoding in encodings or ("utf-8", *_guess_encodings(data)):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise UsageError("{name} is no text in an encoding that is known.", name=name)


def _guess_encodings(data: bytes) -> tuple[str, str]:
    """Chinese is written in pairs of bytes above 0xa0, where an accented letter mostly stands
    between plain ones. GB 18030 would read nearly every sequence of bytes."""
    num_high = len(_HIGH_BYTE.findall(data))
    is_chinese = 2 * len(_HIGH_PAIR.findall(data)) > num_high / 2
    return ("gb18030", "cp1252") if is_chinese else ("cp1252", "gb18030")


def _has_mark(data: bytes) -> bool:
    return any(data.startswith(mark) for mark in _MARKS)


def _read_pdf(path: Path) -> str:
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, DeprecationError, PyPdfError

    # DependencyError: AES needs a package that Windows' bundle does without. DeprecationError: a
    # filter by its short name. RuntimeError: filters that are not implemented, endless nesting.
    known = (PyPdfError, DependencyError, DeprecationError)
    stumbles = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
    try:
        pages = [page.extract_text() for page in PdfReader(path).pages]
    except (*known, *stumbles) as error:
        raise UsageError(
            "{name} cannot be read as a PDF: {error}.",
            name=path.name,
            error=error,
            detail=repr(error),
        ) from error
    if not any(page.strip() for page in pages):
        raise UsageError("{name} holds no text, only pictures of it.", name=path.name)
    return "\n\n".join(pages)
