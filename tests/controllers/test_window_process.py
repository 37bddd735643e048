"""What the processes never load: the window's no engine, the workers no Qt, nobody torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 600.0

# The window's controllers do all they can do: convert, load, reply; then tell what was loaded.
WINDOW = """
    import json, sys
    from pathlib import Path
    import psutil
    from PySide6.QtCore import QCoreApplication
    from app.chat.store import ChatStore
    from app.controllers.chat import ChatController
    from app.controllers.conversion import ConversionController
    from app.controllers.library import LibraryController
    from app.core.paths import chats_path, library_dir
    from app.workers.commands import LoadModel

    def loaded_files(pid):
        return sorted({{Path(part.path).name for part in psutil.Process(pid).memory_maps()}})

    def fail(reason):
        print(f"failed: {{reason}}", file=sys.stderr)
        app.exit(1)

    def on_converted(report):
        found["convert"] = loaded_files(converter_pids()[0])
        library.refresh()
        chat.load(LoadModel(report.output, device="cpu", max_model_len=256))

    def converter_pids():
        children = psutil.Process().children()
        return [c.pid for c in children if any("spawn_main" in part for part in c.cmdline())]

    def on_replied(_, turn):
        found["engine"] = loaded_files(chat.worker_pid)
        found["window"] = sorted(sys.modules)
        app.quit()

    found = {{}}
    app = QCoreApplication([])
    chat = ChatController(ChatStore.open(chats_path()))
    conversion = ConversionController(library_dir())
    library = LibraryController(library_dir())
    conversion.finished.connect(on_converted)
    chat.model_loaded.connect(lambda model: chat.send("Say hello."))
    chat.reply_finished.connect(on_replied)
    for signal in (conversion.failed, chat.failed, chat.worker_died, library.failed):
        signal.connect(fail)
    conversion.enqueue([Path({source!r})])
    code = app.exec()
    for controller in (conversion, chat, library):
        controller.shutdown()
    print(json.dumps(found))
    sys.exit(code)
"""


@pytest.fixture(scope="module")
def found(starter_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Module names of the window's process; names of the files mapped into the workers."""
    folder = tmp_path_factory.mktemp("window")
    program = textwrap.dedent(WINDOW.format(source=str(starter_gguf)))
    environment = os.environ | {"PYTHONPATH": str(ROOT), "DEEPINFER_HOME": str(folder / "home")}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize(
    "name",
    ["torch", "transformers", "cupy", "app.engine.host", "app.engine.executors", "app.converter"],
)
def test_the_window_never_imports(found: dict[str, Any], name: str) -> None:
    modules = found["window"]
    assert "app.controllers.chat" in modules
    assert [module for module in modules if module == name or module.startswith(f"{name}.")] == []


@pytest.mark.skipif(sys.platform != "linux", reason="reads the files mapped into a process")
@pytest.mark.parametrize("worker", ["engine", "convert"])
@pytest.mark.parametrize("library", ["libQt6", "libtorch", "libpyside"])
def test_the_workers_never_load(found: dict[str, Any], worker: str, library: str) -> None:
    files = found[worker]
    assert any("multiarray" in file for file in files), "NumPy is not there: whose files are these?"
    assert [file for file in files if file.startswith(library)] == []
