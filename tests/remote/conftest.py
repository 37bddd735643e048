"""A fake server for every test that asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.remote.fake_openai import FakeOpenAI


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI().running() as running:
        yield running
