"""Thoughts before an answer are a field of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openai import OpenAI

from app.engine.host import EngineHost
from app.server.options import ServerOptions
from app.server.runner import ServerRunner
from tests.server.conftest import create_client

# Ends within the thoughts unless it is told not to, as templates of thinking models do.
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "<|im_start|>assistant\n<think>\n{% if enable_thinking is false %}\n</think>\n\n{% endif %}"
)
OPTIONS: dict[str, Any] = {
    "model": "m",
    "messages": [{"role": "user", "content": "Name three colours."}],
    "temperature": 0,
    "max_tokens": 12,
}


@pytest.fixture(scope="module")
def thinker(starter_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenAI]:
    """The starter model with that template."""
    folder = tmp_path_factory.mktemp("thinker")
    for file in starter_checkpoint.iterdir():
        (folder / file.name).hardlink_to(file)
    (folder / "chat_template.jinja").unlink(missing_ok=True)
    (folder / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")
    with EngineHost() as host:
        host.load_and_wait(folder, "cpu", 256)
        runner = ServerRunner(host, ServerOptions(port=0))
        runner.start()
        with create_client(runner) as client:
            yield client
        runner.stop()


def test_thoughts_are_reasoning_content(thinker: OpenAI) -> None:
    message = thinker.chat.completions.create(**OPTIONS).choices[0].message.model_dump()
    assert message["reasoning_content"]
    assert message["content"] == ""
    chunks = list(thinker.chat.completions.create(stream=True, **OPTIONS))
    deltas = [chunk.choices[0].delta.model_dump() for chunk in chunks]
    streamed = "".join(delta.get("reasoning_content") or "" for delta in deltas)
    assert streamed == message["reasoning_content"]
    assert not any(delta["content"] for delta in deltas)


def test_a_variable_of_the_template_turns_them_off(thinker: OpenAI) -> None:
    options = {"extra_body": {"chat_template_kwargs": {"enable_thinking": False}}, **OPTIONS}
    message = thinker.chat.completions.create(**options).choices[0].message.model_dump()
    assert message["content"]
    assert "reasoning_content" not in message


def test_thoughts_are_an_item_of_a_response(thinker: OpenAI) -> None:
    chat = thinker.chat.completions.create(**OPTIONS).choices[0].message.model_dump()
    options: dict[str, Any] = {
        "model": "m",
        "input": OPTIONS["messages"],
        "temperature": 0,
        "max_output_tokens": OPTIONS["max_tokens"],
    }
    reply = thinker.responses.create(**options)
    (item,) = reply.output
    assert item.type == "reasoning"
    assert item.content
    assert item.content[0].text == chat["reasoning_content"]
    assert (item.status, reply.output_text) == ("incomplete", "")
    assert reply.usage
    assert reply.usage.output_tokens_details.reasoning_tokens == reply.usage.output_tokens
    with thinker.responses.stream(**options) as stream:
        deltas = [e.delta for e in stream if e.type == "response.reasoning_text.delta"]
    assert "".join(deltas) == chat["reasoning_content"]


def test_thoughts_that_come_back_are_the_turn_s_that_follows(thinker: OpenAI) -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "content": [
        {"type": "reasoning_text", "text": "Red."}
    ]}  # fmt: skip
    turn = {"role": "assistant", "content": "Blue."}
    question = OPTIONS["messages"]
    further = [{"role": "user", "content": "Why?"}]
    counts = [
        thinker.responses.create(
            model="m", input=[*question, *turns, *further], max_output_tokens=1
        ).usage
        for turns in ([thought, turn], [turn])
    ]
    assert counts[0]
    assert counts[1]
    assert (
        counts[0].input_tokens == counts[1].input_tokens
    )  # the template leaves earlier thoughts out
