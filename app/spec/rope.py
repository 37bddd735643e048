"""Rotary position embedding: every supported type's parameters, and their frequencies.

Formulas follow `transformers/modeling_rope_utils.py`; the table type is ours, for GGUF files whose
frequency divisors belong to no published rule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from app.core.errors import UnsupportedError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class RopeType(StrEnum):
    """Hugging Face's rope types, plus an explicit table of inverse frequencies."""

    DEFAULT = "default"
    LINEAR = "linear"
    DYNAMIC = "dynamic"
    LLAMA3 = "llama3"
    YARN = "yarn"
    LONGROPE = "longrope"
    TABLE = "table"


_POSITIVE = {
    RopeType.LLAMA3: ("low_freq_factor", "high_freq_factor"),
    RopeType.YARN: ("beta_fast", "beta_slow", "attention_factor", "mscale", "mscale_all_dim"),
    RopeType.LONGROPE: ("attention_factor",),
}


@dataclass(frozen=True, slots=True)
class RopeSpec:
    """One rotary embedding over `dim` columns of a head; parameters of other types keep defaults.

    `original_max_position_embeddings` is the trained length that llama3, yarn, longrope and dynamic
    stretch. `attention_factor` None means the type's own rule; `inv_freq` is for the table type.
    """

    dim: int
    rope_type: RopeType = RopeType.DEFAULT
    theta: float = 10000.0
    factor: float = 1.0
    original_max_position_embeddings: int = 0
    attention_factor: float | None = None
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    mscale: float | None = None
    mscale_all_dim: float | None = None
    truncate: bool = True
    short_factor: tuple[float, ...] = ()
    long_factor: tuple[float, ...] = ()
    inv_freq: tuple[float, ...] = ()

    def inverse_frequencies(self, max_model_len: int) -> npt.NDArray[np.float32]:
        """Radians per position, float32 [dim / 2].

        `max_model_len` is the context that was planned. Types whose frequencies depend on the
        length take them from it once, since changing them in mid-sequence would invalidate the KV
        cache; so longrope uses its long factors whenever the plan exceeds the trained length.
        """
        import numpy as np

        # As torch does it, with theta ** x rounded to float32, to agree to the last bit or two.
        exponents = np.arange(0, self.dim, 2, dtype=np.float32) / np.float32(self.dim)
        match self.rope_type:
            case RopeType.DEFAULT:
                return _plain(self.theta, exponents)
            case RopeType.LINEAR:
                return _plain(self.theta, exponents) / np.float32(self.factor)
            case RopeType.DYNAMIC:
                return _plain(self._dynamic_theta(max_model_len), exponents)
            case RopeType.LLAMA3:
                return self._llama3(_plain(self.theta, exponents))
            case RopeType.YARN:
                return self._yarn(_plain(self.theta, exponents))
            case RopeType.LONGROPE:
                divisors = self._longrope_divisors(max_model_len)
                powers = _power(self.theta, exponents)
                return (np.float32(1.0) / (divisors * powers)).astype(np.float32)
            case RopeType.TABLE:
                return np.array(self.inv_freq, dtype=np.float32)

    @property
    def cos_sin_factor(self) -> float:
        """What cos and sin are multiplied with (1 for most types)."""
        if self.rope_type not in (RopeType.YARN, RopeType.LONGROPE):
            return 1.0
        if self.attention_factor is not None:
            return self.attention_factor
        if self.factor <= 1:
            return 1.0
        if self.rope_type is RopeType.LONGROPE:
            return math.sqrt(
                1 + math.log(self.factor) / math.log(self.original_max_position_embeddings)
            )
        if self.mscale and self.mscale_all_dim:
            return _yarn_mscale(self.factor, self.mscale) / _yarn_mscale(
                self.factor, self.mscale_all_dim
            )
        return _yarn_mscale(self.factor, 1.0)

    def validate(self) -> RopeSpec:
        """Returns self; raises UnsupportedError naming the parameter that cannot be."""
        if not (math.isfinite(self.theta) and self.theta > 1):
            raise UnsupportedError(
                "rope_theta must be greater than 1, not {theta!r}.", theta=self.theta
            )
        if not (math.isfinite(self.factor) and self.factor > 0):
            raise UnsupportedError(
                "The rope factor must be positive, not {factor!r}.", factor=self.factor
            )
        needs_original = (RopeType.LLAMA3, RopeType.YARN, RopeType.LONGROPE, RopeType.DYNAMIC)
        if self.rope_type in needs_original and self.original_max_position_embeddings <= 1:
            raise UnsupportedError(
                "Rope type {rope_type} needs original_max_position_embeddings.",
                rope_type=self.rope_type,
            )
        if self.rope_type is RopeType.DYNAMIC and self.dim < 4:
            raise UnsupportedError("Rope type dynamic needs a rotary dimension of 4 or more.")
        self._check_parameters()
        self._check_tables()
        return self

    def _check_parameters(self) -> None:
        """Whatever is divided by, or has a logarithm taken of it."""
        for name in _POSITIVE.get(self.rope_type, ()):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise UnsupportedError(
                    "The rope's {name} must be positive, not {value!r}.", name=name, value=value
                )
        if self.rope_type is RopeType.LLAMA3 and self.low_freq_factor >= self.high_freq_factor:
            raise UnsupportedError(
                "The rope's low_freq_factor {low} must be less than its high_freq_factor {high}.",
                low=self.low_freq_factor,
                high=self.high_freq_factor,
            )

    def _check_tables(self) -> None:
        tables = {
            RopeType.LONGROPE: {"short_factor": self.short_factor, "long_factor": self.long_factor},
            RopeType.TABLE: {"inv_freq": self.inv_freq},
        }
        for name, table in tables.get(self.rope_type, {}).items():
            if len(table) != self.dim // 2:
                raise UnsupportedError(
                    "{name} has {num_entries} entries; the rotary dimension needs {num_wanted}.",
                    name=name,
                    num_entries=len(table),
                    num_wanted=self.dim // 2,
                )
            for value in table:
                if not (math.isfinite(value) and value > 0):
                    raise UnsupportedError(
                        "The rope's {name} must be positive, not {value!r}.", name=name, value=value
                    )

    def _dynamic_theta(self, max_model_len: int) -> float:
        trained = self.original_max_position_embeddings
        stretch = self.factor * max(max_model_len, trained) / trained - (self.factor - 1)
        return float(self.theta * stretch ** (self.dim / (self.dim - 2)))

    def _llama3(self, inv_freq: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        import numpy as np

        wavelengths = 2 * math.pi / inv_freq
        turns = self.original_max_position_embeddings / wavelengths
        smooth = (turns - self.low_freq_factor) / (self.high_freq_factor - self.low_freq_factor)
        blended = (1 - smooth) * inv_freq / self.factor + smooth * inv_freq
        low = turns < self.low_freq_factor
        high = turns > self.high_freq_factor
        return np.where(low, inv_freq / self.factor, np.where(high, inv_freq, blended)).astype(
            np.float32
        )

    def _yarn(self, inv_freq: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        import numpy as np

        low, high = (
            self._yarn_dimension(rotations) for rotations in (self.beta_fast, self.beta_slow)
        )
        if self.truncate:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, self.dim - 1)
        # The tiny width keeps the ramp finite where both bounds meet, as the published code does.
        width = (high - low) or 0.001
        ramp = np.clip((np.arange(self.dim // 2, dtype=np.float32) - low) / width, 0, 1)
        blended = inv_freq / self.factor * ramp + inv_freq * (1 - ramp)
        return np.asarray(blended, dtype=np.float32)

    def _yarn_dimension(self, rotations: float) -> float:
        trained = self.original_max_position_embeddings
        return self.dim * math.log(trained / (rotations * 2 * math.pi)) / (2 * math.log(self.theta))

    def _longrope_divisors(self, max_model_len: int) -> npt.NDArray[np.float32]:
        import numpy as np

        is_long = max_model_len > self.original_max_position_embeddings
        return np.array(self.long_factor if is_long else self.short_factor, dtype=np.float32)


def _plain(theta: float, exponents: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    import numpy as np

    return np.asarray(np.float32(1.0) / _power(theta, exponents), dtype=np.float32)


def _power(theta: float, exponents: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """theta ** exponents, rounded once: NumPy's float32 powers on Linux and Windows differ in the
    last bit, and with them greedy replies."""
    import numpy as np

    return np.asarray(np.float64(theta) ** exponents.astype(np.float64), dtype=np.float32)


def _yarn_mscale(factor: float, mscale: float) -> float:
    return 1.0 if factor <= 1 else 0.1 * mscale * math.log(factor) + 1.0
