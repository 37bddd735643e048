"""How tensors are grouped into the files of a checkpoint."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from app.checkpoint.manifest import Provenance, SourceInfo
from app.checkpoint.reader import Checkpoint
from app.checkpoint.schemes import Linear, TensorPath
from app.checkpoint.writer import CheckpointWriter, PartLinear
from app.converter.sources.base import SourceLinear, SourceVector
from app.converter.sources.parts import group_parts
from app.core.errors import CheckpointError

_EXPERT = {"gate_proj": (1536, 4096), "up_proj": (1536, 4096), "down_proj": (4096, 1536)}


def linear(name: str, shape: tuple[int, int]) -> SourceLinear:
    """One that nobody reads."""

    def fail() -> Linear:
        raise AssertionError(name)

    return SourceLinear(name, shape, name, "F32", 0, False, None, fail, lambda: np.empty(shape))


def layer(index: int, num_experts: int) -> list[SourceLinear]:
    prefix = f"layers.{index}"
    experts = [
        linear(f"{prefix}.mlp.experts.{expert}.{short}", shape)
        for expert in range(num_experts)
        for short, shape in _EXPERT.items()
    ]
    others = [linear(f"{prefix}.self_attn.q_proj", (4, 4)), linear(f"{prefix}.mlp.router", (8, 4))]
    return others + experts + [linear(f"{prefix}.mlp.shared_expert.up_proj", (4, 4))]


def norm(index: int) -> SourceVector:
    name = f"layers.{index}.input_layernorm"
    return SourceVector(name, (4,), name, 16, lambda: np.ones(4, np.float32))


def test_experts_stand_in_files_of_a_quarter_of_a_billion_weights() -> None:
    """An expert of 19 million weights: fourteen fit, and none is torn apart."""
    parts = {part.file: part for part in group_parts(layer(0, 32) + layer(1, 3), [norm(0)])}
    assert list(parts) == [
        "layer_00",
        "layer_00_experts_00",
        "layer_00_experts_01",
        "layer_00_experts_02",
        "layer_01",
        "layer_01_experts_00",
    ]
    names = [x.name.removeprefix("layers.0.") for x in parts["layer_00"].linears]
    assert names == ["self_attn.q_proj", "mlp.router", "mlp.shared_expert.up_proj"]
    assert [vector.name for vector in parts["layer_00"].vectors] == ["layers.0.input_layernorm"]
    counts = [len(parts[f"layer_00_experts_{n:02d}"].linears) / 3 for n in range(3)]
    assert counts == [14, 14, 4]
    assert len(parts["layer_01_experts_00"].linears) == 9
    everything = list(chain.from_iterable(part.linears for part in parts.values()))
    assert len(everything) == len({x.name for x in everything}) == 2 * 3 + 35 * 3


def test_an_expert_that_is_larger_than_a_file_has_one_to_itself() -> None:
    shape = (1 << 15, 1 << 14)
    experts = [linear(f"layers.0.mlp.experts.{expert}.up_proj", shape) for expert in range(3)]
    files = [part.file for part in group_parts(experts, [])]
    assert files == [f"layer_00_experts_{number:02d}" for number in range(3)]


def part_linear() -> PartLinear:
    origin = Provenance("x", "F32", TensorPath.DENSE, 0.0)
    return PartLinear(Linear((2, 2), weight=np.ones((2, 2), np.float32)), origin)


def test_the_reader_finds_experts_in_any_file_of_their_layer(tmp_path: Path) -> None:
    writer = CheckpointWriter()
    writer.begin(tmp_path)
    name = "layers.{}.mlp.experts.{}.up_proj"
    writer.write_part("layer_07", {name.format(7, 0): part_linear()}, {})
    writer.write_part("layer_07_experts_12", {name.format(7, 1): part_linear()}, {})
    with pytest.raises(CheckpointError, match="does not belong in layer_08_experts_00"):
        writer.write_part("layer_08_experts_00", {name.format(7, 2): part_linear()}, {})
    writer.write_text("config.json", "{}")
    writer.finish("X", SourceInfo("dense", "x", 0), "tests")
    with Checkpoint.open(tmp_path) as checkpoint:
        for expert in range(2):
            assert checkpoint.linear(name.format(7, expert)).shape == (2, 2)


def test_a_tensor_in_two_files_is_refused(tmp_path: Path) -> None:
    writer = CheckpointWriter()
    writer.begin(tmp_path)
    for stem in ("layer_00", "layer_00_experts_00"):
        writer.write_part(stem, {"layers.0.mlp.experts.0.up_proj": part_linear()}, {})
    writer.write_text("config.json", "{}")
    writer.finish("X", SourceInfo("dense", "x", 0), "tests")
    with pytest.raises(CheckpointError, match="stands in two files"):
        Checkpoint.open(tmp_path)
