"""Which files of a repository are needed: one GGUF model, or a folder without what it repeats."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from app.converter.sources.gguf_shards import model_name
from app.core.errors import InvalidSourceError, UsageError
from app.core.sentence import Sentence
from app.hub.repository import RemoteFile, Repository

_TEXT_FILES = re.compile(r".+\.(json|jinja|model)|merges\.txt|vocab\.txt")
# In order: the first kind that is there decides, the others repeat the same weights.
_WEIGHTS = (
    re.compile(r"(?!consolidated).+\.safetensors"),
    re.compile(r"pytorch_model.*\.bin"),
)
_NOT_A_MODEL = re.compile(r"mmproj|imatrix", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FilePlan:
    """What to fetch; `main` is the file to open, '' for the folder."""

    name: str
    files: tuple[RemoteFile, ...]
    main: str = ""

    @property
    def num_bytes(self) -> int:
        """Of all files."""
        return sum(file.num_bytes for file in self.files)

    @property
    def weight_bytes(self) -> int:
        """Of the files that hold weights."""
        return sum(f.num_bytes for f in self.files if not _TEXT_FILES.fullmatch(f.path))


def list_choices(repository: Repository) -> tuple[FilePlan, ...]:
    """Everything that could be fetched: the folder, where it has weights, or each GGUF model.

    Raises InvalidSourceError for a repository without weights.
    """
    folder = _plan_folder(repository)
    choices = (folder,) if folder is not None else _plan_ggufs(repository)
    if not choices:
        raise InvalidSourceError(
            "{repo_id} has no weights that this program reads (safetensors, PyTorch's .bin or "
            "GGUF).",
            repo_id=repository.repo_id,
        )
    return choices


def choose(repository: Repository, wanted: str) -> FilePlan:
    """The choice meant by a file's path or the name of a quantization (`Q4_K_M`).

    All shards of a GGUF model belong together. Raises UsageError where there is none, or more.
    """
    ggufs = _plan_ggufs(repository, all_of_them=True)
    exact = [plan for plan in ggufs if any(file.path == wanted for file in plan.files)]
    if not exact and any(file.path == wanted for file in repository.files):
        raise UsageError(
            "{wanted} is one file of a model; `deepinfer pull {repo_id}` fetches all.",
            wanted=wanted,
            repo_id=repository.repo_id,
        )
    found = exact or [plan for plan in ggufs if _is_called(plan.name, wanted)]
    if len(found) != 1:
        names = ", ".join(plan.name for plan in found or ggufs) or Sentence("no GGUF file")
        what = Sentence("several files") if found else "nothing"
        raise UsageError(
            "{wanted!r} names {what} in {repo_id}; it has {names}.",
            wanted=wanted,
            what=what,
            repo_id=repository.repo_id,
            names=names,
        )
    return found[0]


def _is_called(name: str, wanted: str) -> bool:
    pattern = rf"(?:.*[-._/])?{re.escape(wanted)}(?:\.gguf)?"
    return re.fullmatch(pattern, name, re.IGNORECASE) is not None


def _plan_folder(repository: Repository) -> FilePlan | None:
    top = [file for file in repository.files if "/" not in file.path]
    for pattern in _WEIGHTS:
        weights = [file for file in top if pattern.fullmatch(file.path)]
        if weights:
            texts = [file for file in top if _TEXT_FILES.fullmatch(file.path)]
            return FilePlan(repository.repo_id.rpartition("/")[2], (*texts, *weights))
    return None


def _plan_ggufs(repository: Repository, *, all_of_them: bool = False) -> tuple[FilePlan, ...]:
    models: dict[str, list[RemoteFile]] = {}
    for file in sorted(repository.files, key=lambda file: file.path):
        path = PurePosixPath(file.path)
        if path.suffix == ".gguf" and (all_of_them or not _NOT_A_MODEL.search(path.name)):
            models.setdefault(str(path.with_name(model_name(Path(path.name)))), []).append(file)
    return tuple(FilePlan(name, tuple(files), files[0].path) for name, files in models.items())
