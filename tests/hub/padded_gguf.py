"""A GGUF model with padding behind it, which no reader looks at: a download that takes a while."""

from __future__ import annotations

import random
from pathlib import Path

from tests.gguf_factory import TinyModel, to_gguf_tensors, write_gguf


def padded_gguf(folder: Path, num_bytes: int) -> bytes:
    """A tiny model, `num_bytes` long in all."""
    model = TinyModel()
    path = write_gguf(folder / "padded.gguf", model, to_gguf_tensors(model, model.weights()))
    content = path.read_bytes()
    path.unlink()
    return content + random.Random(num_bytes).randbytes(num_bytes - len(content))
