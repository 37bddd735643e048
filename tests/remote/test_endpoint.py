"""What people paste as the address of a server."""

from __future__ import annotations

import pytest

from app.core.errors import UsageError
from app.remote.endpoint import RemoteEndpoint, parse_base_url


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        (" http://127.0.0.1:8000/v1/ ", "http://127.0.0.1:8000/v1"),
        ("127.0.0.1:8000", "http://127.0.0.1:8000/v1"),
        ("localhost:8231", "http://localhost:8231/v1"),
        ("gpu-box:8000", "http://gpu-box:8000/v1"),
        ("http://[::1]:8000", "http://[::1]:8000/v1"),
        ("[fe80::2]:8000", "http://[fe80::2]:8000/v1"),
        ("api.example.com", "https://api.example.com/v1"),
        ("https://openrouter.example/api/v1", "https://openrouter.example/api/v1"),
        ("http://box:8000/v1/chat/completions", "http://box:8000/v1"),
        ("http://box:8000/v1/models", "http://box:8000/v1"),
    ],
)
def test_the_base_url_that_was_meant(text: str, expected: str) -> None:
    assert parse_base_url(text) == expected


@pytest.mark.parametrize(
    "text", ["", "   ", "file:///etc/passwd", "http://", "http://box:port/v1", "ftp://box/v1"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_base_url(text)


def test_a_password_in_the_address_is_refused_without_repeating_it() -> None:
    with pytest.raises(UsageError) as refused:
        parse_base_url("https://me:hunter2@api.example.com/v1")
    assert "hunter2" not in refused.value.message


@pytest.mark.parametrize(
    ("base_url", "is_exposed"),
    [
        ("http://gpu-box:8000/v1", True),
        ("https://gpu-box:8000/v1", False),
        ("http://127.0.0.1:8000/v1", False),
        ("http://[::1]:8000/v1", False),
    ],
)
def test_a_key_travels_in_the_open(base_url: str, is_exposed: bool) -> None:
    assert RemoteEndpoint(base_url, api_key="sk").is_key_exposed is is_exposed
    assert not RemoteEndpoint(base_url).is_key_exposed


def test_the_key_is_not_part_of_what_is_logged() -> None:
    assert "sk-1" not in repr(RemoteEndpoint("http://box/v1", "m", "sk-1"))
