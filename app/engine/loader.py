"""From a native folder to an engine that can run it."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from app.checkpoint.last_used import note_use
from app.checkpoint.reader import Checkpoint
from app.core.cleanup import undone_on_failure
from app.core.device import choose_device
from app.core.errors import CheckpointError
from app.core.events import LoadedModel
from app.core.holds import Hold
from app.engine.card_watch import CardWatch
from app.engine.engine import Engine
from app.engine.executors.base import Executor
from app.engine.placement import LoadOptions, place
from app.engine.precision import precision_label
from app.engine.tokenizer import Tokenizer
from app.spec.model_spec import ModelSpec
from app.spec.registry import create_spec
from app.spec.weights import has_bias, iter_linears, iter_vectors


@dataclass(frozen=True, slots=True)
class LoadedEngine:
    """An engine, its parts, the files it may still map, and what to tell of them."""

    engine: Engine
    executor: Executor
    tokenizer: Tokenizer
    checkpoint: Checkpoint
    model: LoadedModel
    hold: Hold
    card_watch: CardWatch | None = None

    def close(self) -> None:
        """Gives memory and files back: the files also where the executor's end fails."""
        with ExitStack() as stack:
            stack.callback(self.hold.release)
            stack.callback(self.checkpoint.close)
            self.engine.close()


def load_engine(
    model_dir: Path,
    device: str = "auto",
    max_model_len: int | None = None,
    num_slots: int = 1,
    activations: str = "int8",
    kv_dtype: str = "fp16",
    shares_pages: bool = True,
) -> LoadedEngine:
    """Opens, plans, loads; the options are those of `LoadOptions`.

    `activations` are the cpu executor's; the cuda executor's are float16, and the reference
    executor's, like its cache, float32.
    Raises CheckpointError for a damaged folder, UnsupportedError for a model or device that is
    refused, MemoryShortageError when it does not fit, UsageError for a context it cannot have, and
    MissingExtraError for a device whose package is not installed. Nothing stays open then.
    """
    started_s = time.monotonic()
    choice = choose_device(device)
    checkpoint = Checkpoint.open(model_dir)
    with undone_on_failure(checkpoint.close):
        spec = create_spec(checkpoint.config)
        _check_tensors(checkpoint, spec)
        tokenizer = Tokenizer.from_dir(model_dir)
        options = LoadOptions(max_model_len, num_slots, activations, kv_dtype, shares_pages)
        placed = place(checkpoint, spec, choice, options, is_auto=device == "auto")
        executor = placed.executor
        with undone_on_failure(executor.close):
            model = LoadedModel(
                name=model_dir.name,
                model_dir=model_dir,
                architecture=spec.architecture,
                device=executor.name,
                device_note=placed.note,
                max_model_len=placed.max_model_len,
                weights_bytes=executor.memory_use().weights_bytes,
                kv_bytes_per_token=placed.kv_bytes_per_token,
                load_s=time.monotonic() - started_s,
                has_chat_template=tokenizer.chat_template is not None,
                precision=precision_label(checkpoint.manifest, executor.activations),
                num_slots=executor.num_slots,
                num_pages=executor.num_pages,
            )
            engine = Engine(executor, tokenizer, describe_shortage=placed.describe_shortage)
            note_use(model_dir)
            hold = Hold(model_dir, "loaded")
            return LoadedEngine(
                engine, executor, tokenizer, checkpoint, model, hold, placed.card_watch
            )


def _check_tensors(checkpoint: Checkpoint, spec: ModelSpec) -> None:
    """Raises CheckpointError for a tensor that is not the config's: native code trusts shapes."""
    for name, shape in iter_linears(spec):
        linear = checkpoint.linear(name)
        _check_shape(name, linear.shape, shape)
        if (linear.bias is not None) != has_bias(spec, name):
            raise CheckpointError(
                "{name} has a bias that config.json denies, or lacks one.", name=name
            )
    for name, size in iter_vectors(spec):
        _check_shape(name, checkpoint.vector(name).shape, size)


def _check_shape(name: str, stored: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    if stored != wanted:
        raise CheckpointError(
            "{name} has shape {stored}; config.json asks for {wanted}.",
            name=name,
            stored=list(stored),
            wanted=list(wanted),
        )
