"""Folders that are not a whole model in Hugging Face's layout: each is refused by its name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.converter.sources.weight_files import has_weight_files
from app.core.errors import UnsupportedError
from app.core.sentence import Sentence

# A file, and what a folder without ordinary weights is where it stands.
_BY_FILE = (
    (
        "adapter_config.json",
        Sentence("an adapter (LoRA), not a model; merge it into its base model first"),
    ),
    (
        "params.json",
        Sentence("in the consolidated format of Meta and Mistral; take the Hugging Face files"),
    ),
    (
        "qmodel.pt",
        Sentence("in HQQ's own pickle format (qmodel.pt); save it with transformers instead"),
    ),
)
_DRAFT_KEYS = (
    "speculators_config",
    "speculators_model_type",
    "eagle_config",
    "draft_vocab_size",
    "medusa_num_heads",
)


def refuse_foreign_folder(path: Path) -> None:
    """UnsupportedError for an adapter, a consolidated checkpoint or a pickled HQQ model."""
    if has_weight_files(path):
        return
    for name, what in _BY_FILE:
        if (path / name).is_file():
            raise UnsupportedError("{name} is {what}.", name=path.name, what=what)


def refuse_draft(config: Mapping[str, Any], name: str) -> None:
    """UnsupportedError for a draft of speculative decoding, which answers nothing by itself."""
    found = next((key for key in _DRAFT_KEYS if config.get(key) is not None), None)
    if found is not None:
        raise UnsupportedError(
            "{name} is a draft model for speculative decoding (config.json has {found}).",
            name=name,
            found=found,
        )
