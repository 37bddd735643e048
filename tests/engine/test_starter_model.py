"""The starter model against transformers on its decoded weights, and what an unload gives back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import psutil
import pytest

from app.engine.engine import Engine
from app.engine.executors.base import LogitsWanted, SequenceChunk
from app.engine.host import EngineHost
from app.engine.loader import LoadedEngine, load_engine
from app.engine.request import Message, Request, SamplingParams

QUESTION = Message("user", "Tell me a short story about a lighthouse keeper and his dog.")
NUM_TOKENS = 64
MIB = 1 << 20

_NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Measured beside other work: two threads that wait for each other took ten times as long."""
    import torch

    num_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(num_threads)


@pytest.fixture(scope="module")
def transformers_model(starter_gguf: Path) -> Any:
    """LlamaForCausalLM in float32 from the `gguf` package alone: none of this program's code."""
    import gguf
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    reader = gguf.GGUFReader(starter_gguf)

    def value(key: str) -> Any:
        return reader.fields[f"llama.{key}"].contents()

    num_heads, num_kv_heads = value("attention.head_count"), value("attention.head_count_kv")
    state = {}
    for tensor in reader.tensors:
        array = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        if ".attn_q." in tensor.name:
            array = _unpermute(array, num_heads)
        if ".attn_k." in tensor.name:
            array = _unpermute(array, num_kv_heads)
        state[_hugging_face_name(tensor.name)] = torch.from_numpy(array.astype(np.float32))
    config = LlamaConfig(
        vocab_size=len(state["model.embed_tokens.weight"]),
        hidden_size=value("embedding_length"),
        intermediate_size=value("feed_forward_length"),
        num_hidden_layers=value("block_count"),
        num_attention_heads=num_heads,
        num_key_value_heads=num_kv_heads,
        max_position_embeddings=value("context_length"),
        rms_norm_eps=value("attention.layer_norm_rms_epsilon"),
        rope_parameters={"rope_type": "default", "rope_theta": value("rope.freq_base")},
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=2,
    )
    model = LlamaForCausalLM(config)
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert missing == ["lm_head.weight"]  # tied
    assert not unexpected
    model.tie_weights()
    return model.eval()


def _hugging_face_name(name: str) -> str:
    parts = name.split(".")
    if parts[0] == "blk":
        return f"model.layers.{parts[1]}.{_NAMES[parts[2]]}.weight"
    return f"{_NAMES[parts[0]]}.weight"


def _unpermute(weight: npt.NDArray[np.float32], num_heads: int) -> npt.NDArray[np.float32]:
    """GGUF stores the rotary pairs of a head side by side, Hugging Face half a head apart."""
    rows, columns = weight.shape
    pairs = weight.reshape(num_heads, rows // num_heads // 2, 2, columns)
    return pairs.swapaxes(1, 2).reshape(rows, columns)


@pytest.fixture(scope="module")
def loaded(starter_checkpoint: Path) -> Iterator[LoadedEngine]:
    """The converted starter model in the reference executor."""
    loaded = load_engine(starter_checkpoint, "reference", max_model_len=1024)
    yield loaded
    loaded.close()


def _generate(engine: Engine, request: Request) -> list[int]:
    engine.add(request)
    token_ids: list[int] = []
    while engine.has_work:
        for event in engine.step():
            token_ids.extend(getattr(event, "token_ids", ()))
    return token_ids


def _prompt_ids(loaded: LoadedEngine) -> list[int]:
    tokenizer = loaded.tokenizer
    assert tokenizer.chat_template is not None
    return tokenizer.encode_chat(tokenizer.chat_template.render([QUESTION]))


def test_greedy_tokens_equal_transformers(loaded: LoadedEngine, transformers_model: Any) -> None:
    import torch

    prompt_ids = torch.tensor([_prompt_ids(loaded)])
    with torch.no_grad():
        want = transformers_model.generate(
            prompt_ids,
            attention_mask=torch.ones_like(prompt_ids),
            do_sample=False,
            max_new_tokens=NUM_TOKENS,
        )
    sampling = SamplingParams(temperature=0.0, max_tokens=NUM_TOKENS)
    got = _generate(loaded.engine, Request(messages=(QUESTION,), sampling=sampling))
    assert len(got) == NUM_TOKENS
    assert got == want[0, prompt_ids.shape[1] :].tolist()


def test_logits_equal_transformers(loaded: LoadedEngine, transformers_model: Any) -> None:
    import torch

    token_ids = np.array(_prompt_ids(loaded), dtype=np.int32)
    (got,) = loaded.executor.step([SequenceChunk(0, 0, token_ids, LogitsWanted.ALL)])
    with torch.no_grad():
        want = transformers_model(torch.from_numpy(token_ids[None].astype(np.int64))).logits[0]
    np.testing.assert_allclose(got, want.numpy(), rtol=0, atol=1e-3)


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_unload_gives_the_memory_back(starter_checkpoint: Path, device: str) -> None:
    request = Request(prompt="Hello", sampling=SamplingParams(temperature=0.0, max_tokens=2))

    def measure(host: EngineHost) -> tuple[int, int, int]:
        """RSS while the model is loaded and after, and the weights' size."""
        model = host.load_and_wait(starter_checkpoint, device=device, max_model_len=512)
        host.submit(request).result()
        while_loaded = psutil.Process().memory_info().rss
        host.unload().result()
        return while_loaded, psutil.Process().memory_info().rss, model.weights_bytes

    with EngineHost() as host:
        _, before, _ = measure(host)  # the first time, code and buffers for ever come in too
        while_loaded, after, weights_bytes = measure(host)
    assert while_loaded - before > 0.8 * weights_bytes
    assert after - before < 16 * MIB
