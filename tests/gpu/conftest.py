"""The card, for tests that need one; `DEEPINFER_GPU_TESTS=host` runs them on fibers instead."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from app.core.device import find_usable_card
from app.core.errors import AppError
from app.engine.executors.cuda.launcher import Launcher
from app.engine.executors.factory import create_launcher
from tests.kernels.host_launcher import HostLauncher


@pytest.fixture(scope="session")
def open_card() -> Callable[[], Launcher]:
    """Makes a launcher."""
    if os.environ.get("DEEPINFER_GPU_TESTS") == "host":
        return HostLauncher
    try:
        find_usable_card()
    except AppError as error:
        pytest.skip(error.message)
    return create_launcher
