"""Other servers for the window: which models one has, the one that was used last, and its key."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, Signal, Slot

from app.controllers.kept_key import KeptKey
from app.controllers.remote_question import RemoteQuestion
from app.controllers.reporting import Reporting
from app.core.keychain import Keychain
from app.core.secrets import remember_secret
from app.core.settings_store import SettingsStore
from app.remote.endpoint import RemoteEndpoint, RemoteModel, parse_base_url


class RemoteController(QObject):
    """Keys lie in the system's keyring; without one they live as long as the program.

    Signals (all on the GUI thread):
        models_found(tuple[RemoteModel]): of the server that was asked.
        failed(ErrorInfo): of that question, or an address that is none.
        key_known(str): the key that is kept for the server of `ask_key`; '' for none.
        endpoint_chosen(RemoteEndpoint): the chat is to be answered there.
    """

    models_found = Signal(object)
    failed = Signal(object)
    key_known = Signal(str)
    endpoint_chosen = Signal(object)

    def __init__(
        self, settings: SettingsStore, keychain: Keychain, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._settings = settings
        self._question: RemoteQuestion | None = None
        self._is_reconnecting = False
        self._kept = KeptKey(keychain, self)
        self._kept.read.connect(self._on_key_read)

    @property
    def base_url(self) -> str:
        """The server that was used last; '' for none."""
        return self._settings.values.remote_url

    @property
    def model(self) -> str:
        """The model that was used last."""
        return self._settings.values.remote_model

    def ask_key(self) -> None:
        """Answered by `key_known` for the server that was used last."""
        if self.base_url:
            self._kept.ask(_key_name(self.base_url))

    def find_models(self, address: str, key: str) -> None:
        """Asks a server; answered by `models_found` or `failed`. The last question counts."""
        endpoint = self._parse(address, key)
        if endpoint is None:
            return
        self.give_up()
        self._question = RemoteQuestion(partial(_list_models, endpoint), self)
        self._question.answered.connect(self._on_question_answered)
        self._question.failed.connect(self.failed)

    def give_up(self) -> None:
        """Nobody waits for the answer to `find_models` any more; it is not told."""
        if self._question is not None:
            self._question.give_up()
            self._question = None

    def use(self, address: str, key: str, model: str) -> None:
        """Takes a server and remembers it; answered by `endpoint_chosen` or `failed`."""
        endpoint = self._parse(address, key)
        if endpoint is None:
            return
        self._kept.keep(_key_name(endpoint.base_url), key)
        self._settings.update(remote_url=endpoint.base_url, remote_model=model, uses_remote=True)
        self.endpoint_chosen.emit(RemoteEndpoint(endpoint.base_url, model, key))

    def reconnect(self) -> None:
        """At the start: the server that was used last, once its key has been read."""
        self._is_reconnecting = True
        self.ask_key()

    def shutdown(self) -> None:
        """Breaks off what is asked and waits."""
        self.give_up()
        for question in self.findChildren(RemoteQuestion):
            question.join()
        self._kept.shutdown()

    def _parse(self, address: str, key: str) -> RemoteEndpoint | None:
        remember_secret(key)
        with Reporting(self.failed):
            return RemoteEndpoint(parse_base_url(address), api_key=key)
        return None

    @Slot(object)
    def _on_question_answered(self, models: tuple[RemoteModel, ...]) -> None:
        self.models_found.emit(models)

    @Slot(str, str)
    def _on_key_read(self, name: str, key: str) -> None:
        if name != _key_name(self.base_url):
            return
        if self._is_reconnecting:
            self._is_reconnecting = False
            self.endpoint_chosen.emit(RemoteEndpoint(self.base_url, self.model, key))
        self.key_known.emit(key)


async def _list_models(endpoint: RemoteEndpoint) -> tuple[RemoteModel, ...]:
    from app.remote.client import list_models  # a fifth of a second to import

    return await list_models(endpoint)


def _key_name(base_url: str) -> str:
    return f"remote {base_url}"
