"""Which function runs which row."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from app.validation.accounting import check_weights
from app.validation.check import Outcome
from app.validation.context import Context
from app.validation.differences import check_data, check_generation, check_model
from app.validation.long_position import check_long_position
from app.validation.real_weights import check_greedy, check_logits, check_plausible
from app.validation.recognition import check_recognised, check_reference
from app.validation.rope_tables import check_rope_tables
from app.validation.smoke import check_one_layer, check_other_kinds, check_two_layers
from app.validation.template_checks import check_chat_template, check_stop_tokens
from app.validation.tokenizer_checks import check_tokenizer

CHECKS: Mapping[str, Callable[[Context], Outcome]] = {
    "recognised": check_recognised,
    "weights": check_weights,
    "reference": check_reference,
    "differences_model": check_model,
    "differences_data": check_data,
    "differences_generation": check_generation,
    "rope_tables": check_rope_tables,
    "smoke_one_layer": check_one_layer,
    "smoke_two_layers": check_two_layers,
    "smoke_other_kinds": check_other_kinds,
    "long_position": check_long_position,
    "tokenizer": check_tokenizer,
    "chat_template": check_chat_template,
    "stop_tokens": check_stop_tokens,
    "real_plausible": check_plausible,
    "real_logits": check_logits,
    "real_greedy": check_greedy,
}
