"""A field of ModelSpec that the kernels do not know is refused by name, by both executors."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.core.errors import UnsupportedError
from app.engine.executors import honoured
from app.engine.executors.cpu_plan import check_runnable as check_cpu
from app.engine.executors.cuda.executor import check_runnable as check_cuda
from tests.spec.test_family_configs import spec_of

CHECKS = {"cpu": check_cpu, "cuda": check_cuda}


@pytest.mark.parametrize("executor", CHECKS)
def test_what_is_not_listed_is_refused_by_name(
    executor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = spec_of("granite")
    CHECKS[executor](spec)
    monkeypatch.setattr(honoured, "_HONOURED", set())
    with pytest.raises(UnsupportedError, match=rf"{executor} executor .* embedding_multiplier=12"):
        CHECKS[executor](spec)


@pytest.mark.parametrize("executor", CHECKS)
def test_an_unknown_activation_is_refused_by_name(executor: str) -> None:
    with pytest.raises(UnsupportedError, match=rf"{executor} executor .* hidden_act 'relu'"):
        CHECKS[executor](replace(spec_of("granite"), hidden_act="relu"))
