"""What is planned is what is taken, to the byte: linears as tiles, cache and workspace."""

from __future__ import annotations

import math
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.checkpoint.reader import Checkpoint
from app.checkpoint.schemes import QuantScheme, ScaleDtype, Scheme
from app.engine.executors.cuda.buffers import DeviceBuffers, KvLayout
from app.engine.executors.cuda.matrices import pack_matrix, upload_matrix
from app.engine.executors.cuda.measure import MeasuringAllocator, linear_bytes, measure_buffers
from app.engine.executors.cuda.weights import WeightsLoader
from app.engine.vram_plan import stored_weights_bytes
from app.spec.registry import create_spec
from app.spec.weights import layer_linears
from tests.engine.test_memory_plan import CONFIG
from tests.kernels.cpu_linears import dense_linear, random_linear
from tests.kernels.host_launcher import HostLauncher
from tests.random_checkpoints import write_random
from tests.spec.popular_sparse import DEEPSEEK_V2_LITE

LLAMA = {**CONFIG, "hidden_size": 256, "num_hidden_layers": 3, "vocab_size": 500}
LLAMA |= {"num_attention_heads": 8, "num_key_value_heads": 2}
SCHEMES = [
    QuantScheme(bits, group, scheme, scales)
    for bits in (3, 4, 8)
    for group in (16, 32, 64, 128, -1)
    for scheme in Scheme
    for scales in ScaleDtype
    if not (group == -1 and scales is ScaleDtype.TWO_LEVEL)
    and not (scheme is Scheme.ZERO and scales is ScaleDtype.TWO_LEVEL)
]


@pytest.mark.parametrize("quant", [None, *SCHEMES], ids=lambda q: q.label if q else "dense")
def test_a_linear_takes_what_is_planned(quant: QuantScheme | None) -> None:
    shape = (37, 300)
    linear = (
        random_linear(quant, shape, 0, with_perm=True, with_bias=True)
        if quant
        else dense_linear("float32", shape)
    )
    allocator = MeasuringAllocator()
    matrix = upload_matrix(allocator, linear, "x")
    assert allocator.num_bytes == linear_bytes(quant, shape, linear.arrays())
    assert 0 <= allocator.num_bytes - matrix.num_bytes < 256 * len(linear.arrays())


@pytest.mark.parametrize("config", [LLAMA, DEEPSEEK_V2_LITE], ids=["llama", "deepseek"])
@pytest.mark.parametrize("kv_dtype", ["fp16", "int8"])
def test_buffers_take_what_is_planned(kv_dtype: str, config: dict[str, Any]) -> None:
    spec = create_spec(config)
    layout = KvLayout(2, 700, kv_dtype == "int8")
    launcher = HostLauncher()
    buffers = DeviceBuffers(launcher, spec, layout)
    sizes = measure_buffers(spec, layout, launcher.num_multiprocessors)
    assert sizes.kv_bytes == buffers.kv_bytes
    assert sizes.kv_bytes + sizes.workspace_bytes == launcher.allocated_bytes
    launcher.close()


@pytest.mark.parametrize("quant", [None, *SCHEMES[::5]], ids=lambda q: q.label if q else "dense")
def test_blocks_of_rows_give_the_whole_matrix(
    quant: QuantScheme | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = (75, 300)
    linear = (
        random_linear(quant, shape, 0, with_perm=True, with_bias=True)
        if quant
        else dense_linear("float32", shape)
    )
    packed, launcher = pack_matrix(linear, "x"), HostLauncher()
    monkeypatch.setattr("app.engine.executors.cuda.matrices._BLOCK_WEIGHTS", 32 * shape[1])
    matrix = upload_matrix(launcher, linear, "x")
    assert (matrix.shape, matrix.variant) == (packed.shape, packed.variant)
    for field, array in packed.arrays.items():
        found = np.empty_like(array)
        assert matrix.fields[field].num_bytes == array.nbytes
        launcher.download(matrix.fields[field], found)
        assert found.tobytes() == array.tobytes(), field
    assert matrix.fields.items() >= packed.sizes.items()
    launcher.close()


def test_loading_holds_less_than_a_layer_and_no_second_copy(tmp_path: Path) -> None:
    """Of 6 layers, loading takes less than one as floats; the card's memory only ever grows."""
    config = {**CONFIG, "hidden_size": 512, "intermediate_size": 2048, "vocab_size": 512}
    config |= {"num_attention_heads": 8, "num_key_value_heads": 8, "num_hidden_layers": 6}
    spec = create_spec(config)
    path = write_random(spec, config, tmp_path / "x", SCHEMES[0])
    layer = sum(math.prod(shape) for shape in layer_linears(spec, 0).values())
    with Checkpoint.open(path) as checkpoint:
        allocator = MeasuringAllocator()
        tracemalloc.start()
        weights = WeightsLoader(allocator, checkpoint, spec).load()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        planned = stored_weights_bytes(checkpoint, spec)
    assert peak < 4 * layer
    assert allocator.num_bytes == planned
    assert weights.num_bytes <= planned
