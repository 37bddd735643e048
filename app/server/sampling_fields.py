"""From a body's fields to SamplingParams; what a client leaves open is as the model wants it.

As in vLLM, that is what the checkpoint's generation_config.json names, and OpenAI's defaults
(temperature 1, all else off) where it names nothing.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.engine.request import SamplingParams
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
    stops = [body.stop] if isinstance(body.stop, str) else body.stop or []
    return replace(
        defaults,
        **_named(body, _SAME),
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


def read_defaults(model_dir: Path) -> SamplingParams:
    """Of one checkpoint; a file that cannot be read or names what cannot be is not asked.

    Read anew for each request: a folder's checkpoint may have been converted again meanwhile.
    """
    path = model_dir / "generation_config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        return _read_config(config)
    except FileNotFoundError:
        return _OPENAI
    except (OSError, ValueError, RecursionError) as error:
        _logger.warning("%s is not used: %s", path, error)
        return _OPENAI


def _read_config(config: object) -> SamplingParams:
    """Raises ValueError for what a body would be refused for."""
    if not isinstance(config, dict):
        raise ValueError("it holds no JSON object")
    fields = {name: config.get(name) for name in _CONFIGURED}
    return replace(_OPENAI, **_named(GenerationFields.model_validate(fields), _CONFIGURED))


def _named(fields: GenerationFields, names: Iterable[str]) -> dict[str, Any]:
    """Those of `names` that were given, in the engine's words."""
    values = {name: getattr(fields, name) for name in names}
    named = {name: value for name, value in values.items() if value is not None}
    if named.get("top_k") == -1:  # vLLM's word for off
        named["top_k"] = 0
    if named.get("top_p") == 0:
        named["top_p"] = _LEAST_TOP_P
    return named
