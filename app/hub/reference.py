"""What a user types to get a model: words to search, a repository, one of its files, or a URL."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from app.core.errors import UsageError

_NAME = r"[A-Za-z0-9][\w.-]*"
_REPOSITORY = re.compile(
    rf"(?P<repo>{_NAME}/{_NAME})(?:@(?P<revision>[\w./-]+))?(?::(?P<wanted>.+))?"
)
_SCHEMES = ("http", "https")
# What stands before the revision in the address of a file or folder.
_VIEWS = ("blob", "resolve", "raw", "tree")
_OTHER_KINDS = ("datasets", "spaces", "collections", "papers", "docs", "models")


@dataclass(frozen=True, slots=True)
class HubReference:
    """A repository; `wanted` is a file's path or the name of a quantization, '' for a choice.

    `endpoint` is the address of the hub that a URL names, '' for the one that is set.
    """

    repo_id: str
    revision: str = "main"
    wanted: str = ""
    endpoint: str = ""


@dataclass(frozen=True, slots=True)
class SearchWords:
    """Words to look for in the names of repositories."""

    text: str


def parse_reference(text: str) -> HubReference | SearchWords:
    """`org/name`, `org/name:Q4_K_M`, `org/name@revision:file.gguf`, a URL, `hf.co/...`, or words.

    Raises UsageError for a URL that names no model repository, and for nothing at all.
    """
    text = text.strip().strip("\"'<>")
    if not text:
        raise UsageError("Type the name of a repository, its address, or words to search for.")
    if text.split("://")[0].lower() in _SCHEMES:
        return _parse_url(text)
    if text.startswith(("hf.co/", "huggingface.co/")):
        return _parse_url(f"https://{text}")
    match = _REPOSITORY.fullmatch(text)
    if match is None:
        return SearchWords(" ".join(text.split()))
    return HubReference(match["repo"], match["revision"] or "main", match["wanted"] or "")


def _parse_url(url: str) -> HubReference:
    try:
        address = urlsplit(url)
    except ValueError as error:  # brackets that hold no IPv6 address
        raise UsageError("{url} is not the address of a model repository.", url=url) from error
    path = [unquote(part) for part in address.path.split("/") if part]
    if path[:1] == ["models"]:
        path = path[1:]
    if len(path) < 2 or path[0] in _OTHER_KINDS:
        raise UsageError("{url} is not the address of a model repository.", url=url)
    repo_id, wanted = f"{path[0]}/{path[1]}", ""
    if ":" in path[1]:  # hf.co/org/name:Q4_K_M
        repo_id, _, wanted = repo_id.partition(":")
    if not _REPOSITORY.fullmatch(repo_id):
        raise UsageError("{url} is not the address of a model repository.", url=url)
    endpoint = f"{address.scheme}://{address.netloc}"
    is_official = address.hostname in ("huggingface.co", "hf.co", "www.huggingface.co")
    revision = path[3] if len(path) > 3 and path[2] in _VIEWS else "main"
    if len(path) > 4 and path[2] in _VIEWS:
        wanted = "/".join(path[4:])
    return HubReference(repo_id, revision, wanted, "" if is_official else endpoint)
