"""The model of the tests of hosts; who needs another overrides it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tiny_models import write_chat_model


@pytest.fixture(scope="session")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny chat model with room for long replies. Tests must not change it."""
    path = tmp_path_factory.mktemp("host") / "tiny"
    return write_chat_model(path, max_position_embeddings=4096)
