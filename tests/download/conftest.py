"""What tests of transfers share."""

from __future__ import annotations

import pytest
from huggingface_hub import constants


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub on this machine may be asked; a second of its silence is an error, soon tried again."""
    monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 1)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr("app.download.transfer._WAITS_S", (0.01, 0.01))
