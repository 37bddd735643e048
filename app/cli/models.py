"""What MODEL means: a native folder, a name in the library, `starter`, or a source to convert."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

from app.cli.conversion import convert_with_progress
from app.cli.output import print_note
from app.converter.sources.detect import open_source
from app.core.errors import InvalidSourceError
from app.core.paths import library_dir
from app.engine.executors.factory import executor_class
from app.hub.library import choose_output, find_by_source, resolve
from app.hub.starter import require_starter

STARTER = "starter"
_REPOSITORY = re.compile(r"[\w-][\w.-]*/[\w.-]+(:[\w.-]+)?")


def resolve_model(text: str, device: str) -> Path:
    """The native folder of MODEL; a source is converted into the library first, once.

    Raises InvalidSourceError when there is no such thing, what a conversion raises, and, before any
    work, what `executor_class` raises for a device that cannot be used.
    """
    executor_class(device)
    native = resolve(text, library_dir())
    if native is not None:
        return native
    return _convert_into_library(resolve_source(text))


def resolve_source(text: str) -> Path:
    """The file or folder of SOURCE; raises InvalidSourceError when there is none."""
    path = Path(text).expanduser()
    if text and path.exists():
        return path if path.name else path.absolute()  # `.` shall be called what it is called
    if text == STARTER:
        return require_starter()
    hint = f"; `deepinfer pull {text}` fetches it" if _REPOSITORY.fullmatch(text) else ""
    raise InvalidSourceError(
        f"{text or 'Nothing'} is neither a file, a folder nor a name in the library{hint}."
    )


def _convert_into_library(path: Path) -> Path:
    with closing(open_source(path)) as source:
        name, num_bytes = source.name, source.source_bytes
    known = find_by_source(library_dir(), name, num_bytes)
    if known is not None:
        return known.path
    output = choose_output(library_dir(), name)
    report = convert_with_progress(path, output)
    print_note(f"{output.name} is in the library now ({report.seconds:.1f} s).")
    return output
