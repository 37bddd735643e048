"""Which models a set of files holds, by their names alone: nothing is opened."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from app.checkpoint.manifest import MANIFEST_NAME
from app.converter.sources.gguf_shards import model_name
from app.converter.sources.weight_files import has_weight_files

# Big files that belong to a model's weights, in whatever format.
WEIGHT_SUFFIXES = frozenset({".gguf", ".safetensors", ".bin", ".pt", ".pth"})


@dataclass(frozen=True, slots=True)
class FoundModel:
    """`path` is what a conversion takes: the first shard of a GGUF model, or the folder."""

    path: Path
    files: tuple[Path, ...]

    @property
    def is_gguf(self) -> bool:
        """A file, or shards, in the GGUF format."""
        return self.path.suffix.lower() == ".gguf"


def find_models(files: Iterable[Path]) -> tuple[FoundModel, ...]:
    """GGUF models and Hugging Face folders among files, which may lie in several folders."""
    by_folder: dict[Path, list[Path]] = defaultdict(list)
    for file in files:
        by_folder[file.parent].append(file)
    models: list[FoundModel] = []
    for folder in sorted(by_folder):
        models += _models_of(folder, sorted(by_folder[folder]))
    return tuple(models)


def _models_of(folder: Path, files: list[Path]) -> list[FoundModel]:
    names = {file.name for file in files}
    if MANIFEST_NAME in names:  # a checkpoint: its files are no sources
        return []
    shards: dict[str, list[Path]] = defaultdict(list)
    others = []
    for file in files:
        if file.suffix.lower() == ".gguf":
            shards[model_name(file)].append(file)
        else:
            others.append(file)
    models = [FoundModel(paths[0], tuple(paths)) for paths in shards.values()]
    if "config.json" in names and has_weight_files(folder):
        models.append(FoundModel(folder, tuple(others)))
    return models
