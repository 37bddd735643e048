"""What a frozen program must do before anything else; nothing here concerns a source checkout.

A program that was frozen is its own interpreter: whoever runs `sys.executable -m module` starts the
program anew, which would do the same again, without end.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from app.core.sentence import Sentence

# cuda.pathfinder (CuPy's) looks for libraries in a fresh interpreter.
_RUNNABLE = ("cuda.pathfinder.",)
_IS_RESPAWNED = "DEEPINFER_RESPAWNED"
EXIT_NOT_RUNNABLE = 3


def is_frozen() -> bool:
    """Whether this is a bundle, not a source checkout."""
    return bool(getattr(sys, "frozen", False))


def run_requested_module(arguments: Sequence[str]) -> bool:
    """Serves `-m MODULE ARGUMENTS` for the few modules that ask for it; True when that was done.

    Everything else behind `-m`, and a second one within, ends the process with exit code 3.
    """
    if not is_frozen() or list(arguments[:1]) != ["-m"]:
        return False
    module = "".join(arguments[1:2])
    if not module.startswith(_RUNNABLE) or _IS_RESPAWNED in os.environ:
        sys.exit(EXIT_NOT_RUNNABLE)
    os.environ[_IS_RESPAWNED] = "1"
    sys.argv = [module, *arguments[2:]]
    runpy.run_module(module, run_name="__main__")
    return True


def give_streams() -> None:
    """A windowed program has neither stdout nor stderr, and what prints would fail: both go to a
    file."""
    if sys.stdout is not None and sys.stderr is not None:
        return
    from app.core.paths import log_path  # where somebody asks for it, later than a `-m` is served

    path = log_path().with_name("output.log")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = path.open("a", buffering=1, encoding="utf-8", errors="replace")
    except OSError:
        stream = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - as long as the process
    sys.stdout = sys.stdout or stream
    sys.stderr = sys.stderr or stream


def portable_home() -> Path | None:
    """The folder `data` beside the program where `portable.txt` lies there, as in the zip."""
    folder = Path(sys.executable).parent
    return folder / "data" if is_frozen() and (folder / "portable.txt").is_file() else None


def missing_extra(extra: str, packages: str) -> str:
    """How to come by optional packages: a clause for the end of a sentence, without its full stop.

    `extra` is a name in pyproject.toml's optional dependencies.
    """
    if not is_frozen():
        return Sentence(
            "`python3 dev.py install {extra}` installs {packages}", extra=extra, packages=packages
        )
    if extra == "reference":
        return Sentence(
            "this build of the program does not contain {packages}; the full build has it all",
            packages=packages,
        )
    return Sentence("this build of the program does not contain {packages}", packages=packages)
