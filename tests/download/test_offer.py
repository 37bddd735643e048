"""The verdict and the fit, from two megabytes of a file of any size."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from app.converter.sources.hf_folder import read_json
from app.core.errors import InvalidSourceError
from app.download.file_plan import choose, list_choices
from app.download.offer import MAX_HEAD_BYTES, Offer, make_offers
from app.engine.fit import fit_machine
from app.hub.client import HubClient
from app.spec.gguf_header import read_gguf_header_of
from app.spec.registry import create_spec
from tests.gguf_factory import TinyModel, to_gguf_tensors, write_gguf
from tests.hub.fake_hub import FakeHub
from tests.validation_tools import write_config

REPO = "org/name"
_HUGE_BYTES = 5 << 30


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """Without repositories."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with FakeHub().running() as hub:
        yield hub


def _offer(hub: FakeHub, cache: Path, wanted: str = "") -> tuple[Offer, ...]:
    client = HubClient(hub.endpoint, cache)
    repository = client.repository(REPO)
    plans = (choose(repository, wanted),) if wanted else list_choices(repository)
    return make_offers(client, repository, plans)


def _write(path: Path, vocab: int, **changes: int) -> Path:
    model = TinyModel(vocab=vocab, hidden=32, heads=2, kv_heads=1, **changes)
    return write_gguf(path, model, to_gguf_tensors(model, model.weights()))


@pytest.fixture(scope="module")
def huge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """5 GiB, sparse; the header alone is longer than what may be read."""
    path = _write(tmp_path_factory.mktemp("huge") / "Huge-Q8_0.gguf", 140_000)
    header = read_gguf_header_of(path)
    assert min(tensor.offset for tensor in header.tensors) > MAX_HEAD_BYTES
    with path.open("r+b") as stream:
        stream.truncate(_HUGE_BYTES)
    return path


def test_two_megabytes_of_a_huge_file_tell(hub: FakeHub, huge: Path, tmp_path: Path) -> None:
    hub.add(REPO, {huge.name: huge})
    (offer,) = _offer(hub, tmp_path)
    assert (offer.status, offer.architecture) == ("convert", "LlamaForCausalLM")
    assert sum(request.sent for request in hub.sent(".gguf")) <= 2_000_000
    assert offer.row is not None
    assert (offer.row.grid, offer.row.weights_bytes) == ("exact", _HUGE_BYTES)
    # Two layers, one head of 16, keys and values of two bytes.
    assert offer.row.kv_bytes_per_token in (2 * 16 * 2 * 2, 2 * 16 * 2 * 4)


def test_a_deaf_server_is_hung_up_on(hub: FakeHub, huge: Path, tmp_path: Path) -> None:
    hub.add(REPO, {huge.name: huge})
    hub.faults.is_deaf = True
    (offer,) = _offer(hub, tmp_path)
    assert offer.status == "convert"
    # What the buffers of both ends held when the connection was closed.
    assert sum(request.sent for request in hub.sent(".gguf")) < 32 << 20


def test_all_quantizations_cost_one_look(hub: FakeHub, tmp_path: Path) -> None:
    small = _write(tmp_path / "small.gguf", 288).read_bytes()
    hub.add(REPO, {"M-Q4_0.gguf": small, "M-Q8_0.gguf": small + bytes(1 << 20)})
    first, second = _offer(hub, tmp_path)
    assert len(hub.sent(".gguf")) == 1
    assert first.row is not None
    assert second.row is not None
    assert second.row.weights_bytes - first.row.weights_bytes == 1 << 20


def test_a_dense_folder_gets_the_fit_of_its_config(hub: FakeHub, tmp_path: Path) -> None:
    folder = write_config(tmp_path / "source", "qwen3", head_dim=16)
    config = (folder / "config.json").read_bytes()
    hub.add(REPO, {"config.json": config, "model.safetensors": b"weights"})
    (offer,) = _offer(hub, tmp_path / "cache")
    expected = fit_machine(create_spec(read_json(folder / "config.json")), None)
    assert offer.fit is not None
    assert offer.row is not None
    assert offer.row.grid == "w4"
    assert [row.weights_bytes for row in offer.fit.rows] == [
        row.weights_bytes for row in expected.rows
    ]
    assert hub.sent("model.safetensors") == []


@pytest.mark.parametrize(
    ("sidecar", "reason"),
    [
        ({"quant_method": "exl3"}, "org/name: the quantization method exl3"),
        ({"quant_method": "gptq", "bits": 4}, ""),
    ],
)
def test_the_quantization_is_judged(
    hub: FakeHub, tmp_path: Path, sidecar: dict[str, object], reason: str
) -> None:
    config = json.loads((write_config(tmp_path, "qwen3", head_dim=16) / "config.json").read_text())
    config["quantization_config"] = sidecar
    files = {"config.json": json.dumps(config).encode(), "model.safetensors": b"weights"}
    hub.add(REPO, files)
    (offer,) = _offer(hub, tmp_path / "cache")
    assert offer.status == ("refused" if reason else "convert")
    assert offer.reason.startswith(reason)
    if not reason:
        assert offer.row is not None
        assert offer.row.grid == "exact"


def test_a_gguf_of_an_unknown_architecture_is_refused(hub: FakeHub, tmp_path: Path) -> None:
    content = _write(tmp_path / "m.gguf", 288).read_bytes().replace(b"llama", b"lxmxa")
    hub.add(REPO, {"m.gguf": content})
    (offer,) = _offer(hub, tmp_path)
    assert (offer.status, offer.fit) == ("refused", None)
    assert offer.reason == "m.gguf: the architecture 'lxmxa' is not supported."


def test_what_is_no_gguf_is_said(hub: FakeHub, tmp_path: Path) -> None:
    hub.add(REPO, {"m.gguf": b"<html>Please log in</html>"})
    with pytest.raises(InvalidSourceError, match="not a GGUF file"):
        _offer(hub, tmp_path)
