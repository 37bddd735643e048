"""The real validation in a real child process."""

from __future__ import annotations

import json
import queue
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.events import Event, JobCancelled, JobFailed, WorkerDied, WorkerStopped
from app.core.validation_events import CheckFinished, CheckStarted, ValidationStarted
from app.workers.commands import CancelJob, ValidateSource
from app.workers.process import WorkerProcess

TIMEOUT_S = 240.0
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 256,
    "max_position_embeddings": 256,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


@pytest.fixture
def events() -> queue.SimpleQueue[Event]:
    return queue.SimpleQueue()


@pytest.fixture
def process(events: queue.SimpleQueue[Event]) -> Iterator[WorkerProcess]:
    made = WorkerProcess("validate", events.put)
    made.start()
    yield made
    made.stop()


def wait_for(events: queue.SimpleQueue[Event], *kinds: type[Event]) -> Event:
    """The next event of these kinds; the end of the process ends the waiting, too."""
    while True:
        event = events.get(timeout=TIMEOUT_S)
        if isinstance(event, (*kinds, WorkerDied, WorkerStopped)):
            return event


def test_what_is_nothing_fails_in_one_sentence(
    process: WorkerProcess, events: queue.SimpleQueue[Event], tmp_path: Path
) -> None:
    process.send(ValidateSource(str(tmp_path / "gone.gguf")))
    event = wait_for(events, JobFailed)
    assert isinstance(event, JobFailed)
    assert event.error.kind == "UsageError"
    assert "\n" not in event.error.message


def test_rows_come_live_and_a_cancel_ends_them(
    process: WorkerProcess, events: queue.SimpleQueue[Event], tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    process.send(ValidateSource(str(tmp_path)))
    started = wait_for(events, ValidationStarted)
    assert isinstance(started, ValidationStarted)
    first = wait_for(events, CheckFinished)
    assert isinstance(first, CheckFinished)
    assert first.check.name == started.checks[0].name
    wait_for(events, CheckStarted)
    process.send(CancelJob())
    assert isinstance(wait_for(events, JobCancelled), JobCancelled)
