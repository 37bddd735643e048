"""What the operating system says against a file, as a sentence that can be translated."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from app.core.errors import AppError, ResourceError, RoomError, StorageError
from app.core.sentence import Sentence

# A volume that is full, and a user's share of it.
FULL = (errno.ENOSPC, errno.EDQUOT)
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


def refused(error: OSError, sentence: Sentence) -> ResourceError:
    """What the system's refusal leads to, told in `sentence`: a full disk is told as one."""
    kind = RoomError if error.errno in FULL else StorageError
    return kind(sentence, detail=repr(error))


def to_app_error(error: OSError) -> AppError:
    """The sentence where nobody knew a better one: which file, and what is against it."""
    reason = system_reason(error)
    if not isinstance(error.filename, str | os.PathLike):
        return refused(error, Sentence("{reason}.", reason=reason))
    name = Path(error.filename).name
    return refused(error, Sentence("{name}: {reason}.", name=name, reason=reason))
