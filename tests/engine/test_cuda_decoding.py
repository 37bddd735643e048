"""Decoding on the device, through the engine, against executors that hand logits to Python."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.checkpoint.reader import Checkpoint
from app.core.errors import EngineError
from app.core.events import FinishReason, RequestFinished, TokensGenerated
from app.engine.engine import Engine, RequestEvent
from app.engine.executors.base import Executor, SequenceChunk
from app.engine.executors.cuda import decoding
from app.engine.executors.cuda.decoding import Decoder, DecodeShape
from app.engine.executors.cuda.executor import CudaExecutor
from app.engine.executors.reference import ReferenceExecutor
from app.engine.request import Request, SamplingParams
from app.engine.sampling import Sampler
from app.engine.tokenizer import Tokenizer
from app.spec.registry import create_spec
from kernels.cuda.sampling import RING_ENTRIES
from tests.kernels.faulty_launcher import Fault, FaultyLauncher, plant
from tests.kernels.host_launcher import HostLauncher
from tests.tiny_models import create_tiny_model, tokenizer_files, write_native

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fibers are Linux's")

CONTEXT = 280
GREEDY = SamplingParams(temperature=0.0, max_tokens=20, ignore_eos=True)
DRAWN = replace(GREEDY, temperature=0.9, seed=11)
NARROW = replace(DRAWN, top_k=30, top_p=0.9, min_p=0.02, seed=-5)
PENALIZED = replace(
    DRAWN, repetition_penalty=1.3, presence_penalty=0.4, frequency_penalty=0.7, seed=4
)
# Of seeds whose draws do not fall between two tokens, where float16 activations would decide.
ALL = {"greedy": GREEDY, "drawn": DRAWN, "narrow": NARROW, "penalized": PENALIZED}
PROMPT = "Once upon a time"

Events = list[RequestEvent]


class LogitsExecutor(CudaExecutor):
    """The same arithmetic, but tokens are drawn by Python's definition from downloaded logits."""

    sample = Executor.sample


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sizes = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2}
    model = create_tiny_model("llama", **sizes, max_position_embeddings=512)
    path = write_native(model, tmp_path_factory.mktemp("cuda") / "model")
    for name, content in tokenizer_files().items():
        (path / name).write_text(content, encoding="utf-8")
    return path


@contextmanager
def engine_of(
    kind: type[Executor],
    model_dir: Path,
    num_slots: int = 1,
    max_model_len: int = CONTEXT,
    launcher: HostLauncher | None = None,
    kv_dtype: str = "fp16",
) -> Iterator[Engine]:
    options: dict[str, Any] = {}
    if issubclass(kind, CudaExecutor):
        options = {"launcher": launcher or HostLauncher(), "kv_dtype": kv_dtype}
    with Checkpoint.open(model_dir) as checkpoint:
        spec = create_spec(checkpoint.config)
        executor = kind(checkpoint, spec, max_model_len, num_slots, **options)
    engine = Engine(executor, Tokenizer.from_dir(model_dir))
    yield engine
    engine.close()


def run(engine: Engine, *requests: Request) -> Events:
    for request in requests:
        engine.add(request)
    events: Events = []
    while engine.has_work:
        events += engine.step()
    return events


def ids_of(events: Events, request_id: str) -> list[int]:
    return [
        token_id
        for event in events
        if isinstance(event, TokensGenerated) and event.request_id == request_id
        for token_id in event.token_ids
    ]


def request(sampling: SamplingParams, prompt: str = PROMPT, name: str = "r") -> Request:
    return Request(prompt=prompt, sampling=sampling, request_id=name)


Scenario = Callable[[Engine], Events]


def same_ids(
    model_dir: Path, scenario: Scenario, kind: type[Executor] = LogitsExecutor, **options: Any
) -> dict[str, list[int]]:
    """Asserts that the device's tokens are those of another executor; returns them by request."""
    found: list[dict[str, list[int]]] = []
    for each in (kind, CudaExecutor):
        with engine_of(each, model_dir, **options) as engine:
            events = scenario(engine)
        names = {event.request_id for event in events}
        found.append({name: ids_of(events, name) for name in sorted(names)})
    assert found[1] == found[0]
    return found[1]


