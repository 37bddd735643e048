"""What was given: config.json of a repository or folder, a source, or a native checkpoint."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from app.checkpoint.manifest import MANIFEST_NAME
from app.checkpoint.reader import Checkpoint
from app.converter.sources.base import Source
from app.converter.sources.detect import open_source
from app.converter.sources.gguf import read_config
from app.converter.sources.gguf_shards import open_gguf_model
from app.converter.sources.hf_folder import folder_name, read_json
from app.converter.sources.weight_files import has_weight_files
from app.core.errors import AppError, InvalidSourceError, UsageError
from app.core.paths import library_dir
from app.core.sentence import Sentence
from app.hub.library import resolve
from app.spec.text_part import text_config
from app.validation.hub_config import download_config

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
CONFIG_ONLY = Sentence("config only")
NATIVE = "native"


@dataclass(slots=True)
class Subject:
    """An opened source; `close` gives its files back.

    `raw_config` is config.json as published (of a GGUF file: what its metadata say),
    `folder` the place of the text files where there are any. `source` and `checkpoint` are None
    where there is nothing to convert, nothing converted, or when opening failed with `fault`.
    """

    name: str
    format: str
    raw_config: dict[str, Any]
    path: Path | None = None
    source: Source | None = None
    checkpoint: Checkpoint | None = None
    fault: AppError | None = None

    @property
    def config(self) -> dict[str, Any]:
        """The language model's configuration, as conversion settles it; raises UnsupportedError."""
        opened = self.source or self.checkpoint
        return dict(opened.config) if opened is not None else text_config(self.raw_config)

    @property
    def has_weights(self) -> bool:
        """Whether there are weights to look at."""
        return self.format != CONFIG_ONLY

    def close(self) -> None:
        """Closes what was opened."""
        if self.source is not None:
            self.source.close()
        if self.checkpoint is not None:
            self.checkpoint.close()


def open_subject(text: str) -> Subject:
    """SOURCE: a path, a name in the library, or `org/name` on the hub.

    Raises UsageError or InvalidSourceError where there is no such thing or no configuration in it;
    a source whose tensors are refused is opened, with the refusal as `fault`.
    """
    native = resolve(text, library_dir())
    if native is not None:
        return _open_native(native)
    path = Path(text)
    if path.exists():
        return _open_path(path)
    if _REPOSITORY.fullmatch(text):
        return Subject(text.rpartition("/")[2], CONFIG_ONLY, download_config(text))
    raise UsageError(
        "{text} is neither a file, a folder, a repository nor a name in the library.", text=text
    )


def _open_native(path: Path) -> Subject:
    name = path.resolve().name
    subject = Subject(name, NATIVE, read_json(path / "config.json"), path)
    try:
        subject.checkpoint = Checkpoint.open(path, verify=False)
    except AppError as error:
        subject.fault = error
    return subject


def _open_path(path: Path) -> Subject:
    if path.is_file() and path.name == "config.json":
        return Subject(path.resolve().parent.name, CONFIG_ONLY, read_json(path), path.parent)
    if (path / MANIFEST_NAME).is_file():
        return _open_native(path)
    if path.is_dir() and (path / "config.json").is_file() and not _holds_weights(path):
        return Subject(folder_name(path), CONFIG_ONLY, read_json(path / "config.json"), path)
    return _open_source(path)


def _holds_weights(path: Path) -> bool:
    return has_weight_files(path) or any(path.glob("*.gguf"))


def _open_source(path: Path) -> Subject:
    try:
        source = _open_with_tokenizer(path)
    except AppError as error:
        return _create_faulty(path, error)
    raw = source.config if source.path.is_file() else read_json(source.path / "config.json")
    return Subject(source.name, source.format, raw, source.path, source)


def _open_with_tokenizer(path: Path) -> Source:
    """Without a tokenizer the weights can be looked at all the same; the tokenizer's row tells."""
    if not path.is_dir() or not has_weight_files(path) or (path / "tokenizer.json").is_file():
        return open_source(path)
    with TemporaryDirectory(prefix="deepinfer-") as empty:
        (Path(empty) / "tokenizer.json").write_text("{}", encoding="utf-8")
        return open_source(path, tokenizer_dir=Path(empty))


def _create_faulty(path: Path, error: AppError) -> Subject:
    """Its configuration can still be looked at; raises `error` where there is none."""
    try:
        config = _read_config(path)
    except AppError:
        raise error from None
    return Subject(path.resolve().stem, Sentence("unreadable"), config, path, fault=error)


def _read_config(path: Path) -> dict[str, Any]:
    if path.is_file():
        return dict(read_config(open_gguf_model(path)))
    if not (path / "config.json").is_file():
        raise InvalidSourceError("{name} has no config.json.", name=path.name)
    return read_json(path / "config.json")


def describe_config(config: Mapping[str, Any]) -> str:
    """`LlamaForCausalLM (llama)`."""
    names = config.get("architectures")
    first = names[0] if isinstance(names, list) and names else Sentence("no architecture")
    model_type = config.get("model_type", Sentence("no model_type"))
    return Sentence("{first} ({model_type})", first=first, model_type=model_type)
