"""Words find repositories, however a hub compares them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from huggingface_hub import constants

from app.cli.main import main
from app.core.errors import HubBusyError, HubSilentError
from app.hub.client import HubClient
from app.hub.search import SearchHit, search
from tests.hub.fake_hub import FakeHub

GGUF = "Qwen/Qwen3-4B-GGUF"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """Three repositories; one is gated."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with FakeHub().running() as hub:
        hub.add(
            GGUF,
            {},
            downloads=500,
            likes=31,
            tags=["gguf", "license:apache-2.0"],
            lastModified="2025-05-21T10:00:00.000Z",
        )
        hub.add("Qwen/Qwen3-4B", {}, downloads=900, cardData={"license": "mit"})
        hub.add("meta/Gated-7B", {}, downloads=1, gated="manual")
        yield hub


def _names(hub: FakeHub, words: str) -> list[str]:
    return [hit.repo_id for hit in search(HubClient(hub.endpoint), words)]


def test_the_most_downloaded_come_first_with_their_facts(hub: FakeHub) -> None:
    first, second = search(HubClient(hub.endpoint), "qwen3")
    assert (first.repo_id, first.license, first.updated) == ("Qwen/Qwen3-4B", "mit", "")
    assert second == SearchHit(
        GGUF, 500, 31, "apache-2.0", False, "2025-05-21", ("gguf", "license:apache-2.0")
    )
    (gated,) = search(HubClient(hub.endpoint), "gated")
    assert gated.is_gated


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("qwen3-4b", ["Qwen/Qwen3-4B", GGUF]),
        ("qwen3 4b", ["Qwen/Qwen3-4B", GGUF]),  # with hyphens
        ("qwen 3 4b gguf", [GGUF]),  # the longest word, the tag, and the rest looked for here
        ("gguf qwen 4b", [GGUF]),
        ("qwen 70b gguf", []),
        ("nothing", []),
    ],
)
def test_words_in_any_spelling(hub: FakeHub, words: str, names: list[str]) -> None:
    assert _names(hub, words) == names
    assert len(hub.requests) <= 4


def test_a_hub_that_does_not_answer_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with pytest.raises(HubSilentError, match=r"did not answer .*127\.0\.0\.1:9"):
        search(HubClient("http://127.0.0.1:9"), "qwen3")


def test_a_busy_hub_says_when(hub: FakeHub) -> None:
    hub.faults.status["search"] = (429, {"Retry-After": "33"}, "slow down")
    with pytest.raises(HubBusyError, match="try again in 33 seconds"):
        search(HubClient(hub.endpoint), "qwen3")


def test_the_command_prints_a_table(hub: FakeHub, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "qwen3", "4b", "--endpoint", hub.endpoint]) == 0
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.split()[:2] == ["REPOSITORY", "DOWNLOADS"]
    assert first.split() == ["Qwen/Qwen3-4B", "900", "0", "mit"]
    assert second.split() == [GGUF, "500", "31", "apache-2.0", "2025-05-21"]


def test_the_command_prints_a_document(hub: FakeHub, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "gated", "--endpoint", hub.endpoint, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["endpoint"] == hub.endpoint
    (result,) = document["results"]
    assert (result["repo_id"], result["is_gated"]) == ("meta/Gated-7B", True)


def test_the_command_says_that_nothing_was_found(
    hub: FakeHub, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", "nothing", "--endpoint", hub.endpoint]) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == f"{hub.endpoint} has no model with these words in its name.\n"


def test_what_is_no_address_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "qwen", "--endpoint", "ftp://somewhere"]) == 2
    assert "'ftp://somewhere' is not the address of a hub" in capsys.readouterr().err