@pytest.mark.parametrize("kind", [ReferenceExecutor, LogitsExecutor])
@pytest.mark.parametrize("name", ALL)
def test_tokens_equal_those_of_others(model_dir: Path, name: str, kind: type[Executor]) -> None:
    ids = same_ids(model_dir, lambda engine: run(engine, request(ALL[name])), kind)
    assert len(ids["r"]) == GREEDY.max_tokens


def test_rows_of_a_batch_draw_each_in_its_own_way(model_dir: Path) -> None:
    """Eight rows at different positions, which begin and end at different steps."""
    requests = [
        request(replace(params, max_tokens=8 + 3 * index), PROMPT[: 3 + index], f"r{index}")
        for index, params in enumerate([*ALL.values(), *ALL.values()])
    ]
    ids = same_ids(model_dir, lambda engine: run(engine, *requests), num_slots=8)
    assert [len(each) for each in ids.values()] == [8 + 3 * index for index in range(8)]


def test_few_graphs_serve_all_sizes_of_a_batch(model_dir: Path) -> None:
    requests = [
        request(replace(DRAWN, max_tokens=9 + index), PROMPT, f"r{index}") for index in range(8)
    ]
    with engine_of(CudaExecutor, model_dir, num_slots=8) as engine:
        run(engine, *requests)
        executor = engine._executor
        assert isinstance(executor, CudaExecutor)
        shapes = [shape for shape in executor._graphs if isinstance(shape, DecodeShape)]
    assert sorted(shape.num_rows for shape in shapes) == [1, 2, 4, 8]


def test_more_sequences_than_rows_of_a_graph(model_dir: Path) -> None:
    requests = [
        request(replace(DRAWN, seed=index, max_tokens=5), PROMPT, f"r{index}") for index in range(9)
    ]
    ids = same_ids(model_dir, lambda engine: run(engine, *requests), num_slots=9)
    assert [len(each) for each in ids.values()] == [5] * 9


def cancelled_halfway(engine: Engine) -> Events:
    """A reply is cancelled, and its slot goes to another that shares its prompt and penalties."""
    engine.add(request(PENALIZED, name="first"))
    engine.add(request(replace(PENALIZED, seed=8), name="other"))
    events: Events = []
    while len(ids_of(events, "first")) < 7:
        events += engine.step()
    events += engine.cancel("first")
    return events + run(engine, request(PENALIZED, PROMPT + " there", "second"))


def test_a_cancelled_reply_leaves_nothing_behind(model_dir: Path) -> None:
    ids = same_ids(model_dir, cancelled_halfway, num_slots=2)
    assert len(ids["first"]) == 7
    assert len(ids["second"]) == len(ids["other"]) == 20


def joined_by_another(engine: Engine) -> Events:
    """A second reply begins and ends while the first goes on, both with penalties."""
    engine.add(request(PENALIZED, name="first"))
    events: Events = []
    while len(ids_of(events, "first")) < 5:
        events += engine.step()
    short = replace(PENALIZED, max_tokens=4, seed=77)
    return events + run(engine, request(short, "Never before " * 12, "second"))


def test_a_sequence_joins_and_leaves(model_dir: Path) -> None:
    ids = same_ids(model_dir, joined_by_another, num_slots=2)
    assert (len(ids["first"]), len(ids["second"])) == (20, 4)


def joined_by_one_that_needs_logits(engine: Engine) -> Events:
    """The device decodes, Python draws for both while a reply with logprobs runs, then it goes on.

    The second reply has penalties, too, whose counts the device takes over again.
    """
    engine.add(request(PENALIZED, name="first"))
    events: Events = []
    while len(ids_of(events, "first")) < 5:
        events += engine.step()
    told = request(replace(PENALIZED, max_tokens=4, seed=77), "Never before", "second")
    return events + run(engine, replace(told, num_logprobs=1))


