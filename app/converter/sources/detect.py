"""Recognises a source by what it holds, not by what it is called."""

from __future__ import annotations

from pathlib import Path

from app.checkpoint.reader import Checkpoint
from app.converter.sources.base import Source
from app.converter.sources.foreign_folders import refuse_foreign_folder
from app.converter.sources.gguf import GgufSource
from app.converter.sources.gguf_shards import model_name, refuse_byte_splits
from app.converter.sources.hf_folder import lfs_pointer_error
from app.converter.sources.huggingface import HuggingFaceSource
from app.converter.sources.linear_formats import FOLDER_FORMATS
from app.converter.sources.other_files import recognise_other
from app.converter.sources.weight_files import has_weight_files
from app.core.errors import InvalidSourceError, UnsupportedError, UsageError
from app.core.system_reason import system_reason
from app.spec.gguf_header import LFS_POINTER_START

_PICKLES = (".pt", ".pth", ".bin", ".ckpt")  # of PyTorch, which are zip archives

FORMATS = ("auto", "gguf", *FOLDER_FORMATS)


def open_source(path: Path, format: str = "auto", tokenizer_dir: Path | None = None) -> Source:
    """Opens a GGUF file (any shard) or a Hugging Face folder.

    `tokenizer_dir` replaces the source's own tokenizer files. Raises InvalidSourceError,
    UnsupportedError, or UsageError for a path or format that cannot be meant.
    """
    if format not in FORMATS:
        raise UsageError(
            "The format {format!r} is not known; known are {formats}.",
            format=format,
            formats=", ".join(FORMATS),
        )
    if not path.exists():
        raise UsageError("{path} does not exist.", path=path)
    path = _only_model(path) if path.is_dir() else path
    source = _open(path, tokenizer_dir)
    if format not in ("auto", source.format):
        source.close()
        raise UsageError(
            "{name} is in the format {found}, not {format}.",
            name=path.name,
            found=source.format,
            format=format,
        )
    return source


def _open(path: Path, tokenizer_dir: Path | None) -> Source:
    if path.is_dir():
        return HuggingFaceSource(path, tokenizer_dir)
    _check_is_gguf(path)
    return GgufSource(path, tokenizer_dir)


def _only_model(path: Path) -> Path:
    """The folder itself when it is a Hugging Face model, else the one GGUF model in it."""
    if Checkpoint.is_native_dir(path):
        raise UsageError("{name} is a native checkpoint already.", name=path.name)
    files = sorted(path.glob("*.gguf"))
    if not files:
        refuse_foreign_folder(path)
    # Folders of GGUF files often bring the config.json of the original model.
    if (path / "config.json").is_file() and (has_weight_files(path) or not files):
        return path
    if not files and has_weight_files(path):
        raise InvalidSourceError(
            "{name} has weights but no config.json; fetch the rest of the repository, too.",
            name=path.name,
        )
    if not files:
        raise InvalidSourceError(
            "{name} has neither a config.json nor a GGUF file.", name=path.name
        )
    if len({model_name(file) for file in files}) > 1:
        raise UsageError(
            "{name} is a folder with several GGUF models; choose a file.", name=path.name
        )
    return files[0]


def _check_is_gguf(path: Path) -> None:
    refuse_byte_splits(path)
    if not path.is_file():  # a pipe would be read for ever
        raise InvalidSourceError("{name} is neither a file nor a folder.", name=path.name)
    head = _read_head(path)
    if path.suffix.lower() not in _PICKLES and (what := recognise_other(head)) is not None:
        raise UnsupportedError("{name} is {what}.", name=path.name, what=what)
    # Damaged files that call themselves GGUF get the parser's sentence, which names the fault.
    if head.startswith(b"GGUF") or path.suffix.lower() == ".gguf":
        return
    if not head:
        raise InvalidSourceError("{name}: the file is empty.", name=path.name)
    if head.startswith(LFS_POINTER_START):
        raise lfs_pointer_error(path)
    if path.suffix.lower() in (".safetensors", ".bin") or path.name == "config.json":
        raise UsageError(
            "{name} is one file of a model; choose the folder that contains it.", name=path.name
        )
    if path.suffix.lower() in _PICKLES:
        raise UnsupportedError("{name}: PyTorch pickle files are not supported.", name=path.name)
    raise UnsupportedError(
        "{name} is no model: models are .gguf files, and folders with a config.json and weights.",
        name=path.name,
    )


def _read_head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(len(LFS_POINTER_START))
    except OSError as error:
        raise InvalidSourceError(
            "{name}: cannot be read ({reason}).", name=path.name, reason=system_reason(error)
        ) from error
