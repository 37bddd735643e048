"""What conversions do to a model's predictions: perplexity and KL on the bundled text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from pathlib import Path

from app.checkpoint.manifest import Manifest
from app.converter.expected_memory import expect_memory
from app.core.conversion_events import EvaluationProgressed, GridEvaluation
from app.core.events import Event
from app.core.jobs import CancelToken
from app.core.paths import resources_dir
from app.engine.evaluation import Evaluation
from app.engine.loader import LoadedEngine, load_engine
from app.engine.text_evaluation import evaluate_text, read_text

# The bundled public-domain chapter has some 3,000 tokens; half of it tells grids apart (the
# standard error of mean KL is about 3 % there) and takes a 7B model minutes, not hours, on a CPU.
MAX_TOKENS, WINDOW = 1536, 512


@dataclass(frozen=True, slots=True)
class Converted:
    """A finished checkpoint that was converted to `grid`."""

    grid: str
    path: Path


class Evaluator:
    """Evaluates checkpoints of one source, each against the yardstick (None: it is lossless)."""

    def __init__(self, listener: Callable[[Event], None], cancel: CancelToken) -> None:
        self._listener, self._cancel = listener, cancel
        self._text = read_text(resources_dir() / "eval" / "alice.txt")

    def evaluate(self, converted: Converted, yardstick: Path | None) -> GridEvaluation:
        """Raises an AppError when the checkpoints do not fit into memory."""
        manifest = Manifest.read(converted.path)
        with ExitStack() as stack:
            loaded = _load(stack, converted.path)
            other = None if yardstick is None else _load(stack, yardstick)
            result = self._run(converted.grid, loaded, other)
            memory = expect_memory(loaded.executor.spec, loaded.model.weights_bytes)
        return _to_row(converted.grid, manifest, result, memory.num_bytes)

    def _run(self, grid: str, loaded: LoadedEngine, other: LoadedEngine | None) -> Evaluation:
        def tell(done: int, total: int) -> None:
            self._listener(EvaluationProgressed(grid, done, total))

        return evaluate_text(loaded, self._text, WINDOW, other, MAX_TOKENS, tell, self._cancel)


def _load(stack: ExitStack, path: Path) -> LoadedEngine:
    return stack.enter_context(closing(load_engine(path, max_model_len=WINDOW, activations="fp32")))


def _to_row(grid: str, manifest: Manifest, result: Evaluation, memory_bytes: int) -> GridEvaluation:
    proven = result.kl_mean is None
    records = manifest.linears.values()
    return GridEvaluation(
        grid=grid,
        output_bytes=sum(file.num_bytes for file in manifest.files.values()),
        rel_err_max=max(record.provenance.rel_err for record in records),
        num_tokens=result.tokens,
        perplexity=result.perplexity,
        kl_mean=result.kl_mean or 0.0,
        kl_max=result.kl_max or 0.0,
        top1_agreement=1.0 if result.top1_agreement is None else result.top1_agreement,
        proven=proven,
        source_perplexity=result.yardstick_perplexity or result.perplexity,
        memory_bytes=memory_bytes,
    )


def render_evaluations_json(rows: Iterable[GridEvaluation]) -> str:
    """The comparison for programs."""
    return json.dumps([asdict(row) for row in rows], indent=1) + "\n"


def render_evaluations(rows: Iterable[GridEvaluation]) -> str:
    """The comparison as Markdown."""
    lines = [
        f"| {row.grid} | {row.output_bytes:,} | {row.memory_bytes:,} | {row.rel_err_max:.3g} "
        f"| {row.perplexity:.4f} | {row.source_perplexity:.4f} | {_measured(row)} |"
        for row in rows
    ]
    return "\n".join(
        [
            "# Evaluation against the source decoded densely",
            "",
            "| grid | bytes | memory to run it | largest relative error | perplexity "
            "| of the source | mean KL | largest KL | same first token |",
            "|---|---|---|---|---|---|---|---|---|",
            *lines,
            "",
        ]
    )


def _measured(row: GridEvaluation) -> str:
    if row.proven:
        return "0 (same bits) | 0 | 100 %"
    return f"{row.kl_mean:.5f} | {row.kl_max:.3f} | {row.top1_agreement:.1%}"
