"""What is asked about tokens of hubs, and those that no keyring keeps. No Qt."""

from __future__ import annotations

from app.core.download_events import TokenTold
from app.workers.commands import AskToken, ForgetToken, SaveToken, UseToken

TokenCommand = AskToken | SaveToken | ForgetToken


class HubTokens:
    """A process that is ended has maybe not done what it was asked: `unanswered` is asked again."""

    def __init__(self) -> None:
        self._session: dict[str, str] = {}
        self._unanswered: list[TokenCommand] = []

    @property
    def session(self) -> tuple[UseToken, ...]:
        """Those that live as long as this program, as commands for a fresh process."""
        return tuple(UseToken(endpoint, token) for endpoint, token in self._session.items())

    @property
    def unanswered(self) -> tuple[TokenCommand, ...]:
        """In the order in which they were asked."""
        return tuple(self._unanswered)

    def ask(self, command: TokenCommand) -> None:
        """It is on its way; a token that is to be forgotten is used no more."""
        self._unanswered.append(command)
        if isinstance(command, ForgetToken):
            self._session.pop(command.endpoint, None)

    def receive(self, told: TokenTold) -> TokenCommand | None:
        """What it answers."""
        command = self.drop(told.endpoint)
        if isinstance(command, SaveToken) and told.origin == "session":
            self._session[command.endpoint] = command.token
        return command

    def drop(self, endpoint: str) -> TokenCommand | None:
        """The first that waits for an answer about this hub, which waits no more."""
        command = next((one for one in self._unanswered if one.endpoint == endpoint), None)
        if command is not None:
            self._unanswered.remove(command)
        return command
