"""What the operating system says against a file, as a sentence that can be translated."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from app.core.errors import AppError, ResourceError
from app.core.sentence import Sentence

# In the words of Linux' C library, which Python repeats.
_REASONS = {
    errno.EACCES: Sentence("Permission denied"),
    errno.EBUSY: Sentence("Device or resource busy"),
    errno.EEXIST: Sentence("File exists"),
    errno.EFBIG: Sentence("File too large"),
    errno.EIO: Sentence("Input/output error"),
    errno.EISDIR: Sentence("Is a directory"),
    errno.EMFILE: Sentence("Too many open files"),
    errno.ENAMETOOLONG: Sentence("File name too long"),
    errno.ENOENT: Sentence("No such file or directory"),
    errno.ENOSPC: Sentence("No space left on device"),
    errno.ENOTDIR: Sentence("Not a directory"),
    errno.ENOTEMPTY: Sentence("Directory not empty"),
    errno.EPERM: Sentence("Operation not permitted"),
    errno.EROFS: Sentence("Read-only file system"),
    errno.EXDEV: Sentence("Invalid cross-device link"),
}


def system_reason(error: OSError) -> str:
    """`No space left on device`; Windows says it in the language of the system by itself."""
    if getattr(error, "winerror", None) is not None or error.errno not in _REASONS:
        return error.strerror or str(error)
    return _REASONS[error.errno]


def to_app_error(error: OSError) -> AppError:
    """The sentence where nobody knew a better one: which file, and what is against it."""
    if not isinstance(error.filename, str | os.PathLike):
        return ResourceError("{reason}.", reason=system_reason(error), detail=repr(error))
    return ResourceError(
        "{name}: {reason}.",
        name=Path(error.filename).name,
        reason=system_reason(error),
        detail=repr(error),
    )
