"""What llama.cpp's own quantizer made (tests/fixtures/make_llama_cpp.py), against gguf and it."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import numpy.typing as npt
import pytest

from app.checkpoint.reader import Checkpoint
from app.checkpoint.reference_quant import dequantize
from app.converter.pipeline import convert
from app.engine.executors.base import LogitsWanted, SequenceChunk
from tests.engine.test_reference_executor import create_reference
from tests.gguf_factory import unpermute
from tests.quantized_folders import FIXTURES

_FILES = sorted((FIXTURES / "llama_cpp").glob("*.gguf"))
_NAMES = [path.stem for path in _FILES]
_HEADS = {"attn_q": 4, "attn_k": 1}
# Weights are the same to the bit, so what is left is that llama.cpp multiplies them with inputs
# rounded to 8 bits: measured 0.007 to 0.025, and 0.035 for the ternary types. Rows of q
# and k in the wrong order cost 0.25 to 0.34, and 0.078 there.
_TOLERANCE = 0.05


def decoded_by_gguf(path: Path) -> dict[str, npt.NDArray[np.float32]]:
    """float32 by the file's own names, q and k in Hugging Face's row order."""
    found = {}
    for tensor in gguf.GGUFReader(path).tensors:
        weight = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        heads = _HEADS.get(tensor.name.removeprefix("blk.0.").removesuffix(".weight"))
        found[tensor.name] = unpermute(weight, heads) if heads else weight
    return found


def test_each_type_is_there() -> None:
    types = {t.tensor_type.name for path in _FILES for t in gguf.GGUFReader(path).tensors}
    legacy = {"Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"}
    super_blocks = {"Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_XS", "TQ1_0", "TQ2_0"}
    assert types == legacy | super_blocks | {"IQ4_NL", "MXFP4", "F32"}


@pytest.mark.parametrize("path", _FILES, ids=_NAMES)
def test_converted_exactly(path: Path, tmp_path: Path) -> None:
    report = convert(path, tmp_path / "out", verify_whole=True)
    assert report.lossless
    assert report.num_exact == 8
    wanted = decoded_by_gguf(path)
    with Checkpoint.open(tmp_path / "out") as checkpoint:
        for name, record in checkpoint.manifest.linears.items():
            found = dequantize(checkpoint.linear(name))
            expected = wanted[record.provenance.source]
            np.testing.assert_array_equal(found.view(np.uint32), expected.view(np.uint32), name)


@pytest.mark.parametrize("path", _FILES, ids=_NAMES)
def test_logits_are_those_of_llama_cpp(path: Path, tmp_path: Path) -> None:
    with np.load(FIXTURES / "llama_cpp" / "logits.npz") as stored:
        token_ids, wanted = stored["token_ids"], stored[path.stem]
    convert(path, tmp_path / "out")
    executor = create_reference(tmp_path / "out", max_model_len=64)
    (found,) = executor.step([SequenceChunk(0, 0, token_ids, LogitsWanted.ALL)])
    error = np.linalg.norm(found - wanted) / np.linalg.norm(wanted)
    assert error < _TOLERANCE
