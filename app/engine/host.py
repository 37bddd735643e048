"""One plain thread that owns the model; everyone else sends requests and hears events."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from pathlib import Path

from app.core.boundary import Guard
from app.core.errors import EngineError, MemoryShortageError
from app.core.events import EngineState, EngineStateChanged, ErrorInfo, Event, LoadedModel
from app.core.secrets import remember_prompts
from app.engine.command_queue import CommandQueue
from app.engine.engine import Engine
from app.engine.executors.base import MemoryUse
from app.engine.host_options import HostOptions
from app.engine.kv_store import remove_conversation
from app.engine.loader import LoadedEngine, load_engine
from app.engine.memory import return_freed_memory, sample_memory
from app.engine.metrics import EngineMetrics
from app.engine.open_requests import OpenRequests
from app.engine.preparing import Prepared, RequestPreparer
from app.engine.request import Request
from app.engine.request_handle import RequestHandle
from app.engine.tokenizer import Tokenizer

MEMORY_SAMPLE_INTERVAL_S = 1.0
NUM_SLOTS = 8  # requests that decode in one batch
_LAST_CHORES_S = 2.0  # what unloading waits for conversations to be saved


class EngineHost:
    """Loads, generates and unloads on its own thread, one command or one engine step at a time.

    Methods may be called from any thread and return at once unless they say that they wait.
    `listener` hears every event on the engine thread, in order; it must be quick and not raise.
    A context manager that closes.
    """

    def __init__(
        self,
        listener: Callable[[Event], None] | None = None,
        options: HostOptions | None = None,
    ) -> None:
        self._listener = listener
        self._commands = CommandQueue()
        # From here on the engine thread's alone; `state`, `model` and `metrics` may be read by
        # anyone: each is one object that is replaced, never changed.
        self._options = options or HostOptions()
        self._state = EngineState.UNLOADED
        self._model: LoadedModel | None = None
        self._tokenizer: Tokenizer | None = None
        self._metrics = EngineMetrics()
        self._announced: tuple[EngineState, LoadedModel | None] = (EngineState.UNLOADED, None)
        self._failure: ErrorInfo | None = None
        self._loaded: LoadedEngine | None = None
        self._load_again: Callable[[], LoadedEngine] | None = None  # while unloaded for idleness
        self._last_load: Callable[[], LoadedEngine] | None = None
        self._last_step_s = 0.0
        self._requests = OpenRequests(self._emit)
        self._preparer = RequestPreparer(self._commands)
        self._next_sample_s = 0.0
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._thread.start()

    @property
    def state(self) -> EngineState:
        """Where the engine stands now."""
        return self._state

    @property
    def model(self) -> LoadedModel | None:
        """The model that is loaded now, or that the next request loads again."""
        return self._model

    @property
    def tokenizer(self) -> Tokenizer | None:
        """That of `model`, for other threads too: replies are taken apart with it."""
        return None if self._model is None else self._tokenizer

    def metrics(self) -> EngineMetrics:
        """Counts as of the last step; all 0 without a model."""
        return self._metrics

    def set_options(self, options: HostOptions) -> None:
        """Replaces the options; the model stays loaded."""
        self._commands.send(partial(self._set_options, options))

    def forget_conversation(self, cache_key: str) -> None:
        """Removes what is kept on disk of a conversation that was deleted."""
        self._commands.send(partial(self._forget, cache_key))

    def load(
        self,
        model_dir: Path,
        device: str = "auto",
        max_model_len: int | None = None,
        activations: str = "int8",
        kv_dtype: str = "fp16",
    ) -> Future[LoadedModel]:
        """Loads a native checkpoint in place of the present one, whose requests are cancelled.

        The future fails as `app.engine.loader.load_engine` raises.
        """
        future: Future[LoadedModel] = Future()
        load = partial(
            load_engine,
            model_dir,
            device,
            max_model_len,
            num_slots=NUM_SLOTS,
            activations=activations,
            kv_dtype=kv_dtype,
        )
        self._commands.send(partial(self._load, future, model_dir, load))
        return future

    def load_and_wait(
        self,
        model_dir: Path,
        device: str = "auto",
        max_model_len: int | None = None,
        activations: str = "int8",
        kv_dtype: str = "fp16",
    ) -> LoadedModel:
        """`load`, waiting for its end; raises what made it fail."""
        return self.load(model_dir, device, max_model_len, activations, kv_dtype).result()

    def submit(
        self, request: Request, on_event: Callable[[Event], None] | None = None
    ) -> RequestHandle:
        """Queues a request; whatever is wrong with it comes as RequestFailed.

        With `on_event` the request's events go there, on the engine thread, and not to the handle:
        like the listener it must be quick and not raise.
        """
        remember_prompts(request.texts)
        handle = RequestHandle(request.request_id, self.cancel, on_event)
        self._commands.send(partial(self._add, request, handle))
        return handle

    def measure(self, request: Request) -> None:
        """Tells the listener what a request would take: PromptMeasured, where it can be known."""
        self._commands.send(partial(self._measure, request))

    def cancel(self, request_id: str) -> None:
        """Ends a request within one token; no effect on one that has ended."""
        self._commands.send(partial(self._cancel, request_id))

    def unload(self) -> Future[None]:
        """Cancels what runs and gives the model's memory back."""
        future: Future[None] = Future()
        self._commands.send(partial(self._unload, future))
        return future

    def close(self) -> None:
        """Unloads, ends the thread and waits for it. May be called twice."""
        self._commands.close(last=self._stop)
        self._thread.join()
        self._preparer.close()

    def __enter__(self) -> EngineHost:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    # --- on the engine thread ----------------------------------------------------------------

    def _run(self) -> None:
        while not self._is_stopped:
            with self._surviving():
                self._commands.run(*self._patience())
                if self._loaded is not None:
                    self._work(self._loaded)
                self._metrics = self._count(self._loaded)

    def _patience(self) -> tuple[bool, float | None]:
        """Waits only when there is nothing else to do, and then until the next memory sample."""
        if self._loaded is None:
            return True, None
        engine = self._loaded.engine
        idle_s = max(0.0, self._next_sample_s - time.monotonic())
        return not (engine.has_work or engine.has_chores), idle_s

    def _count(self, loaded: LoadedEngine | None) -> EngineMetrics:
        if loaded is None:
            return EngineMetrics()
        metrics, watch = loaded.engine.metrics(), loaded.card_watch
        return replace(
            metrics,
            num_waiting=metrics.num_waiting + self._requests.num_preparing,
            card=None if watch is None else watch.counts(),
        )

    def _work(self, loaded: LoadedEngine) -> None:
        if loaded.engine.has_work:
            self._requests.publish(loaded.engine.step())
            self._last_step_s = time.monotonic()
        elif loaded.engine.has_chores:
            loaded.engine.do_chore()
        if time.monotonic() >= self._next_sample_s:
            self._next_sample_s = time.monotonic() + MEMORY_SAMPLE_INTERVAL_S
            self._emit_memory(loaded)
            self._unload_if_idle(loaded)

    def _surviving(self) -> Guard:
        """Native code may raise anything, at a step as at a cancel: this thread goes on."""
        return Guard("The engine failed", self._fail)

    def _emit_memory(self, loaded: LoadedEngine) -> None:
        use = loaded.engine.memory_use()
        if loaded.card_watch is not None:
            num_tokens = loaded.engine.metrics().tokens_decoded
            self._emit(sample_memory(use, loaded.card_watch.sample(num_tokens)))
            return
        kv_bytes = use.kv_bytes + loaded.engine.snapshot_bytes
        self._emit(sample_memory(replace(use, kv_bytes=kv_bytes)))

    def _unload_if_idle(self, loaded: LoadedEngine) -> None:
        limit_s = self._options.idle_unload_s
        if limit_s is None or loaded.engine.has_work or self._requests.num_preparing:
            return
        if time.monotonic() - self._last_step_s >= limit_s:
            self._drop_engine()
            self._load_again, self._model = self._last_load, loaded.model
            self._set_state(EngineState.UNLOADED, loaded.model)

    def _load(
        self, future: Future[LoadedModel], model_dir: Path, load: Callable[[], LoadedEngine]
    ) -> None:
        def fail(error: Exception) -> None:
            self._fail(error)
            future.set_exception(error)

        self._drop_engine()
        with Guard(f"Loading {model_dir} failed", fail):
            future.set_result(self._start_engine(load))

    def _start_engine(self, load: Callable[[], LoadedEngine]) -> LoadedModel:
        self._load_again = None
        self._set_state(EngineState.LOADING)
        self._loaded = loaded = load()
        loaded.engine.use_store(self._options.open_store(loaded))
        self._last_load, self._model = load, loaded.model
        self._tokenizer = loaded.tokenizer
        self._metrics = self._count(loaded)
        self._next_sample_s = self._last_step_s = time.monotonic()
        self._set_state(EngineState.READY, loaded.model)
        return loaded.model

    def _set_options(self, options: HostOptions) -> None:
        before, self._options = self._options, options
        if self._loaded is not None and not options.keeps_like(before):
            self._loaded.engine.use_store(options.open_store(self._loaded))

    def _forget(self, cache_key: str) -> None:
        if self._loaded is not None:
            self._loaded.engine.forget(cache_key)
        if self._options.kv_dir is not None:
            remove_conversation(self._options.kv_dir, cache_key)

    def _wake(self) -> None:
        """Loads again what was unloaded for idleness."""
        if self._load_again is None:
            return
        with Guard("Loading again failed", self._fail):
            self._start_engine(self._load_again)

    def _add(self, request: Request, handle: RequestHandle) -> None:
        self._wake()
        if not self._requests.open(handle):
            return
        try:
            engine = self._ready_engine().engine
        except EngineError as refusal:
            self._requests.fail(request.request_id, ErrorInfo.from_exception(refusal))
            return
        self._requests.begin(handle)
        queue = partial(self._queue, engine, handle)
        self._preparer.prepare(engine, request, handle.submitted_s, queue)

    def _queue(self, engine: Engine, handle: RequestHandle, outcome: Prepared) -> None:
        """Nothing for a request that was cancelled meanwhile, or its model unloaded."""
        if not self._requests.end_preparing(handle):
            return
        if isinstance(outcome, ErrorInfo):
            self._requests.fail(handle.request_id, outcome)
        else:
            self._requests.publish(engine.queue(outcome))

    def _ready_engine(self) -> LoadedEngine:
        if self._loaded is not None:
            return self._loaded
        if self._failure is not None:
            raise EngineError(
                "The engine has failed; load a model again. {failure}",
                failure=self._failure.message,
                detail=self._failure.detail,
            )
        raise EngineError("No model is loaded.")

    def _measure(self, request: Request) -> None:
        if self._loaded is not None:
            self._preparer.measure(self._loaded.engine, request, self._emit)

    def _cancel(self, request_id: str) -> None:
        self._requests.cancel_preparing(request_id)
        if self._loaded is not None:
            self._requests.publish(self._loaded.engine.cancel(request_id))

    def _unload(self, future: Future[None]) -> None:
        self._drop_engine()
        self._set_state(EngineState.UNLOADED)
        future.set_result(None)

    def _stop(self) -> None:
        self._drop_engine()
        self._set_state(EngineState.UNLOADED)
        self._is_stopped = True

    def _fail(self, error: Exception) -> None:
        """Ends every request with the error; the next load starts afresh."""
        failure = _describe(error)
        loaded, self._loaded = self._loaded, None
        if loaded is not None:
            self._close_engine(loaded)
        self._model = self._load_again = None
        self._set_state(EngineState.FAILED, error=failure)
        self._requests.fail_all(failure)

    def _drop_engine(self) -> None:
        self._model = self._load_again = None
        if self._loaded is None:
            return
        self._set_state(EngineState.UNLOADING)
        with self._surviving():
            self._requests.publish(self._loaded.engine.cancel_all())
            self._requests.cancel_all_preparing()
            self._finish_chores(self._loaded)
        loaded, self._loaded = self._loaded, None
        if loaded is not None:
            self._close_engine(loaded)

    def _finish_chores(self, loaded: LoadedEngine) -> None:
        deadline_s = time.monotonic() + _LAST_CHORES_S
        with Guard("The conversations could not be saved"):
            while loaded.engine.has_chores and time.monotonic() < deadline_s:
                loaded.engine.do_chore()

    def _close_engine(self, loaded: LoadedEngine) -> None:
        with Guard("The executor could not be closed"):
            loaded.close()
        return_freed_memory()
        with Guard("What is left in memory could not be measured"):  # nobody samples from now on
            watch, num_tokens = loaded.card_watch, self._metrics.tokens_decoded
            card = None if watch is None else watch.sample(num_tokens)
            self._emit(sample_memory(MemoryUse(0, 0, 0), card))

    def _set_state(
        self,
        state: EngineState,
        model: LoadedModel | None = None,
        error: ErrorInfo | None = None,
    ) -> None:
        if (state, model) == self._announced and error is None:
            return
        self._state, self._failure, self._announced = state, error, (state, model)
        self._emit(EngineStateChanged(state, model, error))

    def _emit(self, event: Event) -> None:
        if self._listener is not None:
            self._listener(event)


def _describe(error: Exception) -> ErrorInfo:
    if isinstance(error, MemoryError):
        error = MemoryShortageError("The machine has run out of memory.", detail=repr(error))
    return ErrorInfo.from_exception(error)
