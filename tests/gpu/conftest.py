"""The card, for tests that need one; `DEEPINFER_GPU_TESTS=host` runs them on fibers instead."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from app.core.device import find_usable_card
from app.core.errors import AppError
from app.engine.executors.cuda.launcher import Launcher
from app.engine.executors.factory import create_launcher
from tests.kernels.host_launcher import HostLauncher

_IS_HOST = os.environ.get("DEEPINFER_GPU_TESTS") == "host"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without a card all tests here are marked with what is missing."""
    ours = [item for item in items if item.path.parent == Path(__file__).parent]
    if not ours or _IS_HOST:
        return
    try:
        find_usable_card()
    except AppError as error:
        for item in ours:
            item.add_marker(pytest.mark.skip(reason=error.message))


@pytest.fixture(scope="session")
def open_card() -> Callable[[], Launcher]:
    """Makes a launcher."""
    return HostLauncher if _IS_HOST else create_launcher
