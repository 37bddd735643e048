"""sampling.cu alone: logits go in, tokens come out of the ring, by the launches of production."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from app.engine.executors.cuda.buffers import DeviceBuffers, KvLayout
from app.engine.executors.cuda.launcher import Launch, Launcher
from app.engine.executors.cuda.sampling_plan import SamplingPlanner
from app.engine.executors.cuda.step_state import DecodeRow
from app.engine.sampling import Sampler
from app.spec.registry import create_spec
from kernels.cuda.sampling import MAX_ROWS
from tests.kernels.host_launcher import HostLauncher

_CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-5,
    "max_position_embeddings": 512,
}
_BLOCK_ROWS = 32  # of the product that makes the logits


class SamplingDevice:
    """Draws for up to eight samplers, each in its own slot."""

    def __init__(self, vocab_size: int, launcher: Launcher | None = None) -> None:
        self.launcher = launcher or HostLauncher()
        spec = create_spec({**_CONFIG, "vocab_size": vocab_size})
        buffers = DeviceBuffers(self.launcher, spec, KvLayout(MAX_ROWS, 512, False))
        self.state, self.buffers = buffers.state, buffers
        planner = SamplingPlanner(vocab_size, buffers, self.launcher.num_multiprocessors)
        self._planner, self._vocab_size = planner, vocab_size
        self._rows: list[DecodeRow] = []
        self.sequence = 0

    def begin(self, samplers: Sequence[Sampler], num_padded: int | None = None) -> None:
        """Uploads what each draws next."""
        self._rows = [DecodeRow(slot, 0, 0, sampler) for slot, sampler in enumerate(samplers)]
        self._num_padded = num_padded or len(samplers)
        self.state.begin(self._rows, self._num_padded, self.sequence + 1)

    def draw(self, logits: npt.NDArray[np.float32], *, greedily: bool = False) -> list[int]:
        """One step of logits [padded rows, vocab_size]; the samplers are not told."""
        launches = self._begin_greedily(logits) if greedily else self._begin(logits)
        self.launcher.replay(self.launcher.capture(launches))
        self.sequence += 1
        self.launcher.wait_until(lambda: self.state.has_arrived(len(self._rows), self.sequence))
        return self.state.tokens(len(self._rows), self.sequence)

    def chunk_weights(self) -> npt.NDArray[np.uint64]:
        """[rows, chunks]: what the tokens of a chunk weighed in the last step, those at the floor
        apart."""
        sampling = self.buffers.sampling
        weights = np.empty((len(self._rows), sampling.num_chunks), np.uint64)
        self.launcher.download(sampling.chunk_weights, weights)
        return weights

    def _begin(self, logits: npt.NDArray[np.float32]) -> list[Launch]:
        self.launcher.upload(np.ascontiguousarray(logits), self.buffers.logits)
        return self._planner.plan(self._num_padded)

    def _begin_greedily(self, logits: npt.NDArray[np.float32]) -> list[Launch]:
        """What the product's epilogue leaves: of equals the first; what is no number stays."""
        num_blocks = -(-self._vocab_size // _BLOCK_ROWS)
        blocks = np.array_split(logits, np.arange(1, num_blocks) * _BLOCK_ROWS, axis=1)
        where = np.array([block.argmax(1) for block in blocks])
        greatest = np.array(
            [np.take_along_axis(b, w[:, None], 1)[:, 0] for b, w in zip(blocks, where, strict=True)]
        )
        starts = np.arange(num_blocks)[:, None] * _BLOCK_ROWS
        self.launcher.upload(greatest, self.buffers.block_max)
        self.launcher.upload((where + starts).astype(np.int32), self.buffers.block_argmax)
        return self._planner.plan_greedy(self._num_padded, num_blocks)
