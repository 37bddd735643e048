"""What a hub answers instead of a file, each as one sentence with the page to open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from httpx2 import HTTPError
from huggingface_hub import constants
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

from app.core.errors import AppError, InvalidSourceError, ResourceError, UsageError

_UNAUTHORIZED, _FORBIDDEN, _TOO_MANY = 401, 403, 429


@contextmanager
def explained(repo_id: str, what: str, endpoint: str = "") -> Iterator[None]:
    """Inside, what huggingface_hub and its HTTP client raise becomes an AppError.

    `what` names in the sentence what was asked for, `endpoint` the hub where it is not the set one.
    """
    page = f"{endpoint or constants.ENDPOINT}/{repo_id}"
    try:
        yield
    except HFValidationError as error:
        raise UsageError(
            f"{repo_id} is not the name of a repository.", detail=str(error)
        ) from error
    except HfHubHTTPError as error:
        raise _explain(error, repo_id, what, page) from error
    except EntryNotFoundError as error:  # LocalEntryNotFoundError where the hub did not answer
        if isinstance(error, LocalEntryNotFoundError):
            raise _silent(page, what, error) from error
        raise InvalidSourceError(f"{repo_id} has no {what}.", detail=str(error)) from error
    except OfflineModeIsEnabled as error:
        sentence = f"HF_HUB_OFFLINE is set, so {what} of {repo_id} is not asked for."
        raise ResourceError(sentence, detail=str(error)) from error
    except HTTPError as error:
        raise _silent(page, what, error) from error


def _silent(page: str, what: str, error: Exception) -> ResourceError:
    cause = error.__cause__ or error
    sentence = f"The hub did not answer for {what} ({page}); check the connection or HF_ENDPOINT."
    return ResourceError(sentence, detail=f"{error!r} {cause!r}")


def _explain(error: HfHubHTTPError, repo_id: str, what: str, page: str) -> AppError:
    status = error.response.status_code
    if isinstance(error, GatedRepoError):
        return InvalidSourceError(
            f"{repo_id} is gated: accept its terms at {page}, then set HF_TOKEN to a token of that "
            f"account ({_token_page(page)}).",
            detail=str(error),
        )
    if status == _UNAUTHORIZED and "Invalid credentials" in (error.server_message or ""):
        return InvalidSourceError(
            f"The hub does not accept HF_TOKEN (expired or revoked); make a new one at "
            f"{_token_page(page)}.",
            detail=str(error),
        )
    return _explain_rest(error, repo_id, what, page)


def _explain_rest(error: HfHubHTTPError, repo_id: str, what: str, page: str) -> AppError:
    status, detail = error.response.status_code, str(error)
    if isinstance(error, RevisionNotFoundError):
        return InvalidSourceError(f"{page} has no such revision.", detail=detail)
    if isinstance(error, EntryNotFoundError):
        return InvalidSourceError(f"{repo_id} has no {what}.", detail=detail)
    if isinstance(error, RepositoryNotFoundError):
        return InvalidSourceError(
            f"The hub has no repository {repo_id}, or it is private ({page}).", detail=detail
        )
    if status in (_UNAUTHORIZED, _FORBIDDEN):
        return InvalidSourceError(
            f"The hub refuses {what} of {repo_id} to this token; see {page} and "
            f"{_token_page(page)}.",
            detail=detail,
        )
    if status == _TOO_MANY:
        seconds = error.response.headers.get("Retry-After", "")
        when = f"in {seconds} seconds" if seconds.isdigit() else "later"
        return ResourceError(f"The hub has had too many requests; try again {when}.", detail=detail)
    return ResourceError(f"The hub answered {status} for {what} ({page}).", detail=detail)


def _token_page(page: str) -> str:
    return "/".join(page.split("/")[:3]) + "/settings/tokens"
