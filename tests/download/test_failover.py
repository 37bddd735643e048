"""Another hub takes over in the middle of a file, with the same bytes or not at all."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from app.cli.main import main
from app.core.errors import HubBusyError, HubSilentError
from app.core.paths import settings_path
from app.core.settings_store import SettingsStore
from app.download.file_plan import FilePlan
from app.download.places import CachePlace
from app.download.progress import Meter
from app.download.pull import PullResult, pull
from app.download.transfer import CHUNK_BYTES
from app.hub.client import HubClient
from tests.gguf_factory import TinyModel, to_gguf_tensors, write_gguf
from tests.hub.fake_hub import FakeHub

REPO, NAME = "org/name", "model.safetensors"
CONTENT = random.Random(5).randbytes(3_000_003)
_BUFFERED_BYTES = 1 << 18


@pytest.fixture
def hub(impatient: None) -> Iterator[FakeHub]:
    """The first one."""
    with FakeHub().running() as hub:
        hub.add(REPO, {NAME: CONTENT, "config.json": b"{}"})
        yield hub


@pytest.fixture
def mirror() -> Iterator[FakeHub]:
    """The one that stands in."""
    with FakeHub().running() as hub:
        hub.add(REPO, {NAME: CONTENT, "config.json": b"{}"})
        yield hub


def _pull(cache: Path, *hubs: FakeHub) -> tuple[PullResult, Meter]:
    first, *others = (HubClient(hub.endpoint, cache) for hub in hubs)
    repository = first.repository(REPO)
    plan = FilePlan("name", repository.files)
    meter = Meter(plan.num_bytes)
    place = CachePlace(first, repository)
    return pull(plan, place, meter, others=others), meter


def _break(hub: FakeHub, after: int) -> None:
    """It sends so many bytes of the large file, and then only errors."""
    hub.faults.cuts = [after]
    hub.faults.refusals = [None, *[(503, {})] * 20]


def test_a_mirror_goes_on_where_the_first_ended(
    hub: FakeHub, mirror: FakeHub, tmp_path: Path
) -> None:
    _break(hub, 1_500_000)
    result, meter = _pull(tmp_path, hub, mirror)
    path = next(file.path for file in result.files if file.name == NAME)
    assert path.read_bytes() == CONTENT
    (request,) = mirror.sent(NAME)
    assert request.start is not None
    assert 1_500_000 - CHUNK_BYTES - _BUFFERED_BYTES <= request.start <= 1_500_000
    assert f"{hub.endpoint} does not answer; {mirror.endpoint} goes on." in meter.read().note


def test_a_mirror_gets_no_token_of_the_first(
    hub: FakeHub, mirror: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
    monkeypatch.setenv("HF_TOKEN", "hf_ofTheFirstAlone")
    _break(hub, 1_500_000)
    _pull(tmp_path, hub, mirror)
    assert {r.authorization for r in hub.requests if r.host in hub.endpoint} == {
        "Bearer hf_ofTheFirstAlone"
    }
    assert {request.authorization for request in mirror.requests} == {None}


def test_a_mirror_with_other_bytes_is_refused(
    hub: FakeHub, mirror: FakeHub, tmp_path: Path
) -> None:
    mirror.repos[REPO][NAME].content = bytes(len(CONTENT))
    _break(hub, 1_000_000)
    with pytest.raises(HubSilentError, match="what has arrived is kept"):
        _pull(tmp_path, hub, mirror)
    assert mirror.sent(NAME) == []


def test_a_third_one_is_asked_where_the_second_is_of_no_use(
    hub: FakeHub, mirror: FakeHub, tmp_path: Path
) -> None:
    mirror.repos[REPO][NAME].content = bytes(len(CONTENT))
    _break(hub, 1_000_000)
    with FakeHub().running() as third:
        third.add(REPO, {NAME: CONTENT, "config.json": b"{}"})
        result, _ = _pull(tmp_path, hub, mirror, third)
        assert len(third.sent(NAME)) == 1
    digest = next(file.sha256 for file in result.files if file.name == NAME)
    assert digest == hashlib.sha256(CONTENT).hexdigest()


def test_a_busy_hub_is_left_for_another(hub: FakeHub, mirror: FakeHub, tmp_path: Path) -> None:
    hub.faults.refusals = [(429, {"Retry-After": "3600"})] * 5
    result, _ = _pull(tmp_path, hub, mirror)
    assert result.resumed_bytes == 0
    assert len(mirror.sent(NAME)) == 1


def test_a_busy_hub_without_another_is_waited_for(hub: FakeHub, tmp_path: Path) -> None:
    hub.faults.refusals = [(429, {"Retry-After": "1"})]
    _, meter = _pull(tmp_path, hub)
    assert "try again in 1 seconds" in meter.read().note


def test_a_hub_that_is_busy_for_an_hour_says_so(hub: FakeHub, tmp_path: Path) -> None:
    hub.faults.refusals = [(429, {"Retry-After": "3600"})]
    with pytest.raises(HubBusyError, match="try again in 3600 seconds"):
        _pull(tmp_path, hub)


def test_the_settings_mirror_answers_for_a_hub_that_is_not_there(
    hub: FakeHub,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    model = TinyModel()
    written = write_gguf(tmp_path / "t.gguf", model, to_gguf_tensors(model, model.weights()))
    hub.add("org/Tiny", {"Tiny-Q8_0.gguf": written.read_bytes()})
    SettingsStore(settings_path()).update(
        hub_endpoint="http://127.0.0.1:9", hub_mirrors=hub.endpoint
    )
    assert main(["pull", "org/Tiny", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["repo"] == "org/Tiny"
