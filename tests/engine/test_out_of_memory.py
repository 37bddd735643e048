"""Memory that ends while replies run: one of them ends with numbers, the model and the others stay.

The limit is a real one, of the process's address space; on a card of fibers, its launcher's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from app.core.errors import MemoryShortageError, OutOfMemoryError
from app.core.events import ErrorInfo, RequestFailed
from app.core.memory_shortage import RemedyKind
from app.engine.executors.base import Executor
from app.engine.executors.cpu import CpuExecutor
from app.engine.executors.cuda.launcher import Launch
from app.engine.executors.reference import ReferenceExecutor
from app.engine.executors.reference.cache import KVPage, PagePool
from app.engine.loader import load_engine
from app.engine.request import Request, SamplingParams
from tests.engine_runs import Run, open_run, write_hybrid_model
from tests.kernels.host_launcher import HostLauncher
from tests.tiny_models import write_chat_model

ROOT = Path(__file__).parents[2]
MIB = 1 << 20
GREEDY = SamplingParams(temperature=0.0, max_tokens=8, ignore_eos=True)
LONG = "It was the best of times, it was the worst of times. " * 40

# Loads, answers, limits the address space to what is there and a little, and asks for much and for
# little again. A page of this model is 2 MiB and more.
LIMITED = """
    import json, resource, sys
    from pathlib import Path
    import psutil
    from app.core.events import RequestFailed
    from app.engine.host import EngineHost
    from app.engine.request import Request, SamplingParams

    sampling = SamplingParams(temperature=0.0, max_tokens=8, ignore_eos=True)

    def ask(prompt):
        last = list(host.submit(Request(prompt=prompt, sampling=sampling)))[-1]
        if not isinstance(last, RequestFailed):
            return {{"tokens": last.usage.completion_tokens}}
        error = last.error
        kinds = [remedy.kind for remedy in error.shortage.remedies]
        shortage = error.shortage
        return {{"kind": error.kind, "message": error.message, "needed": shortage.needed_bytes,
                "free": shortage.free_bytes, "holders": [one.name for one in shortage.holders]}}

    with EngineHost() as host:
        host.load_and_wait(Path({model!r}), device={device!r}, max_model_len=4096)
        answers = [ask("short"), ask("x" * 300)]
        room = psutil.Process().memory_info().vms + {room}
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (room, hard))
        answers += [ask({long!r}), ask("short"), ask("another")]
        print(json.dumps([str(host.state), *answers]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="address spaces are limited on Linux")
@pytest.mark.parametrize("device", ["cpu", pytest.param("reference", marks=pytest.mark.slow)])
def test_a_real_limit_ends_one_request(device: str, tmp_path: Path) -> None:
    sizes: dict[str, Any] = {"hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 8}
    model = write_chat_model(tmp_path / "model", **sizes, max_position_embeddings=4096)
    values = {"model": str(model), "device": device, "long": LONG, "room": 6 * MIB}
    program = textwrap.dedent(LIMITED.format(**values))
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    state, first, second, failed, third, fourth = json.loads(done.stdout)
    assert state == "ready"
    assert failed["kind"] == "MemoryShortageError"
    assert "the model stays loaded" in failed["message"]
    assert failed["needed"] > 10 * MIB
    assert failed["free"] > 0
    assert "DeepInfer" in failed["holders"]
    assert [answer["tokens"] for answer in (first, second, third, fourth)] == [8] * 4


def failures(run: Run) -> list[ErrorInfo]:
    return [event.error for event in run.events if isinstance(event, RequestFailed)]


def undisturbed(requests: Sequence[Request], model_dir: Path, **options: Any) -> list[list[int]]:
    with open_run(model_dir, **options) as run:
        return [run.answer(request) for request in requests]


class Exhausted:
    """PyTorch's allocator has no room for the `first`th new page, once."""

    def __init__(self, patch: pytest.MonkeyPatch, first: int) -> None:
        self._page, self._left = PagePool.page, first
        patch.setattr(PagePool, "page", lambda pool, index: self.page(pool, index))

    def page(self, pool: PagePool, index: int) -> KVPage:
        if index not in pool._pages:
            self._left -= 1
            if self._left == 0:
                raise RuntimeError("[enforce fail at alloc_cpu.cpp:118] . DefaultCPUAllocator: no")
        return self._page(pool, index)


@pytest.mark.parametrize("is_recurrent", [False, True], ids=["attention", "linear layers"])
def test_what_runs_beside_goes_on_as_if_nothing_had_been(
    is_recurrent: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model_dir = write_hybrid_model(tmp_path) if is_recurrent else write_chat_model(tmp_path / "m")
    requests = [
        Request(prompt=text, sampling=GREEDY, request_id=text) for text in ("one", "two", "three")
    ]
    expected = undisturbed(requests, model_dir)
    with open_run(model_dir, num_slots=4, num_pages=8) as run:
        Exhausted(monkeypatch, 3)
        run.add(*requests)
        run.finish()
        (error,) = failures(run)
        survivors = [r for r in requests if run.of(r, RequestFailed) == []]
        assert survivors == requests[:2]
        assert [run.ids(request) for request in survivors] == expected[:2]
        assert run.answer(Request(prompt="three", sampling=GREEDY)) == expected[2]
    assert error.kind == "MemoryShortageError"


class TightLauncher(HostLauncher):
    """Graphs take memory, too: the driver's, which no plan holds exactly."""

    may_capture = True

    def capture(self, launches: Sequence[Launch]) -> list[Launch]:
        if not self.may_capture:
            raise OutOfMemoryError("The card cannot record its work.")
        return super().capture(launches)


def test_a_card_without_room_for_another_graph(tmp_path: Path) -> None:
    from app.engine.executors.cuda.executor import CudaExecutor

    model_dir = write_chat_model(tmp_path / "m", hidden_size=64, max_position_embeddings=512)
    options: dict[str, Any] = {"kind": CudaExecutor, "max_model_len": 300, "num_slots": 2}
    requests = [Request(prompt=p, sampling=GREEDY, request_id=p) for p in ("first", "another one")]
    launcher = TightLauncher()
    with open_run(model_dir, launcher=launcher, **options) as run:
        alone = [run.answer(Request(prompt=r.prompt, sampling=GREEDY)) for r in requests]
        run.add(*requests)
        launcher.may_capture = False  # both at once would be a graph of another size
        run.finish()
        assert [error.kind for error in failures(run)] == ["MemoryShortageError"]
        assert run.ids(requests[0]) == alone[0]
        assert run.of(requests[1], RequestFailed)
        assert run.answer(Request(prompt="another one", sampling=GREEDY)) == alone[1]


@pytest.mark.parametrize("kind", [CpuExecutor, ReferenceExecutor])
def test_loading_that_runs_out_of_memory_says_so_with_numbers(
    kind: type[Executor], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhaust(*_arguments: object, **_options: object) -> None:
        raise MemoryError

    monkeypatch.setattr(kind, "__init__", exhaust)
    with pytest.raises(MemoryShortageError, match="while the model was loaded") as caught:
        load_engine(write_chat_model(tmp_path / "m"), kind.name, max_model_len=100)
    shortage = caught.value.shortage
    assert shortage is not None
    assert shortage.needed_bytes > shortage.weights_bytes > 0
    assert shortage.holders


def test_a_refusal_offers_what_the_planner_then_accepts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model_dir = write_chat_model(tmp_path / "m", max_position_embeddings=1 << 17)
    room = 24 * MIB
    monkeypatch.setattr("app.engine.placement.available_memory_bytes", lambda: room)
    with pytest.raises(MemoryShortageError) as caught:
        load_engine(model_dir, "cpu", max_model_len=1 << 17)
    shortage = ErrorInfo.from_exception(caught.value).shortage
    assert shortage is not None
    assert shortage.needed_bytes > shortage.free_bytes == room
    lengths = {remedy.kind: remedy.max_model_len for remedy in shortage.remedies}
    assert 1000 < lengths[RemedyKind.CONTEXT] < lengths[RemedyKind.INT8_KV] <= 1 << 17
    for kind, kv_dtype in ((RemedyKind.CONTEXT, "fp16"), (RemedyKind.INT8_KV, "int8")):
        loaded = load_engine(model_dir, "cpu", lengths[kind], kv_dtype=kv_dtype)
        assert loaded.model.max_model_len == lengths[kind]
        loaded.close()
