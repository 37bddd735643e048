"""delta_net.cu against float64: decode and chunks, slots of their own, new beginnings, padding."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from kernels import reference
from kernels.cuda.build import SOURCE_DIR
from kernels.cuda.delta_net import CONV_THREADS, DELTA_ARGS, DeltaVariant
from tests.kernels.cuda_host import Schedule, build_host_module

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fibers are Linux's")

Floats = npt.NDArray[np.float64]
EPS = 1e-5
NUM_SLOTS = 3


@dataclass(frozen=True)
class Net:
    """Sizes, random weights, and what float64 says of a sequence."""

    key_dim: int = 8
    value_dim: int = 16
    num_key_heads: int = 2
    num_value_heads: int = 6
    kernel: int = 4

    @property
    def channels(self) -> int:
        return 2 * self.num_key_heads * self.key_dim + self.value_size

    @property
    def value_size(self) -> int:
        return self.num_value_heads * self.value_dim

    @property
    def width(self) -> int:
        """Columns of x."""
        return self.channels + self.value_size + 2 * self.num_value_heads

    def weights(self) -> dict[str, npt.NDArray[np.float32]]:
        rng = np.random.default_rng(0)
        floats = {
            "conv": rng.standard_normal((self.kernel, self.channels)),
            "decay_rates": np.exp(0.5 * rng.standard_normal(self.num_value_heads)),
            "dt_bias": rng.standard_normal(self.num_value_heads),
            "norm_weight": 1 + 0.1 * rng.standard_normal(self.value_dim),
        }
        return {name: values.astype(np.float32) for name, values in floats.items()}

    def expected(self, x: npt.NDArray[np.float32]) -> Floats:
        """A whole sequence [n, width] from its beginning -> [n, value_size]."""
        w = {name: values.astype(np.float64) for name, values in self.weights().items()}
        padded = np.vstack([np.zeros((self.kernel - 1, self.channels)), x[:, : self.channels]])
        convolved = sum(w["conv"][i] * padded[i : i + len(x)] for i in range(self.kernel))
        mixed = convolved * reference.sigmoid(convolved)
        key_size, repeats = self.num_key_heads * self.key_dim, self.num_value_heads
        repeats //= self.num_key_heads
        q, k = (
            np.repeat(unit(part.reshape(len(x), -1, self.key_dim)), repeats, axis=1)
            for part in (mixed[:, :key_size], mixed[:, key_size : 2 * key_size])
        )
        v = mixed[:, 2 * key_size :].reshape(len(x), -1, self.value_dim)
        z = x[:, self.channels :][:, : self.value_size].astype(np.float64)
        b, a = np.split(x[:, -2 * self.num_value_heads :].astype(np.float64), 2, axis=1)
        decay = np.exp(-w["decay_rates"] * np.log1p(np.exp(a + w["dt_bias"])))
        state = np.zeros((self.num_value_heads, self.key_dim, self.value_dim))
        out = np.empty((len(x), self.num_value_heads, self.value_dim))
        for t in range(len(x)):
            state *= decay[t][:, None, None]
            lacking = v[t] - np.einsum("hkv,hk->hv", state, k[t])
            state += np.einsum("hk,hv->hkv", k[t], lacking * reference.sigmoid(b[t])[:, None])
            out[t] = np.einsum("hkv,hk->hv", state, q[t]) * self.key_dim**-0.5
        out /= np.sqrt((out**2).mean(-1, keepdims=True) + EPS)
        gated = (out * w["norm_weight"]).reshape(len(x), -1) * z * reference.sigmoid(z)
        return np.asarray(gated)


def unit(x: Floats) -> Floats:
    return np.asarray(x / np.sqrt((x**2).sum(-1, keepdims=True) + 1e-6))


class Device:
    """States of some slots, filled with NaN until a sequence begins."""

    def __init__(self, net: Net) -> None:
        self.net = net
        heads = (NUM_SLOTS, net.num_value_heads, net.key_dim, net.value_dim)
        self.states = np.full(heads, np.nan, np.float32)
        self.windows = np.full((NUM_SLOTS, net.kernel - 1, net.channels), np.nan, np.float32)

    def run(self, x: npt.NDArray[Any], slots: Any, positions: Any, **options: Any) -> Any:
        """Rows [n, width] of these slots at these positions."""
        net, rows = self.net, len(x)
        variant = DeltaVariant(net.key_dim, net.value_dim, net.kernel)
        padded = np.zeros((rows, net.width + 3), np.float32)
        padded[:, : net.width] = x
        fields = {
            **net.weights(),
            "x": padded,
            "mixed": np.full((rows, net.channels), np.nan, np.float32),
            "out": np.full((rows, net.value_size), np.nan, np.float16),
            "windows": self.windows,
            "states": self.states,
            "slots": np.array(slots, np.int32),
            "positions": np.array(positions, np.int32),
            "num_rows": rows,
            "x_stride": net.width + 3,
            "num_key_heads": net.num_key_heads,
            "num_value_heads": net.num_value_heads,
            "eps": EPS,
        }
        module = build_host_module(SOURCE_DIR / "delta_net.cu", variant.source.macros)
        blocks = -(-net.channels // CONV_THREADS)
        for kernel, grid, threads in (
            ("convolve", (blocks, rows), CONV_THREADS),
            ("apply_delta_rule", (net.num_value_heads, rows), variant.num_threads),
        ):
            module.launch_struct(kernel, grid, (threads,), DELTA_ARGS, fields, **options)
        return fields["out"]


def sequence(net: Net, length: int, seed: int = 1) -> npt.NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((length, net.width)).astype(np.float32)


def close(found: Any, wanted: Floats) -> bool:
    return bool(np.linalg.norm(found - wanted) <= 1e-3 * np.linalg.norm(wanted))


@pytest.mark.parametrize(
    "net",
    [
        Net(),
        Net(key_dim=128, value_dim=128, num_key_heads=1, num_value_heads=2),
        Net(key_dim=12, value_dim=40, num_key_heads=3, num_value_heads=3, kernel=2),
    ],
    ids=["small", "as Qwen3-Next", "odd"],
)
def test_a_sequence_in_pieces_equals_float64(net: Net) -> None:
    x = sequence(net, 24)
    wanted = net.expected(x)
    for schedule in Schedule:
        device = Device(net)
        options = {"schedule": schedule, "reverse_blocks": schedule is Schedule.REVERSE}
        pieces = [
            device.run(x[start:end], [1] * (end - start), range(start, end), **options)
            for start, end in ((0, 13), (13, 14), (14, 15), (15, 24))
        ]
        assert close(np.concatenate(pieces), wanted)


def test_sequences_of_a_batch_go_on_by_themselves() -> None:
    net = Net()
    sequences = [sequence(net, 6, seed) for seed in range(3)]
    wanted = [net.expected(x) for x in sequences]
    device = Device(net)
    for position in range(6):
        rows = np.stack([x[position] for x in sequences])
        found = device.run(rows, [2, 0, 1], [position] * 3)
        assert close(found, np.stack([w[position] for w in wanted]))


def test_rows_of_padding_repeat_the_last_and_move_nothing_on() -> None:
    net = Net()
    x = sequence(net, 8)
    device = Device(net)
    first = [0, 1, 2, 3, 4, 4, 4]
    found = device.run(x[first], [0] * 7, first, reverse_blocks=True)
    assert np.array_equal(found[4], found[5])
    assert np.array_equal(found[4], found[6])
    rest = device.run(x[5:], [0] * 3, [5, 6, 7])
    assert close(np.concatenate([found[:5], rest]), net.expected(x))


def test_position_zero_begins_anew() -> None:
    net = Net()
    device = Device(net)
    device.run(sequence(net, 5, 9), [0] * 5, range(5))
    x = sequence(net, 4)
    assert close(device.run(x, [0] * 4, range(4)), net.expected(x))
