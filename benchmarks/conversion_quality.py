"""What checkpoints of one source predict on the bundled text, the source's own predictions kept.

Both sides are measured in float32. The text is one window of the bundled chapter: the order of
grids shows in it, and the standard error of mean KL is about 5 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import numpy.typing as npt

from app.core.paths import resources_dir
from app.engine.evaluation import Evaluation, evaluate
from app.engine.executors.base import Executor, SequenceChunk
from app.engine.loader import LoadedEngine, load_engine
from app.engine.text_evaluation import read_text

NUM_TOKENS = 512

Logits = npt.NDArray[np.float32]


class SourceQuality:
    """A source decoded densely, run once; then checkpoints of it beside that."""

    def __init__(self, dense: Path) -> None:
        """`dense`: a checkpoint of the source on the grid `dense`."""
        with closing(_load(dense)) as loaded:
            self._token_ids = _read_tokens(loaded)
            self._kept = _KeptLogits(loaded.executor)
            evaluated = evaluate(self._kept, self._token_ids, NUM_TOKENS)
        self.perplexity = evaluated.perplexity

    def compare(self, checkpoint: Path) -> Evaluation:
        """The checkpoint's perplexity, its KL against the source."""
        with closing(_load(checkpoint)) as loaded:
            assert _read_tokens(loaded) == self._token_ids
            return evaluate(loaded.executor, self._token_ids, NUM_TOKENS, self._kept)


class _KeptLogits:
    """Runs each chunk of the text once; 49,152 words times 512 tokens are 100 MB."""

    def __init__(self, executor: Executor) -> None:
        self.spec, self._executor = executor.spec, executor
        self._kept: dict[int, list[Logits]] = {}

    def step(self, chunks: Sequence[SequenceChunk]) -> list[Logits]:
        """As `Executor.step`; of a chunk that was run before, what it gave then."""
        (chunk,) = chunks
        if chunk.start not in self._kept:
            self._kept[chunk.start] = self._executor.step(chunks)
        return self._kept[chunk.start]


def _load(checkpoint: Path) -> LoadedEngine:
    return load_engine(checkpoint, "cpu", max_model_len=NUM_TOKENS, activations="fp32")


def _read_tokens(loaded: LoadedEngine) -> list[int]:
    text = read_text(resources_dir() / "eval" / "alice.txt")
    return loaded.tokenizer.encode(text, add_special_tokens=False, parse_special=False)[:NUM_TOKENS]
