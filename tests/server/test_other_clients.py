"""What clients of other programs (LM Studio, llama.cpp, Ollama) and monitors send."""

from __future__ import annotations

import gzip
import json
from typing import Any

import httpx2
import pytest

from tests.server.conftest import StartServer, create_http

CHAT = "/v1/chat/completions"
TURN = {"role": "user", "content": "Name a colour."}


@pytest.mark.parametrize("path", ["/", "/v1", "/health", "/v1/models", "/metrics"])
def test_head_is_get_without_a_body(http: httpx2.Client, path: str) -> None:
    told, asked = http.head(path), http.get(path)
    assert (told.status_code, told.content) == (200, b"")
    assert told.headers["content-type"] == asked.headers["content-type"]
    if path != "/metrics":  # whose figures change
        assert told.headers["content-length"] == str(len(asked.content))


def test_head_of_what_is_not_there(http: httpx2.Client) -> None:
    reply = http.head("/nowhere")
    assert (reply.status_code, reply.content) == (404, b"")


def test_who_opens_the_address_in_a_browser_is_told_what_it_is(http: httpx2.Client) -> None:
    assert "/v1" in http.get("/").text


def test_the_first_page_needs_no_key_and_gives_nothing_away(start_server: StartServer) -> None:
    with create_http(start_server(api_key="secret")) as http:
        assert http.get("/").status_code == 200
        assert http.head("/v1/models/").status_code == 401


def test_a_slash_at_the_end_changes_nothing(http: httpx2.Client) -> None:
    models = http.get("/v1/models").json()
    assert http.get("/v1/models/").json() == models
    name = models["data"][0]["id"]
    assert http.get(f"/v1/models/{name}/").json()["id"] == name
    body = {"messages": [TURN], "max_tokens": 1}
    assert http.post(f"{CHAT}/", json=body).status_code == 200


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_minus_one_is_no_limit(http: httpx2.Client, name: str) -> None:
    body = {"messages": [TURN], name: -1, "stop": [" ", "\n"], "temperature": 0}
    assert http.post(CHAT, json=body).json()["choices"][0]["finish_reason"] == "stop"


def test_minus_one_is_no_limit_of_a_completion_either(http: httpx2.Client) -> None:
    body = {"prompt": "1 2 3 4", "max_tokens": -1, "temperature": 0, "stop": [" 30"]}
    assert http.post("/v1/completions", json=body).json()["usage"]["completion_tokens"] > 16


def test_a_top_p_of_nothing_is_the_likeliest_token(http: httpx2.Client) -> None:
    def ask(**fields: Any) -> str:
        body = {"messages": [TURN], "max_tokens": 8, **fields}
        text: str = http.post(CHAT, json=body).json()["choices"][0]["message"]["content"]
        return text

    assert ask(top_p=0, temperature=2) == ask(temperature=0)


def test_the_other_name_of_the_repetition_penalty(http: httpx2.Client) -> None:
    def ask(**fields: Any) -> str:
        body = {"prompt": "a a a a a a", "max_tokens": 8, "temperature": 0, **fields}
        text: str = http.post("/v1/completions", json=body).json()["choices"][0]["text"]
        return text

    assert ask(repeat_penalty=5) == ask(repetition_penalty=5) != ask()


def test_a_compressed_body_is_refused_by_its_name(http: httpx2.Client) -> None:
    body = gzip.compress(json.dumps({"messages": [TURN]}).encode())
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    reply = http.post(CHAT, content=body, headers=headers)
    assert reply.status_code == 415
    assert "gzip" in reply.json()["error"]["message"]
