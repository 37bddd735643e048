"""One run of llama.cpp; started by the interpreter that has `llama-cpp-python`, prints JSON.

Needs nothing of this project, so that the two never share an environment.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import random
import sys
import time
from importlib import import_module
from pathlib import Path

_BATCH = 512  # llama.cpp's own default
_WARM_UP_TOKENS = 16  # after loading, before the first figure


class _Model:
    """A context with an empty cache."""

    def __init__(self, path: str, num_threads: int, context_len: int) -> None:
        self._api = api = import_module("llama_cpp")
        self._no_log = api.llama_log_callback(lambda level, text, data: None)
        api.llama_log_set(self._no_log, ctypes.c_void_p(0))
        api.llama_backend_init()
        options = api.llama_model_default_params()
        self._model = api.llama_model_load_from_file(path.encode(), options)
        shape = api.llama_context_default_params()
        shape.n_ctx = context_len
        shape.n_batch = shape.n_ubatch = _BATCH
        shape.n_threads = shape.n_threads_batch = num_threads
        self._context = api.llama_init_from_model(self._model, shape)
        vocab = api.llama_model_get_vocab(self._model)
        self.vocab_size: int = api.llama_vocab_n_tokens(vocab)

    def run(self, token_ids: list[int]) -> None:
        """Appends tokens to the sequence."""
        for start in range(0, len(token_ids), _BATCH):
            piece = token_ids[start : start + _BATCH]
            array = (self._api.llama_token * len(piece))(*piece)
            batch = self._api.llama_batch_get_one(array, len(piece))
            if self._api.llama_decode(self._context, batch) != 0:
                raise RuntimeError("llama_decode failed")

    def clear(self) -> None:
        """Empties the cache."""
        self._api.llama_memory_clear(self._api.llama_get_memory(self._context), True)


def measure(
    path: str, num_threads: int, num_prompt: int, num_generated: int, num_further: int
) -> dict[str, float]:
    """Seconds, tokens per second, bytes."""
    started = time.perf_counter()
    model = _Model(
        path, num_threads, num_prompt + num_further + 2 * num_generated + _WARM_UP_TOKENS
    )
    model.run([1])
    load_s = time.perf_counter() - started
    rss_bytes = _memory_bytes("VmRSS")
    _time_decode(model, _WARM_UP_TOKENS)
    model.clear()
    rng = random.Random(0)
    prompt = [rng.randrange(model.vocab_size) for _ in range(num_prompt + num_further)]
    decode_short_tok_s = num_generated / _time_decode(model, num_generated)
    model.clear()
    started = time.perf_counter()
    model.run(prompt[:num_prompt])
    prefill_tok_s = num_prompt / (time.perf_counter() - started)
    model.run(prompt[num_prompt:])
    return {
        "load_s": load_s,
        "rss_bytes": rss_bytes,
        "prefill_tok_s": prefill_tok_s,
        "decode_tok_s": decode_short_tok_s,
        "decode_long_tok_s": num_generated / _time_decode(model, num_generated),
        "peak_rss_bytes": _memory_bytes("VmHWM"),
    }


def _time_decode(model: _Model, num_generated: int) -> float:
    started = time.perf_counter()
    for index in range(num_generated):
        model.run([1 + index])
    return time.perf_counter() - started


def _memory_bytes(field: str) -> float:
    """VmRSS or VmHWM of this process; `ru_maxrss` would be the parent's where that was larger."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(float(line.split()[1]) * 1024 for line in lines if line.startswith(field))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", help="a GGUF")
    for name in ("num_threads", "num_prompt", "num_generated", "num_further"):
        parser.add_argument(name, type=int)
    sys.stdout.write(json.dumps(measure(**vars(parser.parse_args()))))
