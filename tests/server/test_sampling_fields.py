"""What a request that leaves sampling open is drawn with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.engine.request import SamplingParams
from app.server.sampling_fields import read_defaults

OPENAI = SamplingParams(temperature=1.0)


def _write(folder: Path, config: object) -> None:
    (folder / "generation_config.json").write_text(json.dumps(config), encoding="utf-8")


def test_a_checkpoint_without_a_config_has_openai_s(tmp_path: Path) -> None:
    assert read_defaults(tmp_path) == OPENAI


def test_a_checkpoint_that_was_converted_again_is_read_again(tmp_path: Path) -> None:
    _write(tmp_path, {"temperature": 0.6, "top_k": 20})
    assert read_defaults(tmp_path) == SamplingParams(temperature=0.6, top_k=20)
    _write(tmp_path, {"temperature": 0.7})
    assert read_defaults(tmp_path) == SamplingParams(temperature=0.7)


def test_off_is_off_in_vllm_s_word_too(tmp_path: Path) -> None:
    _write(tmp_path, {"temperature": 0.6, "top_k": -1})
    assert read_defaults(tmp_path) == SamplingParams(temperature=0.6)


@pytest.mark.parametrize("config", [[1], {"temperature": -1}, {"top_p": "much"}, {"top_k": 2.5}])
def test_a_config_that_cannot_be_is_not_asked(tmp_path: Path, config: object) -> None:
    _write(tmp_path, config)
    assert read_defaults(tmp_path) == OPENAI
