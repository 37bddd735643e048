"""transformers' tokenizer of a folder, for comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from app.validation.context import Context


def load_reference_tokenizer(context: Context, folder: Path) -> Any | None:
    """None where transformers is missing or has none for it."""
    if context.reference is None:
        return None
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    # What a GGUF file's metadata become has no class of its own.
    is_published = folder == context.subject.path and (folder / "config.json").is_file()
    loaders = (
        (AutoTokenizer, PreTrainedTokenizerFast) if is_published else (PreTrainedTokenizerFast,)
    )
    for loader in loaders:
        try:
            return loader.from_pretrained(folder, local_files_only=True)
        except (OSError, ValueError, KeyError, AttributeError, TypeError, ImportError):
            continue
    return None
