"""w3w4: bits chosen by measured error for each byte saved, until the budget is met."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.checkpoint.reader import Checkpoint
from app.checkpoint.schemes import TensorPath
from app.converter.budget import Budget, choose_bits, count_bits, measure_error
from app.converter.grids import Grid, GridPlan, plan_linear, planned_bytes
from app.converter.pipeline import convert
from app.converter.sources.base import SourceLinear
from app.core.conversion_events import ConversionPlanned, MeasuringProgressed
from app.core.errors import ResourceError, UsageError
from app.core.events import Event
from tests.converter.test_dense_source import hf_tensors, write_folder
from tests.gguf_factory import Floats, TinyModel


def source(name: str, weight: Floats) -> SourceLinear:
    shape = (weight.shape[0], weight.shape[1])
    return SourceLinear(
        name=name,
        shape=shape,
        source_name=name,
        source_type="F32",
        source_bytes=weight.nbytes,
        is_quantized=False,
        native=None,
        load_native=lambda: pytest.fail("dense"),
        load_dense=lambda: weight,
    )


def gauss(shape: tuple[int, int], seed: int, tails: float = 0) -> Floats:
    rng = np.random.default_rng(seed)
    if tails:
        return rng.standard_t(tails, shape).astype(np.float32)
    return rng.standard_normal(shape).astype(np.float32)


@pytest.fixture
def linears() -> list[SourceLinear]:
    """Two equal shapes of light and heavy tails, a small one, and the vocabulary."""
    return [
        source("embed_tokens", gauss((512, 128), 0)),
        source("layers.0.mlp.up_proj", gauss((256, 128), 1)),
        source("layers.0.mlp.gate_proj", gauss((256, 128), 2, tails=6)),
        source("layers.0.self_attn.k_proj", gauss((32, 128), 3)),
    ]


def total(linears: list[SourceLinear], plans: dict[str, GridPlan]) -> int:
    return sum(planned_bytes(linear, plans[linear.name]) for linear in linears)


def size_at(linears: list[SourceLinear], grid: Grid) -> int:
    return total(linears, {linear.name: plan_linear(linear, grid) for linear in linears})


def bits(plans: dict[str, GridPlan]) -> dict[str, int]:
    return {name: plan.quant.bits for name, plan in plans.items() if plan.quant}


def test_what_fits_stays_at_4_bits_and_is_not_read() -> None:
    weight = gauss((64, 128), 0)
    unread = replace(source("layers.0.x", weight), load_dense=lambda: pytest.fail("read"))
    plans = choose_bits([unread], 128, Budget(10**9, 0, 0))
    assert bits(plans) == {"layers.0.x": 4}


def test_the_cheapest_error_per_byte_goes_first(linears: list[SourceLinear]) -> None:
    full = size_at(linears, Grid.W4)
    plans = choose_bits(linears, 128, Budget(full - 1, 0, 0))
    # Heavy tails lose more by going to 3 bits; the small one saves little for as much error.
    assert bits(plans) == {
        "embed_tokens": 8,
        "layers.0.mlp.up_proj": 3,
        "layers.0.mlp.gate_proj": 4,
        "layers.0.self_attn.k_proj": 4,
    }
    assert count_bits(plans) == {3: 1, 4: 2, 8: 1}


def test_every_budget_is_kept_and_used(linears: list[SourceLinear]) -> None:
    least, full = size_at(linears, Grid.W3), size_at(linears, Grid.W4)
    sizes = []
    for limit in range(least, full + 1, 512):
        plans = choose_bits(linears, 128, Budget(limit + 1000, 700, 300))
        assert total(linears, plans) <= limit
        sizes.append(total(linears, plans))
    assert sizes[0] == least
    assert sizes == sorted(sizes)
    assert len(set(sizes)) == 4  # each of the three linears gave way in turn


def test_a_budget_below_3_bits_is_refused_with_numbers(linears: list[SourceLinear]) -> None:
    least = size_at(linears, Grid.W3)
    with pytest.raises(ResourceError, match=f"weights take {least + 300:,} and the workspace 700"):
        choose_bits(linears, 128, Budget(least + 999, 700, 300))


def test_linears_that_3_bits_ruin_keep_4() -> None:
    ruined = gauss((64, 128), 0)
    ruined[:, ::64] *= 10
    linears = [source("layers.0.a", ruined), source("layers.0.b", gauss((64, 128), 1))]
    plans = choose_bits(linears, 128, Budget(size_at(linears, Grid.W4) - 1, 0, 0))
    assert bits(plans) == {"layers.0.a": 4, "layers.0.b": 3}
    with pytest.raises(ResourceError):
        choose_bits(linears, 128, Budget(size_at(linears, Grid.W3), 0, 0))


@pytest.mark.parametrize("threads", [1, 3])
def test_the_choice_does_not_depend_on_threads(linears: list[SourceLinear], threads: int) -> None:
    limit = (size_at(linears, Grid.W3) + size_at(linears, Grid.W4)) // 2
    first = choose_bits(linears, 128, Budget(limit, 0, 0))
    assert choose_bits(linears, 128, Budget(limit, 0, 0), threads) == first


def test_the_sample_estimates_the_whole() -> None:
    weight = gauss((40_000, 128), 0, tails=5)
    linear = source("layers.0.x", weight)
    blocks = [(slice(i, i + 1000), weight[i : i + 1000]) for i in range(0, 40_000, 1000)]
    streamed = replace(linear, iter_dense=lambda: iter(blocks))
    plan = plan_linear(linear, Grid.W3)
    assert measure_error(streamed, plan) == pytest.approx(measure_error(linear, plan), rel=0.03)
    assert measure_error(streamed, plan) != measure_error(linear, plan)


def test_through_the_pipeline(tmp_path: Path) -> None:
    """The plan says what it chose; what is stored fits; resuming asks for the same budget."""
    model = TinyModel("llama", hidden=64, inner=96)
    folder = write_folder(tmp_path / "model", model, hf_tensors(model, np.float16))
    convert(folder, tmp_path / "w4", grid="w4", group_size=32)
    events: list[Event] = []
    with Checkpoint.open(tmp_path / "w4") as checkpoint:
        weights = sum(checkpoint.linear(name).num_bytes for name in checkpoint.manifest.linears)
        on_host = checkpoint.linear("embed_tokens").num_bytes  # not tied: not in the card's memory
    workspace = planned_workspace(folder, tmp_path)
    limit = weights - on_host - 4000 + workspace + 5 * 64 * 2
    options = {"grid": "w3w4", "group_size": 32, "vram_budget": limit}
    report = convert(folder, tmp_path / "out", **options, listener=events.append)
    planned = next(event for event in events if not isinstance(event, MeasuringProgressed))
    assert isinstance(planned, ConversionPlanned)
    note = next(note for note in planned.plan.notes if note.startswith("Budget"))
    assert f"{limit:,}" in note
    assert f"workspace {workspace:,}" in note
    assert "at 3 bits" in note
    with Checkpoint.open(tmp_path / "out") as checkpoint:
        records = checkpoint.manifest.linears
        stored = sum(checkpoint.linear(name).num_bytes for name in records)
        widths = {name: record.quant.bits for name, record in records.items() if record.quant}
    assert stored <= weights - 4000
    assert widths["embed_tokens"] == widths["lm_head"] == 8
    assert {3, 4} < set(widths.values())
    assert report.num_requant == len(widths)
    assert all(tensor.path == TensorPath.REQUANT for tensor in report.tensors)
    convert(folder, tmp_path / "again", **options)
    assert (tmp_path / "again" / "manifest.json").read_bytes() == (
        tmp_path / "out" / "manifest.json"
    ).read_bytes()


def planned_workspace(folder: Path, tmp_path: Path) -> int:
    with pytest.raises(ResourceError, match="workspace") as caught:
        convert(folder, tmp_path / "none", grid="w3w4", group_size=32, vram_budget=1)
    return int(caught.value.message.rsplit(" ", 1)[1].rstrip(".").replace(",", ""))


@pytest.mark.parametrize("options", [{"grid": "w3w4"}, {"grid": "w4", "vram_budget": 10**9}])
def test_budget_and_grid_need_each_other(options: dict[str, object], tmp_path: Path) -> None:
    model = TinyModel("llama")
    folder = write_folder(tmp_path / "model", model, hf_tensors(model, np.float16))
    with pytest.raises(UsageError, match="need each other"):
        convert(folder, tmp_path / "out", **options)  # type: ignore[arg-type]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]
