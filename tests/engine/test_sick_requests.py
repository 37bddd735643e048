"""Values that are no numbers end the reply they belong to, and no other."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.core.events import RequestFailed
from app.engine.executors.base import Executor, LogitsWanted, SequenceChunk
from app.engine.executors.cpu import CpuExecutor
from app.engine.executors.cuda.executor import CudaExecutor
from app.engine.executors.reference import ReferenceExecutor
from app.engine.kv_store import KVStore
from app.engine.request import Request, SamplingParams, create_request_id
from app.engine.sampling import NO_TOKEN, Sampler
from tests.engine_runs import Run, open_run
from tests.kernels.host_launcher import HostLauncher
from tests.tiny_models import create_tiny_model, tokenizer_files, write_native

EXECUTORS: dict[str, tuple[type[Executor], Callable[[], dict[str, Any]]]] = {
    "reference": (ReferenceExecutor, dict),
    "cpu": (CpuExecutor, lambda: {"num_threads": 1}),
    "cpu-int8": (CpuExecutor, lambda: {"num_threads": 1, "kv_dtype": "int8"}),
}
if sys.platform == "linux":  # the fibers are Linux's
    EXECUTORS["cuda"] = (CudaExecutor, lambda: {"launcher": HostLauncher()})
    EXECUTORS["cuda-int8"] = (
        CudaExecutor,
        lambda: {"launcher": HostLauncher(), "kv_dtype": "int8"},
    )
SAMPLINGS = {
    "greedy": SamplingParams(temperature=0.0, max_tokens=12, ignore_eos=True),
    "drawn": SamplingParams(temperature=1.0, seed=3, max_tokens=12, ignore_eos=True),
    "with logprobs": SamplingParams(temperature=0.0, max_tokens=12, ignore_eos=True),
}
DIMENSION = 5


def token_of(letter: str) -> int:
    """Of tests.tiny_models.tokenizer_files."""
    return 4 + ord(letter) - ord("!")


def write_model(directory: Path, sick_token: int | None) -> Path:
    """One number of the residual is 0 but behind one token; the first norm makes it infinite."""
    model = create_tiny_model("llama", hidden_size=64, num_hidden_layers=2)
    model.model.embed_tokens.weight.data[:, DIMENSION] = 0.0
    for layer in model.model.layers:
        layer.self_attn.o_proj.weight.data[DIMENSION] = 0.0
        layer.mlp.down_proj.weight.data[DIMENSION] = 0.0
    model.model.layers[0].input_layernorm.weight.data[DIMENSION] = 3e38
    if sick_token is not None:
        model.model.embed_tokens.weight.data[sick_token, DIMENSION] = 50.0
    write_native(model, directory)
    for name, content in tokenizer_files().items():
        (directory / name).write_text(content, encoding="utf-8")
    return directory


@pytest.fixture(scope="module")
def sick_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sick at the letter Z."""
    return write_model(tmp_path_factory.mktemp("sick") / "model", token_of("Z"))


def create_request(prompt: str, name: str = "greedy") -> Request:
    num_logprobs = 2 if name == "with logprobs" else None
    return Request(prompt=prompt, sampling=SAMPLINGS[name], num_logprobs=num_logprobs)


def open_kind(model_dir: Path, kind: str) -> Any:
    executor, create_options = EXECUTORS[kind]
    return open_run(model_dir, 4, kind=executor, max_model_len=600, **create_options())


def assert_failed(run: Run, request: Request) -> None:
    (failed,) = run.of(request, RequestFailed)
    assert "not finite" in failed.error.message
    assert run.of(request, object)[-1] is failed


@pytest.mark.parametrize("name", SAMPLINGS)
@pytest.mark.parametrize("kind", EXECUTORS)
def test_others_say_what_they_say_without_it(sick_dir: Path, kind: str, name: str) -> None:
    """Two are sick from their prompts on, one of them long; two are well."""
    well = [create_request("Once upon a time", name), create_request("Hello, who", name)]
    sick = [create_request("aZb", name), create_request("Zoo " * 30, name)]
    alone = []
    for request in well:
        with open_kind(sick_dir, kind) as run:
            alone.append(run.answer(request))
    with open_kind(sick_dir, kind) as run:
        run.add(well[0], sick[0], sick[1], well[1])
        run.finish()
        for request in sick:
            assert_failed(run, request)
            assert run.ids(request) == []
        assert [run.ids(request) for request in well] == alone


@pytest.mark.parametrize("kind", EXECUTORS)
def test_a_reply_that_turns_sick_ends_there(tmp_path: Path, kind: str) -> None:
    first, second = create_request("Once upon a time"), create_request("Hello, who")
    with open_kind(write_model(tmp_path / "well", None), kind) as run:
        run.add(first, second)
        run.finish()
        well, other = run.ids(first), run.ids(second)
    known = {*well, *map(token_of, "Once upon a time" + "Hello, who")}
    place = next(i for i, token in enumerate(other) if token not in known)
    sick_dir = write_model(tmp_path / "sick", other[place])
    with open_kind(sick_dir, kind) as run:
        run.add(first, second)
        run.finish()
        assert_failed(run, second)
        assert run.ids(second) == other[: place + 1]
        assert run.ids(first) == well


def test_what_was_computed_is_used_again_by_nobody(sick_dir: Path, tmp_path: Path) -> None:
    """Neither from memory nor from the disk; what others have of it stays."""
    shared = "Once upon a time there was a very small test that " * 6  # a page and more
    well, sick = create_request(shared + "ended."), create_request(shared + "Zzz")
    sick = replace(sick, cache_key="conversation")
    with open_kind(sick_dir, "cpu") as run:
        run.engine.use_store(KVStore(tmp_path / "kv", 1 << 30))
        run.add(well)
        run.finish()
        num_cached = run.engine.metrics().pages_cached
        run.add(sick)
        run.finish()
        assert_failed(run, sick)
        while run.engine.has_chores:
            run.engine.do_chore()
        assert not [path for path in (tmp_path / "kv").rglob("*") if path.is_file()]
        assert run.engine.metrics().pages_cached == num_cached
        again = replace(well, request_id=create_request_id())
        run.add(again)
        run.finish()
        assert run.cached(again) > 256
        assert run.ids(again) == run.ids(well)
        assert run.engine.metrics().num_running == 0


@pytest.mark.parametrize("kind", ["cpu", "cpu-int8"])  # nobody else is given guesses
def test_guesses_end_at_a_sick_one(tmp_path: Path, kind: str) -> None:
    """The guess holds; behind it there is no token."""
    with open_kind(write_model(tmp_path / "well", None), kind) as run:
        (guess,) = verify(run, [5])
    with open_kind(write_model(tmp_path / "sick", guess), kind) as run:
        assert verify(run, [5, guess, 7]) == [guess, NO_TOKEN]


def verify(run: Run, token_ids: list[int]) -> list[int]:
    run.executor.map_pages(0, [0])
    chunk = SequenceChunk(0, 0, np.array(token_ids, np.int32), LogitsWanted.ALL)
    return run.executor.verify(chunk, Sampler(SAMPLINGS["greedy"], [5], 97))
