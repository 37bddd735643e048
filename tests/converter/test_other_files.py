"""What people drop that is no model: each is called what it is, whatever its name says."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zipfile
from pathlib import Path

import pytest

from app.cli.models import resolve_source
from app.converter.sources.detect import open_source
from app.core.errors import AppError, InvalidSourceError, UnsupportedError


def _zip() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("model.gguf", "GGUF")
    return buffer.getvalue()


_FILES = {
    "zip": (_zip(), "an archive"),
    "gzip": (gzip.compress(b"GGUF"), "an archive"),
    "pdf": (b"%PDF-1.7\n", "a PDF"),
    "page": (b"\n<!DOCTYPE html><html><body>404</body></html>", "a web page"),
    "old page": (b"<HTML><BODY>", "a web page"),
}


@pytest.mark.parametrize("suffix", [".gguf", ".zip", ""])
@pytest.mark.parametrize("kind", _FILES)
def test_other_files_are_called_what_they_are(tmp_path: Path, kind: str, suffix: str) -> None:
    data, what = _FILES[kind]
    path = tmp_path / f"模型{suffix}"
    path.write_bytes(data)
    with pytest.raises(UnsupportedError, match=f"{path.name} is {what}"):
        open_source(path)


def test_a_file_of_pytorch_is_no_archive(tmp_path: Path) -> None:
    for name in ("pytorch_model.bin", "weights.pt", "weights.ckpt"):
        path = tmp_path / name
        path.write_bytes(_zip())
        with pytest.raises(AppError, match=r"one file of a model|PyTorch pickle"):
            open_source(path)


def test_a_text_is_no_model_and_what_is_one_is_said(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Hello")
    with pytest.raises(UnsupportedError, match=r"no model: models are \.gguf files"):
        open_source(path)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes in folders")
def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "pipe.gguf"
    os.mkfifo(path)
    with pytest.raises(InvalidSourceError, match="neither a file nor a folder"):
        open_source(path)


def test_weights_without_a_config_are_half_a_model(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"\0" * 16)
    with pytest.raises(InvalidSourceError, match=r"weights but no config\.json"):
        open_source(tmp_path)


def test_the_folder_one_stands_in_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert resolve_source(".").name == tmp_path.name


def test_a_repository_can_be_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidSourceError, match=r"deepinfer pull Qwen/Qwen3-4B:Q4_K_M"):
        resolve_source("Qwen/Qwen3-4B:Q4_K_M")
    with pytest.raises(InvalidSourceError) as caught:
        resolve_source("models/a b.gguf")
    assert "pull" not in caught.value.message