def test_a_reply_that_needs_logits_joins_and_leaves(model_dir: Path) -> None:
    ids = same_ids(model_dir, joined_by_one_that_needs_logits, num_slots=2)
    assert (len(ids["first"]), len(ids["second"])) == (20, 4)


def next_turn(engine: Engine) -> Events:
    """The step that was asked for ahead has written behind what the first reply had."""
    events = run(engine, request(DRAWN, name="first"))
    return events + run(engine, request(DRAWN, PROMPT + " is", "second"))


def test_the_next_turn_goes_on_from_the_cache(model_dir: Path) -> None:
    ids = same_ids(model_dir, next_turn)
    assert (len(ids["first"]), len(ids["second"])) == (20, 20)


def one_after_the_other(engine: Engine) -> Events:
    """A cancelled reply and the next in its slot, as long batches of one row."""
    engine.add(request(PENALIZED, name="first"))
    events: Events = []
    while len(ids_of(events, "first")) < 4:
        events += engine.step()
    return events + engine.cancel("first") + run(engine, request(PENALIZED, "Never", "second"))


def test_a_slot_passes_from_a_cancelled_reply_to_the_next(model_dir: Path) -> None:
    ids = same_ids(model_dir, one_after_the_other)
    assert (len(ids["first"]), len(ids["second"])) == (4, 20)


@pytest.mark.parametrize("scenario", [next_turn, one_after_the_other])
def test_a_step_asked_for_ahead_that_is_not_undone_is_seen(
    model_dir: Path, monkeypatch: pytest.MonkeyPatch, scenario: Scenario
) -> None:
    monkeypatch.setattr(decoding, "_continues", lambda *_: True)
    monkeypatch.setattr(Decoder, "forget_slot", lambda *_: None)
    with pytest.raises(AssertionError):
        same_ids(model_dir, scenario)


BOUNDARY = (PROMPT + " ") * 15  # its first 250 tokens end before position 255


@pytest.mark.parametrize("params", [GREEDY, PENALIZED], ids=["greedy", "penalized"])
@pytest.mark.parametrize("kind", [ReferenceExecutor, LogitsExecutor])
def test_another_bucket_of_the_context_takes_over(
    model_dir: Path, params: SamplingParams, kind: type[Executor]
) -> None:
    """From position 250 over 255, 256 and 257 to the last one."""
    ids = same_ids(model_dir, lambda engine: run(engine, request(params, BOUNDARY[:250])), kind)
    assert len(ids["r"]) == 20


