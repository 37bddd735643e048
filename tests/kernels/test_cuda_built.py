"""Modules compiled at build time: found before any compiler, never those of other sources."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.checkpoint.reader import Checkpoint
from app.checkpoint.schemes import QuantScheme, ScaleDtype, Scheme
from app.engine.executors.base import SequenceChunk
from app.engine.executors.cuda.executor import CudaExecutor
from app.engine.executors.cuda.launcher import Launch
from app.spec.registry import create_spec
from kernels.cuda import build, built, nvrtc
from kernels.cuda.attention import AttentionVariant
from kernels.cuda.bundle import build_all
from kernels.cuda.source import SOURCE_DIR, ModuleSource
from kernels.cuda.variants import iter_sources
from tests.engine.test_memory_plan import CONFIG, QWEN3_30B_A3B
from tests.kernels.host_launcher import HostLauncher
from tests.random_checkpoints import write_random

NORM = ModuleSource("norm.cu")
SMALL = {
    "hidden_size": 128,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 64,
    "vocab_size": 256,
    "max_position_embeddings": 512,
}
EXPERTS = {"moe_intermediate_size": 128, "num_experts": 4, "num_experts_per_tok": 2}
SCHEMES = {
    "Q4_K": QuantScheme(4, 32, Scheme.AFFINE, ScaleDtype.TWO_LEVEL),
    "AWQ": QuantScheme(4, 128, Scheme.ZERO, ScaleDtype.FP16),
    "w3": QuantScheme(3, 128, Scheme.SYM, ScaleDtype.FP16),
    "bitsandbytes": QuantScheme(8, -1, Scheme.SYM, ScaleDtype.FP32),
    "dense": None,
}


class Recorder(HostLauncher):
    """Which modules would be loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.sources: set[ModuleSource] = set()

    def capture(self, launches: Sequence[Launch]) -> Any:
        self.sources |= {launch.source for launch in launches}
        return None

    def replay(self, graph: Any) -> None:
        """Nothing: the logits stay zeros."""


@pytest.mark.skipif(sys.platform != "linux", reason="the fibers are Linux's")
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("config", [CONFIG, {**QWEN3_30B_A3B, **EXPERTS}], ids=["llama", "moe"])
def test_what_common_checkpoints_need_is_built(
    config: dict[str, Any], scheme: str, tmp_path: Path
) -> None:
    small = {**config, **SMALL}
    spec = create_spec(small)
    launcher = Recorder()
    with Checkpoint.open(write_random(spec, small, tmp_path / "x", SCHEMES[scheme])) as checkpoint:
        executor = CudaExecutor(checkpoint, spec, 512, 8, launcher=launcher, kv_dtype="int8")
        for num_tokens in (1, 40, 300):
            executor.step([SequenceChunk(0, 0, np.zeros(num_tokens, np.int32))])
        executor.step([SequenceChunk(slot, 9, np.zeros(1, np.int32)) for slot in range(8)])
    executor.close()
    assert launcher.sources <= set(iter_sources())
    assert len(launcher.sources) >= 6


def test_every_file_is_built_and_no_module_twice() -> None:
    sources = list(iter_sources())
    assert len(set(sources)) == len(sources)
    assert {source.file for source in sources} == {path.name for path in SOURCE_DIR.glob("*.cu")}


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where modules are built, and a machine without a compiler beside it."""
    monkeypatch.setattr(built, "BUILT_DIR", tmp_path)
    return tmp_path


@pytest.mark.skipif(not nvrtc.is_installed(), reason="NVRTC has no wheel here")
def test_a_built_module_needs_no_compiler(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = AttentionVariant(64).rope_source
    build_all([NORM, wanted], ["sm_86", "compute_80"], directory)
    assert "sm_86: 2 modules" in capsys.readouterr().out
    images = {t: build.compile_module(wanted, t).image for t in ("sm_86", "compute_80")}
    monkeypatch.setattr(build, "compile_module", lambda *args: pytest.fail("compiled"))
    for target, image in images.items():
        assert build.load_image(wanted, target, directory / "cache") == image
    assert built.find_built(AttentionVariant(80).rope_source, "sm_86") is None
    assert built.find_built(wanted, "sm_90") is None


@pytest.mark.skipif(not nvrtc.is_installed(), reason="NVRTC has no wheel here")
def test_in_a_checkout_a_module_is_compiled_once_for_each_card_and_source(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, compiled = directory / "cache", list[tuple[ModuleSource, str]]()
    compile_module, headers = build.compile_module, build.read_headers()

    def count(source: ModuleSource, target: str) -> nvrtc.Compiled:
        compiled.append((source, target))
        return compile_module(source, target)

    monkeypatch.setattr(build, "compile_module", count)
    other = ModuleSource("norm.cu", (("UNUSED", "1"),))
    wanted = [(NORM, "sm_86"), (NORM, "sm_90"), (other, "sm_86")]
    first = [build.load_image(source, target, cache) for source, target in wanted]
    assert [build.load_image(source, target, cache) for source, target in wanted] == first
    assert compiled == wanted
    # Whoever edits a header gets new modules, and whoever undoes it the old ones.
    edited = {**headers, "norms.cuh": headers["norms.cuh"] + "\n"}
    monkeypatch.setattr(build, "read_headers", lambda: edited)
    build.load_image(NORM, "sm_86", cache)
    monkeypatch.setattr(build, "read_headers", lambda: headers)
    build.load_image(NORM, "sm_86", cache)
    assert compiled == [*wanted, (NORM, "sm_86")]
    assert len(list(cache.rglob("*.bin"))) == 4


def test_instructions_are_written_in_one_header_each_with_a_twin() -> None:
    """What fibers run instead of PTX stands beside it: no kernel has a branch of its own."""
    texts = {path.name: path.read_text("utf-8") for path in SOURCE_DIR.glob("*.cu*")}
    ptx = texts.pop("ptx.cuh")
    assert not [name for name, text in texts.items() if re.search(r"\basm\b|__CUDA_ARCH__", text)]
    branches = re.findall(r"#ifdef __CUDA_ARCH__\n(.*?)#else\n(.*?)#endif", ptx, re.DOTALL)
    assert len(branches) == ptx.count("#ifdef") == ptx.count("#else") == ptx.count("#endif")
    assert all(twin.strip() and "asm" not in twin for _, twin in branches)
    assert sum(device.count("asm") for device, _ in branches) == len(re.findall(r"\basm\b", ptx))


def test_modules_of_other_sources_do_not_count(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built.write_archive(directory, "sm_86", {NORM: b"image"})
    assert built.find_built(NORM, "sm_86") is None  # not finished: no manifest
    built.write_manifest(directory)
    assert built.find_built(NORM, "sm_86") == b"image"
    monkeypatch.setattr(built, "hash_sources", lambda: "edited")
    assert built.find_built(NORM, "sm_86") is None
    monkeypatch.setattr(built, "has_sources", lambda: False)  # a bundle without them
    assert built.find_built(NORM, "sm_86") == b"image"


def test_equal_modules_are_equal_bytes_and_damage_is_no_module(directory: Path) -> None:
    images = {NORM: b"one", AttentionVariant(64).rope_source: b"two"}
    built.write_archive(directory, "a", images)
    built.write_archive(directory, "b", dict(reversed(images.items())))
    assert (directory / "a.zip").read_bytes() == (directory / "b.zip").read_bytes()
    built.write_manifest(directory)
    (directory / "a.zip").write_bytes(b"PK damaged")
    assert built.find_built(NORM, "a") is None
    assert built.find_built(NORM, "b") == b"one"
