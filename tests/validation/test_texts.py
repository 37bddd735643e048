"""Tokenizer, chat template and stop tokens: one fault at a time turns its own row red."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.core.validation_events import CheckStatus
from tests.validation_tools import detail, red, report_on, statuses, write_config, write_texts

TEMPLATE = (
    "<bos>{% for message in messages %}{{ message.role[0] }}:{{ message.content }}<eos>"
    "{% endfor %}{% if add_generation_prompt %}a:{% endif %}"
)
TEXT_ROWS = ("tokenizer", "chat_template", "stop_tokens")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """config.json and a tokenizer whose template ends turns with <eos>."""
    return write_texts(write_config(tmp_path, "llama"), chat_template=TEMPLATE)


def test_all_is_well(folder: Path) -> None:
    report = report_on(folder)
    assert red(report) == set()
    assert [statuses(report)[name] for name in TEXT_ROWS] == [CheckStatus.PASS] * 3
    prompts = {prompt.turns: prompt.text for prompt in report.prompts}
    assert prompts["user"] == "<bos>u:What is 2 + 2?<eos>a:"
    assert "4 of them compared with transformers'" in detail(report, "chat_template")


def test_a_template_with_double_bos(folder: Path) -> None:
    write_texts(folder, chat_template="<bos>" + TEMPLATE)
    report = report_on(folder)
    assert red(report) == {"chat_template"}
    assert "begins with bos twice" in detail(report, "chat_template")


def test_another_eos(folder: Path) -> None:
    """Both files agree on an id that no turn ends with."""
    for name in ("config.json", "generation_config.json"):
        config = json.loads((folder / name).read_text(encoding="utf-8"))
        (folder / name).write_text(json.dumps({**config, "eos_token_id": 50}), encoding="utf-8")
    tokenizer = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    del tokenizer["eos_token"]
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    report = report_on(folder)
    assert red(report) == {"stop_tokens"}
    assert "The template ends a reply with 2 '<eos>'" in detail(report, "stop_tokens")


def test_a_template_that_loses_the_system_turn(folder: Path) -> None:
    lossy = TEMPLATE.replace(
        "{{ message.role[0] }}:{{ message.content }}<eos>",
        "{% if message.role != 'system' %}{{ message.role[0] }}:{{ message.content }}<eos>"
        "{% endif %}",
    )
    write_texts(folder, chat_template=lossy)
    report = report_on(folder)
    assert red(report) == {"chat_template"}
    assert "the system turn is lost" in detail(report, "chat_template")


def test_a_template_that_refuses_the_user(folder: Path) -> None:
    write_texts(folder, chat_template="{{ raise_exception('no') }}")
    report = report_on(folder)
    assert "chat_template" in red(report)
    assert detail(report, "chat_template").startswith("The model's chat template refused")


def test_more_tokens_than_rows(tmp_path: Path) -> None:
    folder = write_texts(write_config(tmp_path, "llama", vocab_size=60), chat_template=TEMPLATE)
    report = report_on(folder)
    assert red(report) == {"tokenizer"}
    assert "97 tokens, the embedding only 60 rows" in detail(report, "tokenizer")
