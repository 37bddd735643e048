"""Runs whole models on sanitized kernels: `python exercise_cuda_kernels.py SANITIZER MODEL`.

A process of its own, since a sanitizer's run-time library must be loaded before the interpreter.
"""

from __future__ import annotations

import ctypes
import sys
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from app.checkpoint.reader import Checkpoint
from app.checkpoint.schemes import QuantScheme, ScaleDtype, Scheme
from app.engine.executors.base import SequenceChunk
from app.engine.executors.cuda.executor import CudaExecutor
from app.engine.executors.cuda.launcher import Buffer, aligned_bytes
from app.engine.request import SamplingParams
from app.engine.sampling import Sampler
from app.spec.registry import create_spec
from kernels.cuda.source import SOURCE_DIR, ModuleSource
from tests.kernels.cuda_host import HostModule, Sanitizer, build_host_module
from tests.kernels.host_launcher import HostLauncher
from tests.random_checkpoints import write_random

CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 128,
    "intermediate_size": 160,
    "num_hidden_layers": 1,
    "num_attention_heads": 3,
    "num_key_value_heads": 1,
    "head_dim": 40,
    "vocab_size": 150,
    "max_position_embeddings": 512,
    "rms_norm_eps": 1e-5,
    "rope_theta": 1e4,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
EXPERTS = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "model_type": "qwen3_moe",
    "moe_intermediate_size": 64,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "norm_topk_prob": True,
}
LATENT = {
    "architectures": ["DeepseekV3ForCausalLM"],
    "model_type": "deepseek_v3",
    "num_key_value_heads": 3,
    "head_dim": 8,
    "kv_lora_rank": 96,
    "q_lora_rank": 48,
    "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 8,
    "v_head_dim": 24,
    "n_routed_experts": 8,
    "n_shared_experts": 1,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 64,
    "first_k_dense_replace": 0,
    "n_group": 4,
    "topk_group": 2,
    "norm_topk_prob": True,
    "routed_scaling_factor": 2.5,
}
HYBRID = {
    "architectures": ["Qwen3_5ForCausalLM"],
    "model_type": "qwen3_5_text",
    "num_hidden_layers": 2,
    "layer_types": ["linear_attention", "full_attention"],
    "head_dim": 32,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 24,
    "linear_value_head_dim": 40,
    "linear_conv_kernel_dim": 4,
    "rope_parameters": {
        "rope_type": "default",
        "rope_theta": 1e4,
        "partial_rotary_factor": 0.25,
    },
}
MODELS: dict[str, tuple[dict[str, Any], QuantScheme, str]] = {
    "w4": (CONFIG, QuantScheme(4, 128, Scheme.SYM, ScaleDtype.FP16), "fp16"),
    "k-quant": (CONFIG, QuantScheme(4, 32, Scheme.AFFINE, ScaleDtype.TWO_LEVEL), "int8"),
    "latent": ({**CONFIG, **LATENT}, QuantScheme(4, 32, Scheme.SYM, ScaleDtype.FP16), "int8"),
    "hybrid": ({**CONFIG, **HYBRID}, QuantScheme(8, 32, Scheme.SYM, ScaleDtype.FP16), "fp16"),
    "experts": ({**CONFIG, **EXPERTS}, QuantScheme(3, 128, Scheme.SYM, ScaleDtype.FP16), "fp16"),
}


class SanitizedLauncher(HostLauncher):
    """Kernels with a sanitizer; memory from malloc, between whose blocks it watches."""

    def __init__(self, sanitizer: Sanitizer) -> None:
        super().__init__()
        self._libc = ctypes.CDLL(None)
        self._libc.calloc.restype = ctypes.c_void_p
        self._libc.calloc.argtypes = (ctypes.c_size_t, ctypes.c_size_t)
        self._sanitizer = sanitizer
        self._build = cache(self._build_module)

    def allocate(self, num_bytes: int) -> Buffer:
        self.allocated_bytes += aligned_bytes(num_bytes)
        return Buffer(self._libc.calloc(max(num_bytes, 1), 1), num_bytes)

    def allocate_host(self, num_bytes: int) -> Buffer:
        return Buffer(self._libc.calloc(max(num_bytes, 1), 1), num_bytes, is_on_host=True)

    def module(self, source: ModuleSource) -> HostModule:
        return self._build(source)

    def _build_module(self, source: ModuleSource) -> HostModule:
        return build_host_module(SOURCE_DIR / source.file, source.macros, self._sanitizer)


def main(sanitizer: Sanitizer, name: str) -> None:
    """A prompt of two chunks, a batch, greedy tokens and drawn ones."""
    config, quant, kv_dtype = MODELS[name]
    spec = create_spec(config)
    with TemporaryDirectory() as folder:
        with Checkpoint.open(write_random(spec, config, Path(folder) / "x", quant)) as checkpoint:
            launcher = SanitizedLauncher(sanitizer)
            executor = CudaExecutor(checkpoint, spec, 300, 2, launcher=launcher, kv_dtype=kv_dtype)
        with closing(executor):
            run(executor)
    sys.stdout.write("done\n")


def run(executor: CudaExecutor) -> None:
    """Raises KernelFault for what a kernel does wrong."""
    ids = np.arange(70, dtype=np.int32)
    for slot in range(2):
        executor.step([SequenceChunk(slot, 0, ids[:33]), SequenceChunk(slot, 33, ids[:3])])
    vocab_size = executor.spec.vocab_size
    drawn = SamplingParams(temperature=0.8, top_k=5, top_p=0.9, repetition_penalty=1.1, seed=1)
    for position, params in enumerate((SamplingParams(temperature=0.0), drawn), start=36):
        samplers = [Sampler(params, [3, 4], vocab_size) for _ in range(2)]
        chunks = [SequenceChunk(slot, position, ids[slot : slot + 1]) for slot in range(2)]
        executor.sample(chunks, samplers)


if __name__ == "__main__":
    main(Sanitizer(sys.argv[1]), sys.argv[2])
