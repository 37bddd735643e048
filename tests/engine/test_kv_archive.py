"""Conversations that outlive the engine: saved when it is idle, fetched when they go on."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from app.core.events import TokensGenerated
from app.engine.executors.base import Executor
from app.engine.executors.cpu import CpuExecutor
from app.engine.executors.reference import ReferenceExecutor
from app.engine.kv_archive import stored_format
from app.engine.kv_store import KVStore
from app.engine.request import Request, SamplingParams
from app.engine.tokenizer import Tokenizer
from app.spec.rope import RopeType
from tests.engine_runs import Run, open_run, write_hybrid_model
from tests.tiny_models import write_chat_model

KEY = "conversation 1"
PROMPT = "".join(chr(97 + i * i % 26) for i in range(520))  # two pages and a bit
KINDS: dict[str, type[Executor]] = {"reference": ReferenceExecutor, "cpu": CpuExecutor}


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny chat model with a context of several pages."""
    path = tmp_path_factory.mktemp("archive") / "tiny"
    return write_chat_model(path, max_position_embeddings=2048)


@pytest.fixture(scope="module")
def hybrid_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with linear layers."""
    return write_hybrid_model(tmp_path_factory.mktemp("hybrid"))


class Opener:
    """Makes engines that keep conversations in one directory, and closes them."""

    def __init__(self, stack: ExitStack, model_dir: Path, kv_dir: Path) -> None:
        self._stack, self.model_dir, self.kv_dir = stack, model_dir, kv_dir

    def __call__(self, model_dir: Path | None = None, **options: object) -> Run:
        model_dir = model_dir or self.model_dir
        run = self._stack.enter_context(open_run(model_dir, **options))  # type: ignore[arg-type]
        run.engine.use_store(KVStore(self.kv_dir, stored_format(model_dir, run.executor)))
        return run

    def files(self) -> list[Path]:
        return sorted(path for path in self.kv_dir.rglob("*") if path.is_file())


@pytest.fixture
def open_engine(model_dir: Path, tmp_path: Path) -> Iterator[Opener]:
    with ExitStack() as stack:
        yield Opener(stack, model_dir, tmp_path / "kv")


def ask(prompt: str, max_tokens: int = 12, cache_key: str | None = KEY) -> Request:
    sampling = SamplingParams(temperature=0.0, max_tokens=max_tokens, ignore_eos=True)
    return Request(prompt=prompt, sampling=sampling, cache_key=cache_key)


def save(run: Run) -> int:
    """Lets an idle engine do its chores; returns how many pieces those were."""
    num_chores = 0
    while run.engine.has_chores:
        run.engine.do_chore()
        num_chores += 1
    return num_chores


def turn(run: Run, prompt: str, **options: object) -> Request:
    """A request, answered and saved."""
    request = ask(prompt, **options)  # type: ignore[arg-type]
    run.answer(request)
    save(run)
    return request


def test_nothing_is_saved_without_a_key(open_engine: Opener) -> None:
    run = open_engine()
    turn(run, PROMPT, cache_key=None)
    assert open_engine.files() == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_conversation_goes_on_in_another_engine(open_engine: Opener, kind: str) -> None:
    first = open_engine(kind=KINDS[kind])
    said = first.ids(turn(first, PROMPT))
    later = open_engine(kind=KINDS[kind])
    longer = ask(PROMPT + " and then? " * 6)
    wanted = open_engine(kind=KINDS[kind]).answer(replace(longer, cache_key=None))
    assert later.answer(longer) == wanted
    assert later.cached(longer) == len(PROMPT)
    assert later.engine.metrics().tokens_prefilled == 66
    regenerated = open_engine(kind=KINDS[kind])
    again = ask(PROMPT + " and then? " * 6)
    assert regenerated.ids(turn(regenerated, PROMPT)) == said
    assert regenerated.answer(again) == wanted


def test_a_recurrent_state_is_fetched_with_its_pages(open_engine: Opener, hybrid_dir: Path) -> None:
    begun = Tokenizer.from_dir(hybrid_dir).encode(PROMPT)
    first = open_engine(hybrid_dir)
    said = first.ids(turn(first, PROMPT))
    longer = replace(ask(""), prompt=(*begun, *said, *begun[:70]))
    wanted = open_engine(hybrid_dir).answer(replace(longer, cache_key=None))
    later = open_engine(hybrid_dir)
    assert later.answer(longer) == wanted
    assert later.cached(longer) == len(begun) + len(said) - 1


def test_a_state_that_has_seen_more_is_not_fetched(open_engine: Opener, hybrid_dir: Path) -> None:
    turn(open_engine(hybrid_dir), PROMPT)
    edited = ask(PROMPT[:300] + " something else " * 10)
    wanted = open_engine(hybrid_dir).answer(replace(edited, cache_key=None))
    later = open_engine(hybrid_dir)
    assert later.answer(edited) == wanted
    assert later.cached(edited) == 0


def test_a_damaged_state_is_computed_anew(open_engine: Opener, hybrid_dir: Path) -> None:
    first = open_engine(hybrid_dir)
    turn(first, PROMPT, max_tokens=1)
    longer = ask(PROMPT + "?")
    wanted = open_engine(hybrid_dir).answer(replace(longer, cache_key=None))
    sizes = {path.stat().st_size: path for path in open_engine.files()}
    state = sizes[first.executor.state_bytes]
    state.write_bytes(state.read_bytes()[:-1])
    later = open_engine(hybrid_dir)
    assert later.answer(longer) == wanted
    assert later.cached(longer) == 0


def test_an_edited_conversation_fetches_what_is_still_the_same(open_engine: Opener) -> None:
    turn(open_engine(), PROMPT)
    later, edited = open_engine(), ask(PROMPT[:300] + " something else " * 10)
    wanted = open_engine().answer(replace(edited, cache_key=None))
    assert later.answer(edited) == wanted
    assert later.cached(edited) == 300


def test_what_is_in_memory_is_not_fetched(
    open_engine: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = open_engine()
    turn(run, PROMPT)
    monkeypatch.setattr(KVStore, "read", lambda *args: pytest.fail("read from disk"))
    again = ask(PROMPT + " more" * 30)
    run.answer(again)
    assert run.cached(again) >= len(PROMPT)


def test_only_new_pages_are_written(open_engine: Opener) -> None:
    run = open_engine()
    first = turn(run, PROMPT)
    before = {path: path.stat().st_mtime_ns for path in open_engine.files()}
    text = "".join(e.text for e in run.of(first, TokensGenerated))
    turn(run, PROMPT + text + " more" * 20)
    after = {path: path.stat().st_mtime_ns for path in open_engine.files()}
    unchanged = [path for path in after if before.get(path) == after[path]]
    assert len(unchanged) == 2  # the two whole pages of the first turn
    assert len(after) == 3 + 1  # a page that has grown, and the index


def test_what_has_left_the_memory_does_not_shorten_what_is_kept(open_engine: Opener) -> None:
    run = open_engine(num_slots=1, num_pages=3)
    turn(run, PROMPT)
    run.answer(ask(PROMPT + "?"))
    run.answer(ask("z" * 600, cache_key=None))
    assert run.engine.has_chores
    save(run)
    later, again = open_engine(), ask(PROMPT + "?")
    later.answer(again)
    assert later.cached(again) == len(PROMPT)


def test_a_turn_that_comes_while_it_is_saved_goes_first(open_engine: Opener) -> None:
    run = open_engine()
    run.answer(ask(PROMPT))
    assert run.engine.has_chores
    run.engine.do_chore()
    other = ask("Hello", cache_key=None)
    run.add(other)
    run.step()
    assert run.ids(other)
    run.finish()
    save(run)
    later = open_engine()
    again = ask(PROMPT)
    later.answer(again)
    assert later.cached(again) == len(PROMPT) - 1


def test_pages_that_others_get_while_it_is_saved_are_not_taken_for_its_own(
    open_engine: Opener,
) -> None:
    run = open_engine(num_slots=1, num_pages=3)
    run.answer(ask(PROMPT))
    run.engine.do_chore()
    run.answer(ask("z" * 600, cache_key=None))
    save(run)
    wanted = open_engine().answer(ask(PROMPT + "?", cache_key=None))
    assert open_engine().answer(ask(PROMPT + "?")) == wanted


def test_replies_go_on_while_pages_are_fetched(open_engine: Opener) -> None:
    turn(open_engine(), PROMPT)
    run = open_engine()
    reply, restored = ask("Hello", max_tokens=40, cache_key=None), ask(PROMPT + "?")
    run.add(reply)
    run.step(3)
    run.add(restored)
    while not run.ids(restored):
        heard = {e.request_id for e in run.step() if isinstance(e, TokensGenerated)}
        assert reply.request_id in heard
    run.finish()
    assert run.cached(restored) == len(PROMPT)


@pytest.mark.parametrize("num_steps", [1, 2])
def test_cancelled_while_it_is_fetched(open_engine: Opener, num_steps: int) -> None:
    turn(open_engine(), PROMPT)
    run, request = open_engine(), ask(PROMPT + "?")
    run.add(request)
    run.step(num_steps)
    run.cancel(request)
    assert run.engine.metrics().pages_used == 0
    again = ask(PROMPT + "?")
    assert run.answer(again) == open_engine().answer(ask(PROMPT + "?", cache_key=None))


def test_pages_without_their_state_are_not_gone_on_from(
    open_engine: Opener, hybrid_dir: Path
) -> None:
    """Cancelled after the first of its pages has come."""
    begun = Tokenizer.from_dir(hybrid_dir).encode(PROMPT)
    first = open_engine(hybrid_dir)
    said = first.ids(turn(first, PROMPT))
    longer = replace(ask("", cache_key=None), prompt=(*begun, *said, *begun[:70]))
    wanted = open_engine(hybrid_dir).answer(longer)
    run, fetched = open_engine(hybrid_dir), replace(ask(""), prompt=longer.prompt, request_id="f")
    run.add(fetched)
    run.step()
    run.cancel(fetched)
    assert run.answer(longer) == wanted
    assert run.cached(longer) == 0


def test_a_pool_that_others_fill_is_no_obstacle(open_engine: Opener) -> None:
    turn(open_engine(), PROMPT)
    wanted = open_engine().answer(ask(PROMPT + "?", cache_key=None))
    run = open_engine(num_pages=4)
    others = [ask("abc" * 80, max_tokens=60, cache_key=None) for _ in range(2)]
    request = ask(PROMPT + "?")
    run.add(*others, request)
    run.finish()
    assert run.ids(request) == wanted


@pytest.mark.parametrize("index", range(4))
def test_a_flipped_byte_costs_time_and_changes_no_word(
    open_engine: Opener, caplog: pytest.LogCaptureFixture, index: int
) -> None:
    turn(open_engine(), PROMPT)
    wanted = open_engine().answer(ask(PROMPT + "?", cache_key=None))
    path = open_engine.files()[index]
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 16
    path.write_bytes(content)
    run, request = open_engine(), ask(PROMPT + "?")
    with caplog.at_level(logging.WARNING):
        assert run.answer(request) == wanted
    assert "Removed the KV cache" in caplog.text
    assert run.cached(request) in (0, 256, 512)
    save(run)
    again = open_engine()
    assert again.answer(ask(PROMPT + "?")) == wanted


def test_another_checkpoint_does_not_use_it(
    open_engine: Opener, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    turn(open_engine(), PROMPT)
    other_dir = write_chat_model(tmp_path / "other", seed=1, max_position_embeddings=2048)
    run, request = open_engine(other_dir), ask(PROMPT)
    with caplog.at_level(logging.WARNING):
        run.answer(request)
    assert run.cached(request) == 0
    assert "of another model" in caplog.text


def test_what_cannot_be_written_is_given_up(
    open_engine: Opener, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object) -> None:
        raise OSError("disk full")

    run = open_engine()
    run.answer(ask(PROMPT))
    monkeypatch.setattr(KVStore, "write", fail)
    with caplog.at_level(logging.WARNING):
        save(run)
    assert "could not be saved: disk full" in caplog.text
    assert run.answer(ask("Hello"))


def test_a_deleted_conversation_is_not_saved_any_more(open_engine: Opener) -> None:
    run = open_engine()
    turn(run, PROMPT)
    run.answer(ask(PROMPT + "?"))
    run.engine.forget(KEY)
    assert not run.engine.has_chores
    assert open_engine.files() == []


def test_frequencies_that_depend_on_the_context_tie_a_page_to_it(
    open_engine: Opener, model_dir: Path
) -> None:
    def formats(rope_type: RopeType) -> set[str]:
        found = set()
        for length in (600, 700):
            executor = open_engine(max_model_len=length).executor
            rope = replace(executor.spec.rope, rope_type=rope_type)
            executor.spec = replace(executor.spec, rope=rope)
            found.add(stored_format(model_dir, executor))
        return found

    assert len(formats(RopeType.DEFAULT)) == 1
    assert len(formats(RopeType.DYNAMIC)) == 2


def test_an_executor_with_another_cache_has_another_format(open_engine: Opener) -> None:
    kinds = [{"kv_dtype": "fp32"}, {"kv_dtype": "int8"}, {"activations": "int8"}]
    runs = [open_engine(kind=CpuExecutor, **options) for options in kinds]
    runs.append(open_engine())
    formats = {stored_format(open_engine.model_dir, run.executor) for run in runs}
    assert len(formats) == 4
