"""The rows of a validation, and what a check hands back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from app.core.validation_events import Check, CheckStatus, Metric

# Stable names, in the order in which they run.
TITLES = {
    "recognised": "Recognised: config, adapter, ModelSpec, executor",
    "weights": "Weights: every tensor used once or ignored by name",
    "reference": "Reference implementation",
    "differences_model": "Differences: model",
    "differences_data": "Differences: data",
    "differences_generation": "Differences: generation",
    "rope_tables": "Rope tables up to the longest position",
    "smoke_one_layer": "Half-real network, one layer",
    "smoke_two_layers": "Half-real network, two layers",
    "smoke_other_kinds": "Half-real network, one layer of each further kind",
    "long_position": "Positions beyond the window and the trained length",
    "tokenizer": "Tokenizer: encoding and round trip",
    "chat_template": "Chat template: rendered turns",
    "stop_tokens": "Stop tokens",
    "real_plausible": "Real weights: perplexity of a text",
    "real_logits": "Real weights: logits",
    "real_greedy": "Real weights: 32 greedy tokens",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """A check's result; `passed` None means that it did not run."""

    passed: bool | None
    detail: str
    metrics: Mapping[str, Metric] = field(default_factory=dict)

    def to_check(self, name: str) -> Check:
        """The row called `name`."""
        status = {True: CheckStatus.PASS, False: CheckStatus.FAIL, None: CheckStatus.NOT_RUN}
        metrics = {key: _finite(value) for key, value in self.metrics.items()}
        return Check(name, TITLES[name], status[self.passed], self.detail, metrics)


def _finite(value: Metric) -> Metric:
    """JSON has no word for what a broken network computes."""
    return value if isinstance(value, str) or math.isfinite(value) else str(value)


class NotRunError(Exception):
    """Raised inside a check that cannot run; the message says why, in one sentence."""
