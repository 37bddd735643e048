"""Whether a chat template comes with a model is told before its weights, from two megabytes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import gguf
import numpy as np
import pytest
from huggingface_hub import constants

from app.download.file_plan import list_choices
from app.download.header_end import find_template, holds_template
from app.download.offer import MAX_HEAD_BYTES, Offer, Template, make_offers
from app.hub.client import HubClient
from app.spec.gguf_header import read_gguf_header_of
from tests.gguf_factory import TinyModel, to_gguf_tensors
from tests.hub.fake_hub import FakeHub
from tests.hub.small_config import small_config

REPO = "org/name"
TEMPLATE = "{% for message in messages %}{{ message.content }}{% endfor %}" * 20
VOCAB = 150_000


def _write(path: Path, template: str, *, vocab: int = VOCAB, scores: bool = False) -> Path:
    """In the order of llama.cpp's converter: sizes, tokens, types, merges, then the template."""
    model = TinyModel(vocab=64)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(4096)
    writer.add_embedding_length(model.hidden)
    writer.add_block_count(model.layers)
    writer.add_feed_forward_length(model.inner)
    writer.add_head_count(model.heads)
    writer.add_head_count_kv(model.kv_heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("llama" if scores else "gpt2")
    writer.add_token_list([f"token{number:06d}" for number in range(vocab)])
    if scores:
        writer.add_token_scores([-float(number) for number in range(vocab)])
    writer.add_token_types([1] * (vocab - 3) + [3, 3, 6])
    if not scores:
        writer.add_token_merges([f"mer{number} ge{number}" for number in range(vocab)])
    writer.add_eos_token_id(2)
    if template:
        writer.add_chat_template(template)
    for name, tensor in to_gguf_tensors(model, model.weights()).items():
        writer.add_tensor(name, tensor.astype(np.float32))
    writer.add_tensor("filler", np.random.default_rng(0).normal(size=(4, 1 << 20)).astype("f4"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """Without repositories."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with FakeHub().running() as hub:
        yield hub


def _offer(hub: FakeHub, cache: Path) -> Offer:
    client = HubClient(hub.endpoint, cache)
    repository = client.repository(REPO)
    return make_offers(client, repository, list_choices(repository))[0]


@pytest.mark.parametrize("scores", [False, True], ids=["merges", "scores"])
@pytest.mark.parametrize(
    ("template", "state"), [(TEMPLATE, Template.PRESENT), ("", Template.UNKNOWN)]
)
def test_behind_a_large_vocabulary_it_is_found_by_small_reads(
    hub: FakeHub, tmp_path: Path, template: str, state: Template, scores: bool
) -> None:
    path = _write(tmp_path / "m.gguf", template, scores=scores)
    first = min(tensor.offset for tensor in read_gguf_header_of(path).tensors)
    assert first > MAX_HEAD_BYTES, "the header is longer than what may be read"
    hub.add(REPO, {path.name: path})
    offer = _offer(hub, tmp_path / "cache")
    assert (offer.status, offer.template) == ("convert", state)
    assert sum(request.sent for request in hub.sent(".gguf")) <= MAX_HEAD_BYTES
    assert ("not known before the download" in offer.reason) is (state is Template.UNKNOWN)


@pytest.mark.parametrize(
    ("template", "state"), [(TEMPLATE, Template.PRESENT), ("", Template.MISSING)]
)
def test_a_header_that_is_read_whole_tells_for_sure(
    hub: FakeHub, tmp_path: Path, template: str, state: Template
) -> None:
    path = _write(tmp_path / "m.gguf", template, vocab=1000)
    hub.add(REPO, {path.name: path})
    offer = _offer(hub, tmp_path / "cache")
    assert offer.template is state
    assert len(hub.sent(".gguf")) == 1
    assert ("brings no chat template" in offer.reason) is (state is Template.MISSING)


def test_what_the_hub_has_read_itself_is_taken(hub: FakeHub, tmp_path: Path) -> None:
    path = _write(tmp_path / "m.gguf", "")
    hub.add(REPO, {path.name: path}, gguf={"architecture": "llama", "chat_template": TEMPLATE})
    assert _offer(hub, tmp_path / "cache").template is Template.PRESENT
    assert len(hub.sent(".gguf")) == 1


def test_a_server_without_ranges_leaves_it_open(hub: FakeHub, tmp_path: Path) -> None:
    path = _write(tmp_path / "m.gguf", TEMPLATE)
    hub.add(REPO, {path.name: path})
    hub.faults.is_deaf = True
    offer = _offer(hub, tmp_path / "cache")
    assert (offer.status, offer.template) == ("convert", Template.UNKNOWN)


@pytest.mark.parametrize(
    ("files", "state"),
    [
        ({"chat_template.jinja": TEMPLATE}, Template.PRESENT),
        ({"tokenizer_config.json": json.dumps({"chat_template": TEMPLATE})}, Template.PRESENT),
        ({"tokenizer_config.json": "{}"}, Template.MISSING),
        ({}, Template.MISSING),
    ],
)
def test_of_a_folder(hub: FakeHub, tmp_path: Path, files: dict[str, str], state: Template) -> None:
    texts = {name: text.encode() for name, text in files.items()}
    hub.add(REPO, texts | {"config.json": small_config(), "model.safetensors": b"weights"})
    offer = _offer(hub, tmp_path / "cache")
    assert offer.template is state
    assert hub.sent("model.safetensors") == []


def test_only_a_key_with_a_text_behind_it_counts() -> None:
    key = b"\x17\0\0\0\0\0\0\0tokenizer.chat_template"
    assert holds_template(b"x" * 100 + key + b"\x08\0\0\0\x05\0\0\0\0\0\0\0hello")
    assert not holds_template(key + b"\x08\0\0\0" + bytes(8))
    assert not holds_template(b"a token called tokenizer.chat_template, and more text")


def test_weights_that_look_like_nothing_end_the_search(tmp_path: Path) -> None:
    content = np.random.default_rng(1).bytes(1 << 20)
    assert not find_template(lambda start, stop: content[start:stop], 100_000, len(content))
