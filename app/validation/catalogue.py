"""Which function runs which row."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.validation.check import Outcome
from app.validation.context import Context
from app.validation.recognition import check_recognised, check_reference

CHECKS: Mapping[str, Callable[[Context], Outcome]] = {
    "recognised": check_recognised,
    "reference": check_reference,
}
