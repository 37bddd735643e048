"""Chat completions through OpenAI's client: what is asked for is what comes back."""

from __future__ import annotations

import json
import math
from typing import Any

import jsonschema
import pytest
from openai import OpenAI

MESSAGES: Any = [{"role": "user", "content": "Name three colours."}]
GREEDY: dict[str, Any] = {"model": "gpt-4o", "temperature": 0, "max_tokens": 24}
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 20},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2},
    },
    "required": ["name", "age", "tags"],
    "additionalProperties": False,
}


def _stream(client: OpenAI, **options: Any) -> list[Any]:
    return list(client.chat.completions.create(messages=MESSAGES, stream=True, **options))


def test_a_reply_names_the_model_and_counts_its_tokens(client: OpenAI) -> None:
    reply = client.chat.completions.create(messages=MESSAGES, **GREEDY)
    (choice,) = reply.choices
    assert (reply.object, reply.model) == ("chat.completion", "SmolLM2-135M-Instruct")
    assert (choice.message.role, choice.finish_reason) == ("assistant", "length")
    assert choice.message.content
    assert reply.usage
    assert reply.usage.completion_tokens == 24
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + 24
    assert reply.usage.prompt_tokens > len(["Name", "three", "colours."])


def test_a_stream_adds_up_to_the_whole_reply(client: OpenAI) -> None:
    whole = client.chat.completions.create(messages=MESSAGES, **GREEDY)
    chunks = _stream(client, **GREEDY)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text == whole.choices[0].message.content
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [c.choices[0].finish_reason for c in chunks][-1] == "length"
    assert {c.choices[0].finish_reason for c in chunks[:-1]} == {None}
    assert len({chunk.id for chunk in chunks}) == 1
    assert all(chunk.object == "chat.completion.chunk" for chunk in chunks)
    assert all(chunk.usage is None for chunk in chunks)


def test_usage_in_a_stream_is_its_last_chunk(client: OpenAI) -> None:
    whole = client.chat.completions.create(messages=MESSAGES, **GREEDY)
    *chunks, last = _stream(client, stream_options={"include_usage": True}, **GREEDY)
    assert last.choices == []
    assert whole.usage
    assert last.usage.prompt_tokens == whole.usage.prompt_tokens
    assert last.usage.completion_tokens == 24
    assert all(chunk.usage is None and chunk.choices for chunk in chunks)


def test_a_seed_gives_the_same_text_and_another_one_another(client: OpenAI) -> None:
    def ask(seed: int) -> str | None:
        reply = client.chat.completions.create(
            messages=MESSAGES, model="m", temperature=1.5, seed=seed, max_tokens=16
        )
        return reply.choices[0].message.content

    assert ask(7) == ask(7)
    assert ask(7) != ask(8)
    assert ask(-1) == ask(-1)


def test_n_replies_differ_and_the_first_is_that_of_the_seed(client: OpenAI) -> None:
    options: dict[str, Any] = {"model": "m", "temperature": 1.5, "seed": 3, "max_tokens": 12}
    one = client.chat.completions.create(messages=MESSAGES, **options)
    four = client.chat.completions.create(messages=MESSAGES, n=4, **options)
    texts = [choice.message.content for choice in four.choices]
    assert [choice.index for choice in four.choices] == [0, 1, 2, 3]
    assert texts[0] == one.choices[0].message.content
    assert len(set(texts)) == 4
    assert one.usage
    assert four.usage
    assert four.usage.prompt_tokens == one.usage.prompt_tokens
    assert four.usage.completion_tokens == 48
    streamed = ["", "", "", ""]
    for chunk in _stream(client, n=4, **options):
        streamed[chunk.choices[0].index] += chunk.choices[0].delta.content or ""
    assert streamed == texts


@pytest.mark.parametrize("as_list", [True, False])
def test_a_stop_string_ends_the_reply_and_is_not_shown(client: OpenAI, as_list: bool) -> None:
    whole = client.chat.completions.create(messages=MESSAGES, **GREEDY).choices[0].message.content
    assert whole
    word = whole.split()[3]
    reply = client.chat.completions.create(
        messages=MESSAGES, stop=["@@@", word] if as_list else word, **GREEDY
    )
    assert reply.choices[0].finish_reason == "stop"
    assert reply.choices[0].message.content == whole[: whole.index(word)]


def test_logprobs_are_those_of_the_tokens_of_the_text(client: OpenAI) -> None:
    reply = client.chat.completions.create(
        messages=MESSAGES, logprobs=True, top_logprobs=3, **GREEDY
    )
    assert reply.choices[0].logprobs
    entries = reply.choices[0].logprobs.content
    assert entries is not None
    assert len(entries) == 24
    text = b"".join(bytes(entry.bytes or ()) for entry in entries)
    assert text.decode() == reply.choices[0].message.content
    for entry in entries:
        ranked = [top.logprob for top in entry.top_logprobs]
        assert ranked == sorted(ranked, reverse=True)
        assert entry.logprob == ranked[0]  # greedy
        assert sum(map(math.exp, ranked)) <= 1.0


