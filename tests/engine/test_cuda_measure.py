"""What is planned is what is taken, to the byte: linears as tiles, cache and workspace."""

from __future__ import annotations

import pytest

from app.checkpoint.schemes import QuantScheme, ScaleDtype, Scheme
from app.engine.executors.cuda.buffers import DeviceBuffers, KvLayout
from app.engine.executors.cuda.matrices import upload_matrix
from app.engine.executors.cuda.measure import MeasuringLauncher, linear_bytes, measure_buffers
from app.spec.registry import create_spec
from tests.engine.test_memory_plan import CONFIG
from tests.kernels.cpu_linears import dense_linear, random_linear
from tests.kernels.host_launcher import HostLauncher

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
    launcher = MeasuringLauncher()
    matrix = upload_matrix(launcher, linear, "x")
    assert launcher.num_bytes == linear_bytes(quant, shape, linear.arrays())
    assert 0 <= launcher.num_bytes - matrix.num_bytes < 256 * len(linear.arrays())


@pytest.mark.parametrize("kv_dtype", ["fp16", "int8"])
def test_buffers_take_what_is_planned(kv_dtype: str) -> None:
    config = {**CONFIG, "hidden_size": 256, "num_hidden_layers": 3, "vocab_size": 500}
    spec = create_spec({**config, "num_attention_heads": 8, "num_key_value_heads": 2})
    layout = KvLayout(2, 700, kv_dtype == "int8")
    launcher = HostLauncher()
    buffers = DeviceBuffers(launcher, spec, layout)
    sizes = measure_buffers(spec, layout)
    assert sizes.kv_bytes == buffers.kv_bytes
    assert sizes.kv_bytes + sizes.workspace_bytes == launcher.allocated_bytes
    launcher.close()
