"""The launcher of real cards runs as a card would have it: late, in order, in one stream.

CuPy's part is played by `tests.kernels.fiber_cupy`, whose names and signatures
`test_cupy_launcher.py` holds to the package.
"""

from __future__ import annotations

import json
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from app.checkpoint.reader import Checkpoint
from app.checkpoint.schemes import QuantScheme, ScaleDtype, Scheme
from app.cli.main import main
from app.core.cards import Card
from app.core.device import DeviceChoice
from app.core.errors import EngineError, OutOfMemoryError
from app.engine.executors.base import SequenceChunk
from app.engine.executors.cuda import cupy_launcher
from app.engine.executors.cuda.cupy_launcher import CupyLauncher
from app.engine.executors.cuda.executor import CudaExecutor
from app.engine.executors.cuda.launcher import Launch, Launcher
from app.engine.request import SamplingParams
from app.engine.sampling import Sampler
from app.spec.registry import create_spec
from benchmarks import gpu
from tests.engine.test_memory_plan import CONFIG
from tests.kernels.fiber_cupy import GRAPH_S, CUDARuntimeError, FiberCupy, image_of
from tests.kernels.host_launcher import HostLauncher
from tests.random_checkpoints import write_random
from tests.tiny_models import write_chat_model

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fibers are Linux's")

SMALL = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "vocab_size": 97}
SMALL |= {"num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 32}
W4 = QuantScheme(4, 32, Scheme.SYM, ScaleDtype.FP16)
NUM_TOKENS, CONTEXT = 40, 64
DRAWN = SamplingParams(temperature=0.9, top_k=20, top_p=0.9, presence_penalty=0.5, seed=3)


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> FiberCupy:
    card = FiberCupy(1 << 30)
    monkeypatch.setattr(cupy_launcher, "_import_cupy", lambda: card)
    monkeypatch.setattr(cupy_launcher, "load_image", image_of)
    return card


def draw(path: Path, launcher: Launcher, params: SamplingParams) -> list[int | None]:
    """A prompt as a chunk, then token by token; the launcher is closed."""
    with Checkpoint.open(path) as checkpoint:
        spec = create_spec(checkpoint.config)
        executor = CudaExecutor(checkpoint, spec, CONTEXT, launcher=launcher)
    prompt = np.arange(1, 13, dtype=np.int32)
    sampler = Sampler(params, prompt.tolist(), spec.vocab_size)
    with closing(executor):
        tokens = executor.sample([SequenceChunk(0, 0, prompt)], [sampler])
        for position in range(len(prompt), len(prompt) + NUM_TOKENS - 1):
            chunk = SequenceChunk(0, position, np.array(tokens[-1:], np.int32))
            tokens += executor.sample([chunk], [sampler])
    return tokens


@pytest.mark.parametrize(
    "params", [SamplingParams(temperature=0.0), DRAWN], ids=["greedy", "drawn"]
)
def test_a_card_that_works_later_draws_the_same_tokens(
    card: FiberCupy, params: SamplingParams, tmp_path: Path
) -> None:
    config = {**CONFIG, **SMALL}
    path = write_random(create_spec(config), config, tmp_path / "x", W4)
    launcher = CupyLauncher()
    assert draw(path, launcher, params) == draw(path, HostLauncher(), params)
    assert (card.taken_bytes, card.num_host_pieces) == (0, 0)
    # A replay a token, and few for the prompt and what was asked ahead.
    assert NUM_TOKENS <= launcher.num_replays <= NUM_TOKENS + 3
    assert launcher.num_launches > 10 * launcher.num_replays
    # What is not timed is counted as its graph took before; here all take equally long.
    assert 0.8 <= launcher.busy_s / (launcher.num_replays * GRAPH_S) <= 1.0
    assert launcher.host_bytes > 0


def test_what_the_driver_says_is_told_in_our_words(
    card: FiberCupy, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher = CupyLauncher()
    assert launcher.name == "Fibers"
    with pytest.raises(OutOfMemoryError, match="no room for 4,294,967,296 more bytes"):
        launcher.reserve(1 << 32)
    buffer = launcher.upload_new(np.arange(5, dtype=np.int32))
    found = np.zeros(5, np.int32)
    launcher.download(buffer, found)
    assert found.tolist() == [0, 1, 2, 3, 4]

    def fail(*args: object) -> None:
        raise CUDARuntimeError(700)

    monkeypatch.setattr(card, "memcpyAsync", fail)
    with pytest.raises(EngineError, match=r"The card cannot copy \(cudaError 700"):
        launcher.download(buffer, found)
    launcher.close()
    assert card.taken_bytes == 0


def test_memory_is_borrowed_and_given_back_whatever_happens(card: FiberCupy) -> None:
    launcher = CupyLauncher()

    def use() -> None:
        with launcher.borrow(1000) as buffer:
            assert card.taken_bytes == buffer.num_bytes == 1000
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        use()
    assert card.taken_bytes == 0
    launcher.close()


def test_a_launch_that_no_card_can_run_is_an_error(card: FiberCupy) -> None:
    launcher = CupyLauncher()
    argument = np.zeros((), [("x", np.uintp)])
    source = cupy_launcher.ModuleSource("norm.cu")
    too_large = Launch(source, "add_norm", (1, 1 << 16), (256,), argument)
    with pytest.raises(EngineError, match="The card refuses a kernel"):
        launcher.run([too_large])
    shared = Launch(source, "add_norm", (1,), (256,), argument, shared_bytes=100 << 10)
    with pytest.raises(EngineError, match="too little shared memory for add_norm"):
        launcher.run([shared])
    launcher.close()


@pytest.mark.slow
def test_bench_runs_through_the_launcher_of_cards(
    card: FiberCupy,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = Card("Fibers", (8, 6), 2, 1 << 30, (12, 4), "0000:01:00.0")
    choice = DeviceChoice("cuda", "Running on it.", found)
    monkeypatch.setattr("app.engine.loader.choose_device", lambda device: choice)
    monkeypatch.setattr("app.core.device.find_usable_card", lambda: found)
    monkeypatch.setattr(CupyLauncher, "yardstick_bytes", 1 << 16)
    model_dir = write_chat_model(tmp_path / "tiny", hidden_size=64)
    command = ["bench", str(model_dir), "--device", "cuda", "--prompt", "9", "--gen", "3", "--json"]
    assert main(command) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["device"] == "cuda"
    assert sum(kernel["share"] for kernel in document["kernels"]) == pytest.approx(1)
    assert (card.taken_bytes, card.num_host_pieces) == (0, 0)


@pytest.mark.slow
def test_the_benchmark_of_cards_runs_through_the_launcher_of_cards(
    card: FiberCupy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CupyLauncher, "yardstick_bytes", 1 << 16)  # what fibers can copy
    document = gpu.measure(gpu.Run(CupyLauncher, is_tiny=True), is_card=True)
    parts = document["parts"]
    assert not [part for part in parts.values() if "failed" in part], parts
    assert all(parts[name]["is_equal"] for name in ("graph", "greedy", "leaks"))
    assert "# Fibers" in gpu.to_markdown(document)
    assert card.taken_bytes == 0
