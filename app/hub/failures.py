"""What a hub answers instead of a file, each as one sentence with the page to open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from httpx2 import HTTPError, Response
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from app.core.errors import (
    AppError,
    HubAccessError,
    HubBusyError,
    HubOfflineError,
    HubSilentError,
    InvalidSourceError,
    UsageError,
)
from app.core.sentence import Sentence

_UNAUTHORIZED, _FORBIDDEN, _TOO_MANY = 401, 403, 429


class TooManyRequestsError(Exception):
    """An answer 429, before huggingface_hub sleeps for as long as the hub asks, unheard."""

    def __init__(self, wait_s: float | None) -> None:
        super().__init__(f"429, Retry-After {wait_s}")
        self.wait_s = wait_s


def raise_for_too_many(response: Response) -> None:
    """A hook of the HTTP client for every answer."""
    if response.status_code == _TOO_MANY:
        seconds = response.headers.get("Retry-After", "")
        raise TooManyRequestsError(float(seconds) if seconds.isdigit() else None)


@dataclass(frozen=True, slots=True)
class Asked:
    """`what` of `repo_id` ('' for the hub itself) was asked of `endpoint`, with a token or not."""

    endpoint: str
    repo_id: str
    what: str
    has_token: bool = False

    @property
    def subject(self) -> str:
        """`what`, and of which repository."""
        if not self.repo_id:
            return self.what
        return Sentence("{what} of {repo_id}", what=self.what, repo_id=self.repo_id)

    @property
    def page(self) -> str:
        """Where a person reads about it."""
        return f"{self.endpoint}/{self.repo_id}".rstrip("/")

    @property
    def token_page(self) -> str:
        """Where tokens are made."""
        return f"{self.endpoint}/settings/tokens"


@contextmanager
def explained(asked: Asked) -> Iterator[None]:
    """Inside, what huggingface_hub and its HTTP client raise becomes an AppError."""
    try:
        yield
    except HFValidationError as error:
        raise UsageError(
            "{repo_id} is not the name of a repository.", repo_id=asked.repo_id, detail=str(error)
        ) from error
    except HfHubHTTPError as error:
        raise _explain(error, asked) from error
    except EntryNotFoundError as error:  # LocalEntryNotFoundError where the hub did not answer
        if isinstance(error, LocalEntryNotFoundError):
            raise _silent(asked, error) from error
        raise InvalidSourceError(
            "{repo_id} has no {what}.", repo_id=asked.repo_id, what=asked.what, detail=str(error)
        ) from error
    except OfflineModeIsEnabled as error:
        raise HubOfflineError(
            "HF_HUB_OFFLINE is set, so {what} is not asked for.",
            what=asked.subject,
            detail=str(error),
        ) from error
    except TooManyRequestsError as error:
        raise _busy(asked, error) from error
    except HTTPError as error:
        raise _silent(asked, error) from error


def _silent(asked: Asked, error: Exception) -> HubSilentError:
    cause = error.__cause__ or error
    return HubSilentError(
        "The hub did not answer for {what} ({page}); check the connection or the address of the "
        "hub (HF_ENDPOINT).",
        what=asked.what,
        page=asked.page,
        detail=f"{error!r} {cause!r}",
    )


def _busy(asked: Asked, error: TooManyRequestsError) -> HubBusyError:
    when = Sentence("later")
    if error.wait_s is not None:
        when = Sentence("in {seconds:.0f} seconds", seconds=error.wait_s)
    return HubBusyError(
        "{endpoint} has had too many requests from here; try again {when}.",
        endpoint=asked.endpoint,
        when=when,
        detail=str(error),
        wait_s=error.wait_s,
    )


def _explain(error: HfHubHTTPError, asked: Asked) -> AppError:
    status, detail = error.response.status_code, str(error)
    if isinstance(error, GatedRepoError):
        return HubAccessError(_gated(asked, status), detail=detail)
    if status == _UNAUTHORIZED and "Invalid credentials" in (error.server_message or ""):
        return HubAccessError(
            "{endpoint} does not accept the token: it was revoked or has expired; make a new one "
            "at {token_page}.",
            endpoint=asked.endpoint,
            token_page=asked.token_page,
            detail=detail,
        )
    if isinstance(error, RevisionNotFoundError):
        return InvalidSourceError("{page} has no such revision.", page=asked.page, detail=detail)
    if isinstance(error, EntryNotFoundError):
        return InvalidSourceError(
            "{repo_id} has no {what}.", repo_id=asked.repo_id, what=asked.what, detail=detail
        )
    if isinstance(error, RepositoryNotFoundError):
        return HubAccessError(_missing(asked), detail=detail)
    return _explain_status(status, error, asked)


def _gated(asked: Asked, status: int) -> str:
    if asked.has_token and status == _FORBIDDEN:
        return Sentence(
            "{repo_id} is gated, and the account of this token has no access to it yet: "
            "accept its terms, or wait until its authors have agreed, at {page}.",
            repo_id=asked.repo_id,
            page=asked.page,
        )
    return Sentence(
        "{repo_id} is gated: accept its terms at {page}, then give the program (or "
        "HF_TOKEN) a token of that account, made at {token_page}.",
        repo_id=asked.repo_id,
        page=asked.page,
        token_page=asked.token_page,
    )


def _missing(asked: Asked) -> str:
    if asked.has_token:
        return Sentence(
            "The hub has no repository {repo_id}, or this token may not see it ({page}).",
            repo_id=asked.repo_id,
            page=asked.page,
        )
    return Sentence(
        "The hub has no repository {repo_id}, or it is private and wants a token ({page}).",
        repo_id=asked.repo_id,
        page=asked.page,
    )


def _explain_status(status: int, error: HfHubHTTPError, asked: Asked) -> AppError:
    detail = str(error)
    if status in (_UNAUTHORIZED, _FORBIDDEN):
        who = Sentence("to this token") if asked.has_token else Sentence("without a token")
        return HubAccessError(
            "The hub refuses {what} of {repo_id} {who}; see {page} and {token_page}.",
            what=asked.what,
            repo_id=asked.repo_id,
            who=who,
            page=asked.page,
            token_page=asked.token_page,
            detail=detail,
        )
    return HubSilentError(
        "The hub answered {status} for {what} ({page}).",
        status=status,
        what=asked.what,
        page=asked.page,
        detail=detail,
    )
