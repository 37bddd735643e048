"""One file copied and hashed on the way, forced to the disk, its times kept."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from app.checkpoint.tensor_file import FileRecord
from app.core.jobs import check_cancelled

_BLOCK_BYTES = 1 << 22


def copy_file(source: Path, target: Path) -> FileRecord:
    """Size and sha256 of what was read; raises OSError, JobCancelledError between two blocks."""
    digest, num_bytes = hashlib.sha256(), 0
    with source.open("rb") as reader, target.open("wb") as writer:
        while block := reader.read(_BLOCK_BYTES):
            check_cancelled()
            digest.update(block)
            num_bytes += writer.write(block)
        writer.flush()
        os.fsync(writer.fileno())
    shutil.copystat(source, target)
    return FileRecord(num_bytes, digest.hexdigest())
