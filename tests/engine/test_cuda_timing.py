"""What the timing of kernels counts: every launch of a step, every byte of weights, once."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.checkpoint.reader import Checkpoint
from app.cli.main import main
from app.core.cards import Card
from app.core.device import DeviceChoice
from app.engine.bench import measure_speed
from app.engine.executors.base import SequenceChunk
from app.engine.executors.cuda.executor import CudaExecutor
from app.engine.request import SamplingParams
from app.engine.sampling import Sampler
from app.spec.registry import create_spec
from tests.kernels.host_launcher import HostLauncher
from tests.tiny_models import write_chat_model

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fibers are Linux's")


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("timed") / "tiny"
    return write_chat_model(path, hidden_size=64, num_hidden_layers=2)


@pytest.fixture
def executor(model_dir: Path) -> Any:
    with Checkpoint.open(model_dir) as checkpoint:
        spec = create_spec(checkpoint.config)
        made = CudaExecutor(checkpoint, spec, 64, launcher=HostLauncher())
    yield made
    made.close()


def draw(executor: CudaExecutor, sampler: Sampler, count: int) -> list[int]:
    tokens = [7]
    for position in range(count):
        chunk = SequenceChunk(0, position, np.array(tokens[-1:], np.int32))
        tokens += [token for token in executor.sample([chunk], [sampler]) if token is not None]
    return tokens


def test_every_weight_is_read_once_a_step(executor: CudaExecutor) -> None:
    draw(executor, Sampler(SamplingParams(temperature=0.0), [], 97), 1)
    times = executor.time_decoding()
    products = [kernel for kernel in times.kernels if kernel.num_bytes]
    embedding = next(kernel for kernel in times.kernels if kernel.name == "read_rows")
    # The embedding is read by rows, and is the host's: it counts for no product.
    weights = executor.memory_use().weights_bytes
    assert sum(kernel.num_bytes for kernel in products) == weights
    assert embedding.num_launches == 1
    assert all(kernel.seconds > 0 for kernel in times.kernels)
    assert times.step_s == sum(kernel.seconds for kernel in times.kernels)
    assert [kernel.num_launches for kernel in products].count(2) == 4  # a layer's, in two layers
    assert times.bandwidth.copy > 0 < times.bandwidth.read
    assert products[0].fraction(1e9) == products[0].num_bytes / products[0].seconds / 1e9


def test_timing_changes_no_reply(executor: CudaExecutor) -> None:
    sampler = Sampler(SamplingParams(temperature=0.0), [], 97)
    wanted = draw(executor, sampler, 12)
    executor.time_decoding()
    assert draw(executor, sampler, 12) == wanted


def test_decoding_is_measured_with_what_draws_on_the_device(executor: CudaExecutor) -> None:
    speed = measure_speed(executor, 9, 5)
    assert min(speed.prefill_tok_s, speed.decode_tok_s) > 0


def test_bench_tells_each_kernel_beside_the_copy(
    model_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    card = Card("RTX 3050 Laptop GPU", (8, 6), 16, 4 << 30, (12, 4), "0000:01:00.0")
    choice = DeviceChoice("cuda", "Running on it.", card)
    monkeypatch.setattr("app.engine.loader.choose_device", lambda device: choice)
    monkeypatch.setattr("app.core.device.find_usable_card", lambda: card)
    monkeypatch.setattr("app.engine.executors.factory.create_launcher", HostLauncher)
    command = ["bench", str(model_dir), "--device", "cuda", "--prompt", "9", "--gen", "3"]
    assert main([*command, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["device"] == "cuda"
    assert document["precision"] == "W16A16"
    assert document["bandwidth_fraction"] == pytest.approx(
        document["weights_bytes"] * document["decode_tok_s"] / document["copy_bytes_per_s"]
    )
    assert sum(kernel["share"] for kernel in document["kernels"]) == pytest.approx(1)
    assert document["vram_bytes"] > document["weights_bytes"] + document["kv_bytes"]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "of the copy" in out
    assert "with workspace and CUDA itself" in out
    assert "memory speed" in out
