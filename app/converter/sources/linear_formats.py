"""Which format a declaration names, or the sentence that refuses it."""

from __future__ import annotations

from collections.abc import Callable

from app.converter.sources import autoround, awq, gptq
from app.converter.sources.bitsandbytes import BitsAndBytesFormat
from app.converter.sources.compressed_tensors import CompressedTensorsFormat
from app.converter.sources.exl2 import Exl2Format
from app.converter.sources.fp8 import Fp8Format
from app.converter.sources.hqq import HqqFormat
from app.converter.sources.linear_format import Declaration, Folder, LinearFormat
from app.converter.sources.mlx import MlxFormat, check_mode
from app.converter.sources.modelopt import ModelOptFormat
from app.converter.sources.mxfp4 import Mxfp4Format
from app.converter.sources.quantization_config import quantized_evidence
from app.core.errors import InvalidSourceError, UnsupportedError
from app.core.sentence import Sentence

Creator = Callable[[Declaration, Folder], LinearFormat]

# quant_method -> (creator, the evidence that its tensors give)
_CREATORS: dict[str, tuple[Creator, frozenset[str]]] = {
    "bitsandbytes": (BitsAndBytesFormat, frozenset({".quant_state", ".SCB"})),
    "compressed-tensors": (
        CompressedTensorsFormat,
        frozenset({".weight_packed", ".weight_scale"}),
    ),
    "fbgemm_fp8": (Fp8Format, frozenset({".weight_scale"})),
    "fp8": (Fp8Format, frozenset({".weight_scale_inv", ".weight_scale"})),
    "hqq": (HqqFormat, frozenset({".W_q"})),
    "mlx": (MlxFormat, frozenset({"uint32 .weight"})),
    "mxfp4": (Mxfp4Format, frozenset({"_blocks"})),
    "modelopt": (ModelOptFormat, frozenset({".weight_scale", ".weight_scale_2"})),
    "auto-round": (autoround.from_folder, frozenset({".qweight"})),
    "exl2": (Exl2Format, frozenset({".q_weight"})),
    "gptq": (gptq.from_folder, frozenset({".qweight"})),
    "awq": (awq.from_folder, frozenset({".qweight", "int16 .qweight"})),
}

FOLDER_FORMATS = ("dense", *_CREATORS)


def check_method(declaration: Declaration | None, name: str) -> None:
    """Raises UnsupportedError for a declared method that no format reads; `name`: the folder's."""
    if declaration is not None and declaration.method == MlxFormat.name:
        check_mode(declaration, name)
    elif declaration is not None and declaration.method not in _CREATORS:
        raise UnsupportedError(
            "{name}: the quantization method {method} ({where}) is not supported.",
            name=name,
            method=declaration.method,
            where=declaration.where,
        )


def create_format(declaration: Declaration | None, folder: Folder) -> LinearFormat | None:
    """The format of a quantized folder, None for a dense one.

    Declaration and tensors must agree: either alone is refused with both facts.
    """
    found = quantized_evidence(folder.tensors.values())
    if declaration is None:
        if found:
            raise InvalidSourceError(
                "{name}: no configuration says that it is quantized, but it holds {listed} "
                "tensors.",
                name=folder.name,
                listed=_listed(found),
            )
        return None
    check_method(declaration, folder.name)
    creator, expected = _CREATORS[declaration.method]
    if not found or not found <= expected:
        raise InvalidSourceError(
            "{name}: {where} says {method}, but the tensors are {found}.",
            name=folder.name,
            where=declaration.where,
            method=declaration.method,
            found=_listed(found) if found else Sentence("all dense"),
        )
    return creator(declaration, folder)


def _listed(kinds: set[str]) -> str:
    return ", ".join(sorted(kinds))
