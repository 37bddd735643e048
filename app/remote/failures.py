"""What goes wrong with a server somewhere else, each as one sentence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from httpx2 import (
    ConnectError,
    ConnectTimeout,
    HTTPError,
    InvalidURL,
    ReadTimeout,
    Response,
    SSEError,
)

from app.core.errors import RemoteError
from app.core.sentence import Sentence
from app.remote.chunks import error_sentence

_CAUSES = {
    401: Sentence("it wants a key, or does not know this one"),
    403: Sentence("it does not let this key in"),
    404: Sentence("it has nothing there; does the address end in /v1?"),
    429: Sentence("it has too many requests; try again later"),
    503: Sentence("it has no model loaded, or is too busy"),
}


@contextmanager
def explained(base_url: str) -> Iterator[None]:
    """Inside, what the HTTP client raises becomes a RemoteError."""
    try:
        yield
    except ConnectTimeout as error:
        raise RemoteError(
            "{base_url} does not answer.", base_url=base_url, detail=repr(error)
        ) from error
    except ConnectError as error:
        raise RemoteError(_unreachable(base_url, error), detail=repr(error)) from error
    except ReadTimeout as error:
        sentence = Sentence(
            "{base_url} said nothing for minutes and was given up.", base_url=base_url
        )
        raise RemoteError(sentence, detail=repr(error)) from error
    except SSEError as error:
        sentence = Sentence(
            "{base_url} answered with what is no stream of a chat completion.", base_url=base_url
        )
        raise RemoteError(sentence, detail=repr(error)) from error
    except (HTTPError, InvalidURL) as error:
        sentence = Sentence("The connection to {base_url} broke off.", base_url=base_url)
        raise RemoteError(sentence, detail=repr(error)) from error


def check_status(response: Response, base_url: str) -> None:
    """Raises RemoteError for anything but 200; the body has been read."""
    status = response.status_code
    if status == 200:
        return
    if response.has_redirect_location:
        target = response.headers["location"]
        sentence = Sentence(
            "{base_url} sends elsewhere ({status}), to {target}; use that address.",
            base_url=base_url,
            status=status,
            target=target,
        )
        raise RemoteError(sentence)
    cause = _CAUSES.get(status, Sentence("it does not say why"))
    said = error_sentence(read_json(response)) or Sentence("{reason}.", reason=cause)
    raise RemoteError(
        "{base_url} answered {status}: {said}",
        base_url=base_url,
        status=status,
        said=said,
        detail=response.text[:2000],
    )


def read_json(response: Response) -> object:
    """The body; None when it is no JSON."""
    try:
        return json.loads(response.text)
    except (ValueError, RecursionError):
        return None


def _unreachable(base_url: str, error: ConnectError) -> str:
    reason = str(error)
    if "CERTIFICATE" in reason.upper():
        return Sentence("The certificate of {base_url} is not trusted here.", base_url=base_url)
    return Sentence(
        "Nothing answers at {base_url}: is the server running, and the address right?",
        base_url=base_url,
    )
