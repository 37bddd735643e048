"""The real window, driven from a script: one step after another in Qt's own event loop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import httpx2
from PySide6.QtCore import QEventLoop, QTimer

from app.controllers.chat_state import ChatState
from app.controllers.conversion_job import ConversionOptions
from app.controllers.server import ServerState
from app.core.paths import settings_path
from app.core.settings_store import SettingsStore
from app.gui import Program, create_application
from app.hub.starter import require_starter
from benchmarks.camera import take_picture

_TIMEOUT_S = 600.0
_POLL_S = 0.02
_FIRST_WORDS = 120  # characters


class WindowDriver:
    """A program that is open; a context manager that shuts it down."""

    def __init__(self, **settings: object) -> None:
        """`settings` are set before the window opens (`app.core.settings`)."""
        SettingsStore(settings_path()).update(**settings)
        self.app = create_application()
        self.program = Program(self.app)
        self.window = self.program.window
        self.controllers = self.program.controllers
        self._readers: list[threading.Thread] = []

    def __enter__(self) -> WindowDriver:
        self.window.show()
        self.program.start(None)
        return self

    def __exit__(self, *_error: object) -> None:
        self.window.close()
        self.program.shutdown()

    def wait_until(self, condition: Callable[[], bool], what: str) -> None:
        """Runs the event loop until the condition holds; raises TimeoutError naming `what`."""
        deadline_s = time.monotonic() + _TIMEOUT_S
        while not condition():
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"Waited in vain for {what}.")
            self.rest(_POLL_S)

    def rest(self, seconds: float) -> None:
        """Runs the event loop for a while; it sleeps when there is nothing to do."""
        loop = QEventLoop()
        QTimer.singleShot(round(1000 * seconds), loop.quit)
        loop.exec()

    def convert_starter(self, options: ConversionOptions | None = None) -> None:
        """Converts the starter model, again if need be; leaves its report on the page."""
        reports: list[object] = []
        conversion = self.controllers.conversion
        conversion.finished.connect(reports.append)
        self.window.show_page(self.window.convert_page)
        conversion.enqueue([require_starter()], options, overwrite=True)
        self.wait_until(lambda: bool(reports), "the conversion")

    def validate_starter(self) -> None:
        """Validates the starter model; leaves its rows on the page."""
        reports: list[object] = []
        self.controllers.validation.finished.connect(reports.append)
        self.window.validate([require_starter()])
        self.wait_until(lambda: bool(reports), "the validation")
        self.window.validate_page.field.show_source(require_starter().name)

    def load_first_model(self) -> None:
        """Loads the first checkpoint of the library into the chat."""
        loaded: list[object] = []
        entries: list[object] = []
        self.controllers.library.entries_changed.connect(entries.append)
        self.controllers.library.refresh()
        self.wait_until(lambda: bool(entries and entries[-1]), "the library")
        self.controllers.chat.model_loaded.connect(loaded.append)
        self.window.chat_with(entries[-1][0].path)  # type: ignore[index]
        self.wait_until(lambda: bool(loaded), "the model")

    def begin_reply(self, text: str) -> None:
        """Sends a message and waits for the first words."""
        self.controllers.chat.send(text)
        self.wait_until(lambda: len(self.controllers.chat.reply_text) > _FIRST_WORDS, "words")

    def ask(self, text: str) -> None:
        """Sends a message and waits for the whole reply."""
        self.controllers.chat.send(text)
        self.finish_reply()

    def finish_reply(self) -> None:
        """Waits for the end of the reply that runs."""
        chat = self.controllers.chat
        self.wait_until(lambda: chat.state is not ChatState.GENERATING, "the reply")

    def serve(self, prompts: Sequence[str]) -> None:
        """Opens the port and asks it with the official client, all at once; leaves the list of
        requests on the page while the last of them run.
        """
        server = self.controllers.server
        self.window.show_page(self.window.server_page)
        server.start()
        self.wait_until(lambda: server.state is ServerState.ON, "the port")
        for prompt in prompts:
            reader = threading.Thread(target=_read_reply, args=(server.base_url, prompt))
            reader.start()
            self._readers.append(reader)
        self.wait_until(lambda: len(server.log.finished) >= len(prompts) // 2, "half the replies")
        self.rest(1.0)

    def stop_serving(self) -> None:
        """Closes the port and waits for the clients."""
        server = self.controllers.server
        server.stop()
        self.wait_until(lambda: server.state is ServerState.OFF, "the end of the port")
        for reader in self._readers:
            reader.join()

    def save(self, path: Path) -> None:
        """A picture of the window."""
        take_picture(self.window).save(str(path))


def _read_reply(base_url: str, prompt: str) -> None:
    body = {"messages": [{"role": "user", "content": prompt}], "stream": True}
    url = f"{base_url}/chat/completions"
    with (
        suppress(httpx2.HTTPError),
        httpx2.stream("POST", url, json=body, timeout=_TIMEOUT_S) as response,
    ):
        for _ in response.iter_raw():
            pass
