"""Which hub is asked: the next one, with the same bytes, when one does not answer any more."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from app.core.errors import AppError
from app.core.sentence import Sentence
from app.hub.client import HubClient
from app.hub.repository import RemoteFile, Repository

_log = logging.getLogger(__name__)


class Route:
    """The hubs in their order; all threads of a download go over to the next one together."""

    def __init__(
        self,
        clients: Sequence[HubClient],
        repository: Repository,
        tell: Callable[[str], None] = lambda _note: None,
    ) -> None:
        self._clients, self._repository, self._tell = tuple(clients), repository, tell
        self._index = 0
        self._lock = threading.Lock()

    @property
    def current(self) -> HubClient:
        """The hub to ask now."""
        return self._clients[self._index]

    @property
    def has_next(self) -> bool:
        """Whether there is another one."""
        return self._index + 1 < len(self._clients)

    def leave(self, client: HubClient, file: RemoteFile) -> bool:
        """Goes over to the next hub that has `file` under the same digest; False: there is none.

        `client` is the one that failed: where another thread has left it already, nothing is done.
        """
        with self._lock:
            if self.current is not client:
                return True
            for index in range(self._index + 1, len(self._clients)):
                problem = self._problem_with(self._clients[index], file)
                if not problem:
                    self._index = index
                    self._say(
                        Sentence(
                            "{base} does not answer; {other} goes on.",
                            base=client.base,
                            other=self.current.base,
                        )
                    )
                    return True
                self._say(problem)
            return False

    def _problem_with(self, client: HubClient, file: RemoteFile) -> str:
        try:
            other = client.find_file(self._repository, file.path)
        except AppError as error:
            return error.message
        if other is None or (other.etag, other.num_bytes) != (file.etag, file.num_bytes):
            return Sentence(
                "{base} has other bytes under {file}; nothing is taken from there.",
                base=client.base,
                file=file.path,
            )
        return ""

    def _say(self, note: str) -> None:
        _log.warning("%s", note)
        self._tell(note)