def test_a_bucket_that_ends_too_late_is_seen(
    model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = CudaExecutor._bucket
    monkeypatch.setattr(CudaExecutor, "_bucket", lambda self, length: bucket(self, length - 1))
    with pytest.raises(AssertionError):
        same_ids(
            model_dir,
            lambda engine: run(engine, request(GREEDY, BOUNDARY[:250])),
            ReferenceExecutor,
        )


def test_a_reply_to_the_end_of_the_context(model_dir: Path) -> None:
    endless = replace(DRAWN, max_tokens=None)
    ids = same_ids(model_dir, lambda engine: run(engine, request(endless)), max_model_len=40)
    assert len(ids["r"]) == 40 - len(PROMPT)


def test_the_ring_goes_round(model_dir: Path) -> None:
    long = replace(DRAWN, max_tokens=RING_ENTRIES * 2 + 9)
    ids = same_ids(model_dir, lambda engine: run(engine, request(long)))
    assert len(ids["r"]) == long.max_tokens


def test_a_token_costs_one_replay_and_no_copy(model_dir: Path) -> None:
    launcher = HostLauncher()
    with engine_of(CudaExecutor, model_dir, launcher=launcher) as engine:
        engine.add(request(PENALIZED))
        for _ in range(3):
            engine.step()
        copies, replays = launcher.num_copies, launcher.num_replays
        captures = launcher.num_captures
        for _ in range(10):
            engine.step()
        assert launcher.num_copies == copies
        assert launcher.num_captures == captures
        # The step behind the next one is under way.
        assert launcher.num_replays == replays + 10
        run(engine)


@pytest.mark.parametrize(
    "fault",
    [
        ("state.cuh", "state.positions[row] += 1;", ""),
        ("state.cuh", "state.token_ids[row] = next;", ""),
    ],
)
def test_a_state_that_does_not_move_on_is_seen(
    model_dir: Path, tmp_path: Path, fault: Fault
) -> None:
    launcher = FaultyLauncher(plant([fault], tmp_path), "sampling.cu")
    with engine_of(CudaExecutor, model_dir, launcher=launcher) as engine:
        found = ids_of(run(engine, request(GREEDY)), "r")
    with engine_of(LogitsExecutor, model_dir) as engine:
        assert found != ids_of(run(engine, request(GREEDY)), "r")


def test_an_int8_cache_is_decoded_from(model_dir: Path) -> None:
    ids = same_ids(model_dir, lambda engine: run(engine, request(PENALIZED)), kv_dtype="int8")
    assert len(ids["r"]) == PENALIZED.max_tokens


def test_a_reply_goes_on_from_its_prompt(model_dir: Path) -> None:
    """The first token is drawn on the device, too, and the step behind it is under way by then."""
    launcher = HostLauncher()
    with engine_of(CudaExecutor, model_dir, launcher=launcher) as engine:
        engine.add(request(NARROW))
        engine.step()
        copies, replays = launcher.num_copies, launcher.num_replays
        for _ in range(3):
            engine.step()
        assert launcher.num_copies == copies
        assert launcher.num_replays == replays + 3


def test_stop_tokens_end_a_reply(model_dir: Path) -> None:
    """What the device drew beyond the stop is not seen."""
    with engine_of(CudaExecutor, model_dir) as engine:
        events = run(engine, request(replace(DRAWN, ignore_eos=False, max_tokens=200)))
        wanted = len(ids_of(events, "r"))
        (finished,) = [event for event in events if isinstance(event, RequestFinished)]
    assert finished.finish_reason is FinishReason.STOP
    assert wanted < 200
    same_ids(
        model_dir,
        lambda engine: run(engine, request(replace(DRAWN, ignore_eos=False, max_tokens=200))),
    )


@pytest.mark.parametrize("num_tokens", [1, 12])
@pytest.mark.parametrize("params", [GREEDY, DRAWN], ids=["greedy", "drawn"])
def test_logits_that_are_not_finite_are_an_error(
    tmp_path: Path, params: SamplingParams, num_tokens: int
) -> None:
    """The residual overflows the halfs that a product takes."""
    model = create_tiny_model("llama", hidden_size=64, num_hidden_layers=1)
    model.lm_head.weight.data[:] = 6e4
    model.lm_head.weight.data[::2] *= -1.0
    model.model.norm.weight.data[:] = 6e4
    with Checkpoint.open(write_native(model, tmp_path / "model")) as checkpoint:
        spec = create_spec(checkpoint.config)
        executor = CudaExecutor(checkpoint, spec, CONTEXT, launcher=HostLauncher())
    sampler = Sampler(params, [4], spec.vocab_size)
    assert executor.sample([SequenceChunk(0, 0, np.full(num_tokens, 4, np.int32))], [sampler]) == [
        -1
    ]
    with pytest.raises(EngineError, match="not finite"):
        sampler.check()
    assert sampler.num_sampled == 0
    executor.close()


def test_one_sampler_may_take_turns(model_dir: Path) -> None:
    """Chunks that jump between slots, back, and to tokens that were not drawn."""
    jumps: Sequence[tuple[int, int, int]] = [
        (0, 0, 5), (0, 1, 6), (1, 0, 5), (0, 2, 9), (1, 1, 7), (0, 0, 5), (0, 1, 50), (0, 2, 3),
    ]  # fmt: skip
    found = []
    for kind in (LogitsExecutor, CudaExecutor):
        with engine_of(kind, model_dir, num_slots=2) as engine:
            executor = engine._executor
            sampler = Sampler(PENALIZED, [5], executor.spec.vocab_size)
            found.append(
                [
                    executor.sample([SequenceChunk(s, p, np.array([t], np.int32))], [sampler])
                    for s, p, t in jumps
                ]
            )
    assert found[1] == found[0]
