"""What the request bodies of both generating endpoints share.

OpenAI's names and limits (https://platform.openai.com/docs/api-reference); behind them those that
vLLM added. `null` is the same as leaving a field out, and fields that are not here are ignored.
Two habits of programs written for LM Studio and llama.cpp are met: -1 as no limit of tokens, and
`repeat_penalty`.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

MAX_CHOICES = 8
MAX_STOPS = 16  # OpenAI takes 4; there is no reason to refuse a few more
_MAX_TOKENS = 1 << 24
_INT64 = 1 << 63


def _read_limit(value: object) -> object:
    return _MAX_TOKENS if value == -1 else value


Limit = Annotated[int, BeforeValidator(_read_limit), Field(ge=1, le=_MAX_TOKENS)]
TokenId = Annotated[int, Field(ge=0, lt=1 << 31)]
Temperature = Annotated[float, Field(ge=0.0, le=2.0, allow_inf_nan=False)]
TopP = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
RepetitionPenalty = Annotated[float, Field(ge=0.01, le=100.0, allow_inf_nan=False)]
Penalty = Annotated[float, Field(ge=-2.0, le=2.0, allow_inf_nan=False)]


class WireModel(BaseModel):
    """An object in a request; numbers in quotes and the like are refused."""

    model_config = ConfigDict(extra="ignore", strict=True)


class StreamOptions(WireModel):
    """With `include_usage` the last chunk of a stream counts the tokens."""

    include_usage: bool | None = None


class GenerationFields(WireModel):
    """How to draw, where to stop and how many replies."""

    model: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Annotated[int, Field(ge=1, le=MAX_CHOICES)] | None = None
    stop: str | Annotated[list[str], Field(max_length=MAX_STOPS)] | None = None
    seed: Annotated[int, Field(ge=-_INT64, lt=_INT64)] | None = None
    max_tokens: Limit | None = None
    temperature: Temperature | None = None
    top_p: TopP | None = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    logit_bias: (
        dict[
            Annotated[str, Field(pattern=r"^\d{1,9}$")],
            Annotated[float, Field(ge=-100.0, le=100.0, allow_inf_nan=False)],
        ]
        | None
    ) = None
    user: str | None = None

    top_k: Annotated[int, Field(ge=-1, le=_MAX_TOKENS)] | None = None
    min_p: Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)] | None = None
    repetition_penalty: RepetitionPenalty | None = Field(
        None, validation_alias=AliasChoices("repetition_penalty", "repeat_penalty")
    )
    ignore_eos: bool | None = None
    min_tokens: Annotated[int, Field(ge=0, le=_MAX_TOKENS)] | None = None
    stop_token_ids: Annotated[list[TokenId], Field(max_length=64)] | None = None

    @property
    def num_choices(self) -> int:
        """Replies asked for."""
        return self.n or 1

    @property
    def includes_usage(self) -> bool:
        """Whether a stream ends with a count."""
        return bool(self.stream_options and self.stream_options.include_usage)


JsonMap = dict[str, Any]
