"""GPTQ zero points: which convention a linear's `qzeros` follow, judged from the data.

Version 1 stores the zero point less one, version 2 (and `gptq_p`) the zero point; labels are often
wrong (vllm#38966). A symmetric linear's zero points are all 2 ** (bits - 1), which tells which. An
asymmetric zero point of 0 is where writers of version 1 disagree: GPTQModel subtracts a one from
every field of the packed word, borrows crossing the fields (utils/model.py:
convert_gptq_v2_to_v1_format_module), AutoGPTQ floods the higher fields with ones, AutoRound clamps.
All of that shows as a field of all ones, and nothing else does.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from app.converter.sources.gptq_config import GptqSettings, LinearSettings, Writer
from app.core.errors import InvalidSourceError
from app.core.sentence import Sentence

Fields = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint32]
_LOGICAL_SINCE = (7, 7)  # from here on GPTQModel is known to subtract 3-bit fields one by one


class Convention(Enum):
    """How a zero point is had from its field."""

    STORED = auto()
    LESS_ONE = auto()
    LESS_ONE_WRAPPED = auto()  # modulo 2 ** bits, field by field
    LESS_ONE_IN_WORDS = auto()  # the packed word as a whole, modulo 2 ** 32


class Judged(NamedTuple):
    """`is_centred`: every zero point is 2 ** (bits - 1)."""

    convention: Convention
    is_centred: bool


def judge_zeros(
    fields: Fields, settings: LinearSettings, folder: GptqSettings, stem: str
) -> Judged:
    """Judges the unpacked fields uint8 [G, out] of the linear `stem`.

    Raises InvalidSourceError where label and data cannot both be right, or where the data has two
    meanings.
    """
    centre = 1 << (settings.bits - 1)
    low, high = int(fields.min()), int(fields.max())
    labelled = Convention.LESS_ONE if settings.stores_zero_less_one else Convention.STORED
    found = {(centre, centre): Convention.STORED, (centre - 1, centre - 1): Convention.LESS_ONE}
    constant = found.get((low, high))
    if constant is not None and (settings.sym is not False or constant is labelled):
        return Judged(constant, True)
    if constant is not None or settings.sym:
        raise InvalidSourceError(
            "{stem}: {where} says sym {sym} and layout {label}, but its zero points are stored as "
            "{span}.",
            stem=stem,
            where=folder.where,
            sym=str(settings.sym).lower(),
            label=folder.label,
            span=_span(low, high),
        )
    if labelled is Convention.STORED or high < 2 * centre - 1:
        return Judged(labelled, False)
    return Judged(_resolve_overflow(settings.bits, folder, stem), False)


def add_one_to_words(words: Words, bits: int) -> Words:
    """Undoes the subtraction of a one from every field of `bits` (2, 4 or 8), borrows included."""
    ones = np.uint32(sum(1 << shift for shift in range(0, 32, bits)))
    return words + ones


def zero_points(fields: Fields, convention: Convention, bits: int) -> npt.NDArray[np.uint8]:
    """Zero points of fields; for LESS_ONE_IN_WORDS of words that `add_one_to_words` corrected."""
    if convention in (Convention.STORED, Convention.LESS_ONE_IN_WORDS):
        return fields
    one_more = fields + np.uint8(1)
    if convention is Convention.LESS_ONE_WRAPPED:
        one_more &= np.uint8((1 << bits) - 1)
    return one_more


def _resolve_overflow(bits: int, folder: GptqSettings, stem: str) -> Convention:
    if folder.writer is Writer.GPTQMODEL:
        if bits in (2, 4, 8):
            return Convention.LESS_ONE_IN_WORDS
        if folder.version >= _LOGICAL_SINCE:
            return Convention.LESS_ONE_WRAPPED
    raise InvalidSourceError(
        "{stem} holds a zero point of 0 that the layout gptq cannot store; what is in the file "
        "has several meanings.",
        stem=stem,
    )


def _span(low: int, high: int) -> str:
    return str(low) if low == high else Sentence("{low} to {high}", low=low, high=high)