def test_logprobs_of_a_stream_are_those_of_the_whole_reply(client: OpenAI) -> None:
    options = {**GREEDY, "logprobs": True, "top_logprobs": 1}
    whole = client.chat.completions.create(messages=MESSAGES, **options)
    assert whole.choices[0].logprobs
    chunks = _stream(client, **options)
    streamed = [
        entry
        for chunk in chunks
        if chunk.choices[0].logprobs
        for entry in chunk.choices[0].logprobs.content
    ]
    assert streamed == whole.choices[0].logprobs.content


def test_a_json_schema_holds(client: OpenAI) -> None:
    reply = client.chat.completions.create(
        model="m",
        messages=[{"role": "user", "content": "Describe a person as JSON."}],
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "person", "schema": PERSON, "strict": True},
        },
        temperature=1,
        seed=1,
        max_tokens=200,
    )
    assert reply.choices[0].finish_reason == "stop"
    jsonschema.validate(json.loads(reply.choices[0].message.content or ""), PERSON)


def test_a_json_object_is_one(client: OpenAI) -> None:
    reply = client.chat.completions.create(
        model="m",
        messages=[{"role": "user", "content": 'Say {"colour": "red"} and nothing else.'}],
        response_format={"type": "json_object"},
        temperature=0,
        max_tokens=100,
    )
    assert reply.choices[0].finish_reason == "stop"
    assert isinstance(json.loads(reply.choices[0].message.content or ""), dict)


def test_both_names_of_the_limit_count_and_the_newer_one_wins(client: OpenAI) -> None:
    reply = client.chat.completions.create(
        messages=MESSAGES, model="m", temperature=0, max_tokens=9, max_completion_tokens=5
    )
    assert reply.usage
    assert reply.usage.completion_tokens == 5


def test_parts_of_text_are_read_as_one_text(client: OpenAI) -> None:
    def ask(content: Any) -> str | None:
        messages: Any = [{"role": "user", "content": content}]
        reply = client.chat.completions.create(messages=messages, **GREEDY)
        return reply.choices[0].message.content

    parts = [{"type": "text", "text": "Name three"}, {"type": "text", "text": "colours."}]
    assert ask(parts) == ask("Name three\ncolours.")


def test_words_of_vllm_and_unknown_ones_are_taken(client: OpenAI) -> None:
    reply = client.chat.completions.create(
        messages=MESSAGES,
        **{**GREEDY, "temperature": 2, "max_tokens": 40},
        extra_body={
            "top_k": 1,
            "ignore_eos": True,
            "min_p": 0.1,
            "repetition_penalty": 1.0,
            "chat_template_kwargs": {"enable_thinking": False},
            "nobody_knows_this": {"a": 1},
        },
        metadata={"a": "b"},
        user="me",
    )
    greedy = client.chat.completions.create(
        messages=MESSAGES,
        **{**GREEDY, "max_tokens": 40},
        extra_body={"ignore_eos": True, "top_k": -1},
    )
    assert reply.choices[0].message.content == greedy.choices[0].message.content
    assert reply.usage
    assert reply.usage.completion_tokens == 40


def test_a_second_turn_finds_the_first_in_the_cache(client: OpenAI) -> None:
    prompt: Any = [{"role": "user", "content": "Tell me about a river, a hill and a town. " * 12}]
    first = client.chat.completions.create(messages=prompt, **GREEDY)
    assert first.usage
    second = client.chat.completions.create(
        messages=[
            *prompt,
            {"role": "assistant", "content": first.choices[0].message.content},
            {"role": "user", "content": "Go on."},
        ],
        **GREEDY,
    )
    assert second.usage
    assert second.usage.prompt_tokens_details
    assert (second.usage.prompt_tokens_details.cached_tokens or 0) >= first.usage.prompt_tokens - 1


def test_a_reply_goes_on_where_it_ended(client: OpenAI) -> None:
    whole = client.chat.completions.create(messages=MESSAGES, **GREEDY).choices[0].message.content
    assert whole
    begun = " ".join(whole.split(" ")[:6])
    reply = client.chat.completions.create(
        messages=[*MESSAGES, {"role": "assistant", "content": begun}],
        **{**GREEDY, "max_tokens": 8},
        extra_body={"continue_final_message": True},
    )
    assert reply.choices[0].message.content
    assert whole.startswith(begun + reply.choices[0].message.content)
