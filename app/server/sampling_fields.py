"""From a body's fields to SamplingParams; what a client leaves open is as the model wants it.

As in vLLM, that is what the checkpoint's generation_config.json names, and OpenAI's defaults
(temperature 1, all else off) where it names nothing.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from app.core.errors import UsageError
from app.engine.request import SamplingParams
from app.engine.sampling import check_sampling
from app.server.fields import GenerationFields

_LEAST_TOP_P = 1e-6  # OpenAI's 0: the likeliest token alone
_logger = logging.getLogger(__name__)

_OPENAI = SamplingParams(temperature=1.0)
_CONFIGURED = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty")
# Fields that SamplingParams has under the same name.
_SAME = (*_CONFIGURED, "presence_penalty", "frequency_penalty", "seed", "ignore_eos", "min_tokens")


def to_sampling(
    body: GenerationFields, defaults: SamplingParams, max_tokens: int | None
) -> SamplingParams:
    """What the engine is asked for."""
    named = {name: getattr(body, name) for name in _SAME}
    named = {name: value for name, value in named.items() if value is not None}
    if named.get("top_k") == -1:  # vLLM's word for off
        named["top_k"] = 0
    if named.get("top_p") == 0:
        named["top_p"] = _LEAST_TOP_P
    stops = [body.stop] if isinstance(body.stop, str) else body.stop or []
    return replace(
        defaults,
        **named,
        max_tokens=max_tokens,
        stop=tuple(stops),
        logit_bias=tuple((int(key), value) for key, value in (body.logit_bias or {}).items()),
        stop_token_ids=tuple(body.stop_token_ids or ()),
    )


def seed_of_choice(sampling: SamplingParams, index: int) -> SamplingParams:
    """Choice 0 has the seed that was given, the others the next ones: they shall differ."""
    if sampling.seed is None or index == 0:
        return sampling
    return replace(sampling, seed=sampling.seed + index)


@lru_cache(maxsize=4)
def read_defaults(model_dir: Path) -> SamplingParams:
    """Of one checkpoint; a file that cannot be read or names what cannot be is not asked."""
    path = model_dir / "generation_config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        defaults = _apply(config)
        check_sampling(defaults)
    except FileNotFoundError:
        return _OPENAI
    except (OSError, ValueError, TypeError, RecursionError, UsageError) as error:
        _logger.warning("%s is not used: %s", path, error)
        return _OPENAI
    return defaults


def _apply(config: Mapping[str, Any]) -> SamplingParams:
    named = {name: config[name] for name in _CONFIGURED if config.get(name) is not None}
    return replace(_OPENAI, **named)
