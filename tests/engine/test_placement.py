"""Whether a model runs on the card or the CPU, as loading decides it; the card is one of fibers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.checkpoint.reader import Checkpoint
from app.core.cards import Card, CardMemory
from app.core.device import DeviceChoice
from app.core.errors import ResourceError, UnsupportedError
from app.core.events import Event, MemorySampled
from app.engine.executors.cuda.executor import CudaExecutor
from app.engine.host import EngineHost
from app.engine.loader import LoadedEngine, load_engine
from app.engine.placement import LoadOptions, place
from app.engine.request import Request, SamplingParams
from app.spec.registry import create_spec
from tests.kernels.host_launcher import HostLauncher
from tests.tiny_models import write_chat_model

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fibers are Linux's")

MIB = 1 << 20
CARD = Card("RTX 3050 Laptop GPU", (8, 6), 16, 4 << 30, (12, 4), "0000:01:00.0")
UseCard = Callable[..., HostLauncher]


@pytest.fixture
def use_card(monkeypatch: pytest.MonkeyPatch) -> UseCard:
    """As if this machine had a card with so much memory, of which others use a part."""

    def use(total_bytes: int, other_bytes: int = 0) -> HostLauncher:
        launcher = HostLauncher(total_bytes)
        launcher.allocated_bytes = other_bytes
        memory = CardMemory(total_bytes, total_bytes - other_bytes, other_bytes)
        choice = DeviceChoice("cuda", f"Running on {CARD.name}.", CARD)
        monkeypatch.setattr("app.engine.loader.choose_device", lambda device: choice)
        monkeypatch.setattr("app.engine.placement.read_memory", lambda card: memory)
        monkeypatch.setattr("app.engine.executors.factory.create_launcher", lambda: launcher)
        return launcher

    return use


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_chat_model(tmp_path_factory.mktemp("placed") / "tiny", hidden_size=64)


def load(path: Path, device: str, **options: Any) -> LoadedEngine:
    return load_engine(path, device, **options)


@pytest.mark.parametrize(
    "step",
    [
        "placement.measured_state",
        "placement.CardWatch",
        "executors.cuda.executor.Decoder",
        "loader.Engine",
    ],
)
def test_a_load_that_fails_gives_the_card_back(
    step: str, use_card: UseCard, model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher = use_card(512 * MIB)

    def fail(*_: object, **__: object) -> None:
        raise RecursionError("planted")

    monkeypatch.setattr(f"app.engine.{step}", fail)
    with pytest.raises(RecursionError, match="planted"):
        load(model_dir, "cuda", max_model_len=64)
    assert launcher.allocated_bytes == 0


@pytest.mark.parametrize("device", ["auto", "cuda"])
def test_what_fits_runs_on_the_card(use_card: UseCard, model_dir: Path, device: str) -> None:
    launcher = use_card(512 * MIB)
    loaded = load(model_dir, device, max_model_len=64, kv_dtype="int8")
    assert isinstance(loaded.executor, CudaExecutor)
    assert (loaded.model.device, loaded.model.max_model_len) == ("cuda", 64)
    assert loaded.model.device_note == "Running on RTX 3050 Laptop GPU."
    assert loaded.card_watch is not None
    assert loaded.card_watch.sample(0).total_bytes == 512 * MIB
    loaded.close()
    assert launcher.allocated_bytes == 0


def test_the_host_counts_what_the_card_does(use_card: UseCard, model_dir: Path) -> None:
    launcher = use_card(512 * MIB)
    with EngineHost() as host:
        launcher.num_replays = 5
        host.load_and_wait(model_dir, device="cuda", max_model_len=64)
        card = host.metrics().card
        assert card is not None
        assert card.num_replays >= 5
    assert host.metrics().card is None


def test_what_the_card_does_for_each_token_is_sampled_while_it_answers(
    use_card: UseCard, model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher, events = use_card(512 * MIB), list[Event]()
    monkeypatch.setattr("app.engine.host.MEMORY_SAMPLE_INTERVAL_S", 0.0)
    params = SamplingParams(temperature=0.0, max_tokens=6, ignore_eos=True)
    with EngineHost(events.append) as host:
        host.load_and_wait(model_dir, device="cuda", max_model_len=64)
        host.submit(Request(prompt="Hello", sampling=params)).result()
    cards = [event.card for event in events if isinstance(event, MemorySampled) and event.card]
    assert [card.num_replays for card in cards] == sorted(card.num_replays for card in cards)
    assert cards[-1].num_replays == launcher.num_replays > 6
    assert 1.0 in {card.replays_per_token for card in cards}  # a graph a token
    assert max(card.launches_per_token for card in cards) > 10
    assert max(card.busy_share for card in cards) > 0


@pytest.mark.parametrize("shares_pages", [False, True])
@pytest.mark.parametrize("kv_dtype", ["fp16", "int8"])
def test_the_card_holds_what_was_planned(
    use_card: UseCard, model_dir: Path, kv_dtype: str, shares_pages: bool
) -> None:
    launcher = use_card(512 * MIB)
    choice = DeviceChoice("cuda", "", CARD)
    with Checkpoint.open(model_dir) as checkpoint:
        spec = create_spec(checkpoint.config)
        options = LoadOptions(64, 5, kv_dtype=kv_dtype, shares_pages=shares_pages)
        placed = place(checkpoint, spec, choice, options, is_auto=False)
    assert placed.vram is not None
    # Joined rows are padded once instead of thrice: the plan may be that much larger.
    assert 0 <= placed.vram.needed_bytes - launcher.allocated_bytes <= 64 << 10
    use = placed.executor.memory_use()
    assert use.kv_bytes == placed.vram.kv_bytes
    placed.executor.close()


def test_without_room_auto_takes_the_cpu_with_the_numbers_and_cuda_refuses(
    use_card: UseCard, model_dir: Path
) -> None:
    use_card(512 * MIB, other_bytes=500 * MIB)
    with pytest.raises(ResourceError, match=r"other programs hold 0\.49 GiB"):
        load(model_dir, "cuda")
    use_card(512 * MIB, other_bytes=500 * MIB)
    loaded = load(model_dir, "auto")
    assert loaded.model.device == "cpu"
    assert "of its 0.50 GiB, 0.00 GiB can be used" in loaded.model.device_note
    loaded.close()


def test_what_the_kernels_cannot_run_is_refused_before_the_card_is_touched(
    use_card: UseCard, model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_card(512 * MIB)

    def refuse(spec: object) -> None:
        raise UnsupportedError("The cuda executor does not implement this yet.")

    monkeypatch.setattr("app.engine.executors.cuda.executor.check_runnable", refuse)
    monkeypatch.setattr("app.engine.executors.factory.create_launcher", lambda: pytest.fail("made"))
    with pytest.raises(UnsupportedError):
        load(model_dir, "cuda")
    loaded = load(model_dir, "auto")
    assert loaded.model.device_note.startswith("The cuda executor does not implement this yet. ")
    loaded.close()


def test_a_card_that_fails_while_loading_gives_everything_back(
    use_card: UseCard, model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher = use_card(512 * MIB)

    def fail(*args: object) -> None:
        raise ResourceError("The card has no room for 5 more bytes.")

    monkeypatch.setattr(launcher, "upload", fail)
    with pytest.raises(ResourceError, match="no room"):
        load(model_dir, "cuda")
    assert launcher.allocated_bytes == 0
