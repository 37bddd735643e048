"""What latent attention's keys and values take: as planned, and as the executor allocates them."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.converter.pipeline import convert
from app.engine.executors.cpu import CpuExecutor
from app.engine.memory_plan import fit_table, kv_bytes_per_token
from app.spec.registry import create_spec
from tests.families.deepseek_cases import LATENT
from tests.family_models import NUM_TOKENS, FamilyCase, create_executor, run, write_folder
from tests.spec.popular_sparse import DEEPSEEK_V2_LITE

_PAGE = 256  # positions
_WIDE = FamilyCase("wide", "deepseek_v3", {**LATENT, "qk_nope_head_dim": 24, "v_head_dim": 48})


def test_keys_and_values_of_deepseek_v2_lite() -> None:
    """A vector of 512 and 64 rotating columns a layer; its 16 heads would take nine times that."""
    spec = create_spec(DEEPSEEK_V2_LITE)
    assert kv_bytes_per_token(spec, "fp16") == 27 * (512 + 64) * 2 == 31_104
    assert kv_bytes_per_token(spec, "int8") == 27 * (512 + 64 + 2 * 2)
    expanded = kv_bytes_per_token(spec, "fp16", expands_latents=True)
    assert expanded == 27 * 16 * (192 + 128) * 2 == 276_480
    for device, per_token in {"cpu": 31_104, "reference": 2 * 276_480}.items():
        rows = fit_table(spec, 64 << 30, device=device)
        assert {row.kv_bytes_per_token for row in rows} == {per_token}


@pytest.mark.parametrize("kv_dtype", ["fp32", "fp16", "int8"])
def test_the_cpu_executor_takes_what_is_planned(kv_dtype: str, tmp_path: Path) -> None:
    folder = write_folder(_WIDE, tmp_path / "folder")
    convert(folder, tmp_path / "out", grid="dense")
    executor = create_executor(
        CpuExecutor, tmp_path / "out", num_threads=1, kv_dtype=kv_dtype, num_slots=1
    )
    try:
        run(executor, NUM_TOKENS)
        use, spec = executor.memory_use(), executor.spec
    finally:
        executor.close()
    assert use.kv_bytes == _PAGE * kv_bytes_per_token(spec, kv_dtype)
