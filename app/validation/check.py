"""The rows of a validation, and what a check hands back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from app.core.sentence import Sentence
from app.core.validation_events import Check, CheckStatus, Metric

# Stable names, in the order in which they run.
TITLES = {
    "recognised": Sentence("Recognised: config, adapter, ModelSpec, executor"),
    "weights": Sentence("Weights: every tensor used once or ignored by name"),
    "reference": Sentence("Reference implementation"),
    "differences_model": Sentence("Differences: model"),
    "differences_data": Sentence("Differences: data"),
    "differences_generation": Sentence("Differences: generation"),
    "rope_tables": Sentence("Rope tables up to the longest position"),
    "smoke_one_layer": Sentence("Half-real network, one layer"),
    "smoke_two_layers": Sentence("Half-real network, two layers"),
    "smoke_other_kinds": Sentence("Half-real network, one layer of each further kind"),
    "long_position": Sentence("Positions beyond the window and the trained length"),
    "tokenizer": Sentence("Tokenizer: encoding and round trip"),
    "chat_template": Sentence("Chat template: rendered turns"),
    "stop_tokens": Sentence("Stop tokens"),
    "real_plausible": Sentence("Real weights: perplexity of a text"),
    "real_logits": Sentence("Real weights: logits"),
    "real_greedy": Sentence("Real weights: 32 greedy tokens"),
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
    """Raised inside a check that cannot run; `reason` says why, without a full stop."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
