"""A repository's config.json through huggingface_hub, from a hub on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hub.fake_hub import COMMIT, FakeHub
from tests.hub.pulling import run
from tests.validation_tools import write_config

REPOSITORY = "someone/tiny-qwen"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[FakeHub]:
    """config.json of a tiny Qwen3, and weights that nobody asks for."""
    folder = write_config(tmp_path / "published", "qwen3", head_dim=16)
    config = (folder / "config.json").read_bytes()
    with FakeHub().running() as hub:
        hub.add(REPOSITORY, {"config.json": config, "model.safetensors": b"weights"})
        yield hub


def test_config_json_is_enough(hub: FakeHub, tmp_path: Path) -> None:
    ran = run(hub, tmp_path / "hf", "validate", REPOSITORY, "--json")
    assert ran.returncode == 0, ran.stderr
    document = json.loads(ran.stdout)
    rows = {check["name"]: check for check in document["checks"]}
    passed = {name for name, check in rows.items() if check["status"] == "pass"}
    assert {"recognised", "differences_model", "smoke_one_layer", "smoke_two_layers"} <= passed
    assert rows["weights"]["detail"] == "only config.json was given."
    assert "fail" not in {check["status"] for check in rows.values()}
    assert document["report"]["name"] == "tiny-qwen"
    asked = {request.path for request in hub.requests}
    assert asked == {
        f"/api/models/{REPOSITORY}/revision/main",
        f"/{REPOSITORY}/resolve/{COMMIT}/config.json",
    }


def test_a_repository_that_is_not_there(hub: FakeHub, tmp_path: Path) -> None:
    ran = run(hub, tmp_path / "hf", "validate", "someone/nothing", "--json")
    assert ran.returncode == 1
    last = ran.stderr.rstrip().splitlines()[-1]
    assert last == (
        "deepinfer: The hub has no repository someone/nothing, or this token may not "
        f"see it ({hub.endpoint}/someone/nothing)."
    )


def test_a_hub_that_is_not_there_is_one_sentence_and_no_other_line(
    hub: FakeHub, tmp_path: Path
) -> None:
    hub.endpoint = "http://127.0.0.1:9"
    ran = run(hub, tmp_path / "hf", "validate", REPOSITORY, "--json")
    assert ran.returncode == 1
    (line,) = ran.stderr.splitlines()
    assert line.startswith("deepinfer: The hub did not answer for the list of files at main")
    assert "check the connection or the address of the hub" in line
