"""Completions, models, embeddings, health and metrics."""

from __future__ import annotations

import re
from typing import Any

import httpx2
import openai
import pytest
from openai import OpenAI

from app import __version__
from tests.server.waiting import wait_until

GREEDY: dict[str, Any] = {"model": "m", "temperature": 0, "max_tokens": 8}


def test_a_text_goes_on(client: OpenAI) -> None:
    reply = client.completions.create(prompt="The capital of France is", **GREEDY)
    assert "Paris" in reply.choices[0].text
    assert reply.object == "text_completion"
    assert reply.usage
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (5, 8)


def test_echo_stands_before_the_reply(client: OpenAI) -> None:
    prompt = "The capital of France is"
    plain = client.completions.create(prompt=prompt, **GREEDY).choices[0].text
    assert client.completions.create(prompt=prompt, echo=True, **GREEDY).choices[0].text == (
        prompt + plain
    )
    chunks = client.completions.create(prompt=prompt, echo=True, stream=True, **GREEDY)
    assert "".join(chunk.choices[0].text for chunk in chunks) == prompt + plain


def test_many_prompts_have_many_replies_in_order(client: OpenAI) -> None:
    prompts = ["One, two,", "Monday, Tuesday,"]
    alone = [client.completions.create(prompt=p, **GREEDY).choices[0].text for p in prompts]
    reply = client.completions.create(prompt=prompts, n=2, **GREEDY)
    assert [choice.text for choice in reply.choices] == [alone[0]] * 2 + [alone[1]] * 2
    assert [choice.index for choice in reply.choices] == [0, 1, 2, 3]


def test_token_ids_are_taken_as_they_are(client: OpenAI) -> None:
    reply = client.completions.create(prompt=[504, 3575, 282, 4649, 314], **GREEDY)
    assert "Paris" in reply.choices[0].text


def test_logprobs_have_offsets_into_the_text(client: OpenAI) -> None:
    (choice,) = client.completions.create(prompt="One, two,", logprobs=2, **GREEDY).choices
    logprobs = choice.logprobs
    assert logprobs
    assert "".join(logprobs.tokens or ()) == choice.text
    assert logprobs.text_offset == [
        len("".join((logprobs.tokens or [])[:i])) for i in range(len(logprobs.tokens or ()))
    ]
    assert all(len(top) in (2, 3) for top in logprobs.top_logprobs or ())


def test_without_a_limit_sixteen_tokens_come(client: OpenAI) -> None:
    reply = client.completions.create(
        model="m", prompt="One, two,", extra_body={"ignore_eos": True}
    )
    assert reply.usage
    assert reply.usage.completion_tokens == 16


@pytest.mark.parametrize(
    ("options", "param"),
    [
        ({"suffix": "x"}, "suffix"),
        ({"best_of": 3}, "best_of"),
        ({"n": 8, "prompt": ["a"] * 9}, "n"),
    ],
)
def test_what_is_not_done_is_said(client: OpenAI, options: dict[str, Any], param: str) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.completions.create(**{"prompt": "a", **GREEDY, **options})
    assert caught.value.param == param


def test_the_loaded_model_is_listed(client: OpenAI) -> None:
    (card,) = client.models.list().data
    assert card.id == "SmolLM2-135M-Instruct"
    assert client.models.retrieve(card.id) == card
    with pytest.raises(openai.NotFoundError, match="SmolLM2") as caught:
        client.models.retrieve("meta/other")
    assert caught.value.code == "model_not_found"


def test_a_model_that_writes_makes_no_embeddings(client: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="makes no embeddings"):
        client.embeddings.create(model="m", input="a")


def test_health_names_the_model(http: httpx2.Client) -> None:
    reply = http.get("/health")
    assert (reply.status_code, reply.json()) == (
        200,
        {"status": "ready", "model": "SmolLM2-135M-Instruct"},
    )


def test_metrics_count_what_was_done(client: OpenAI, http: httpx2.Client) -> None:
    before = _read_metrics(http)
    client.completions.create(prompt="A text that nobody has sent before", **GREEDY)
    tokens = "deepinfer_generation_tokens_total"
    wait_until(lambda: _read_metrics(http)[tokens] == before[tokens] + 8)
    after = _read_metrics(http)
    ended = 'deepinfer_http_requests_total{path="/v1/completions",status="200"}'
    assert after[ended] == before.get(ended, 0) + 1
    count = "deepinfer_time_to_first_token_seconds_count"
    assert after[count] == before[count] + 1
    assert after['deepinfer_time_to_first_token_seconds_bucket{le="+Inf"}'] == after[count]
    assert after["deepinfer_kv_pages"] > 0


def _read_metrics(http: httpx2.Client) -> dict[str, float]:
    """Every line is a comment or a name and a number."""
    reply = http.get("/metrics")
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = [line for line in reply.text.splitlines() if not line.startswith("# ")]
    assert all(re.fullmatch(r"[a-z_]+(\{[^{}]*\})? [-+.\deinf]+", line) for line in lines)
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_the_document_declares_errors_as_they_are(http: httpx2.Client) -> None:
    document = http.get("/openapi.json").json()
    assert document["info"]["version"] == __version__
    operation = document["paths"]["/v1/chat/completions"]["post"]
    assert "422" not in operation["responses"]
    assert "text/event-stream" in operation["responses"]["200"]["content"]
