"""Folder of the cache and proxy: from the environment, or from the settings."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from app.core.paths import settings_path
from app.core.settings_store import SettingsStore
from app.hub.environment import apply_settings

_PRINT = """
import json, os
import app.hub
from huggingface_hub import constants
from app.hub.client import get_session
proxies = [str(p.pattern) for p in get_session()._mounts]
print(json.dumps([constants.HF_HUB_CACHE, proxies, os.environ["NO_PROXY"]]))
"""


def test_without_settings_nothing_changes() -> None:
    environment = {"HF_HOME": "/mine"}
    apply_settings(environment)
    assert environment == {"HF_HOME": "/mine", "HF_HUB_DISABLE_TELEMETRY": "1"}


@pytest.mark.parametrize("content", ["{", "[]", '{"hub_home": 3, "hub_proxy": null}'])
def test_a_damaged_file_is_no_reason_to_fail(content: str) -> None:
    settings_path().write_text(content, encoding="utf-8")
    environment: dict[str, str] = {}
    apply_settings(environment)
    assert list(environment) == ["HF_HUB_DISABLE_TELEMETRY"]


def test_settings_reach_huggingface_hub(tmp_path: Path) -> None:
    cache = tmp_path / "缓存 folder"
    SettingsStore(settings_path()).update(
        hub_home=str(cache), hub_proxy="http://proxy.example:8080"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", _PRINT], capture_output=True, text=True, cwd=root, check=True
    )
    folder, proxies, exempt = json.loads(done.stdout)
    assert folder == str(cache / "hub")
    assert any("https" in pattern for pattern in proxies)
    assert "127.0.0.1" in exempt
